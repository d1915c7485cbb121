package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"tidemark.dev/tidemark/installer"
)

// worked is a viewer for a session with two checkpoints and a failure since.
func worked(t *testing.T) (*viewer, *tab, *agent) {
	t.Helper()
	w := shared.get(t)
	b := newBasket(t)
	a := w.of(t, b.site)
	p := w.open(t, b.URL)
	p.js(`await load()`)
	a.changes()
	a.call("checkpoint_create", map[string]any{"name": "session_start"}, &struct{}{})
	p.js(`deprecated(); history.pushState({}, '', '/checkout')`)
	a.changes()
	a.call("checkpoint_create", map[string]any{"name": "after_refactor"}, &struct{}{})
	b.status.Store(500)
	p.js(`document.getElementById('pay').click()`)
	a.changes()
	v := w.view(t, b.site)
	v.js(`await press('Show latest')`)
	v.shows("From after_refactor to now", "1 failed request", "1 error on the page")
	return v, p, a
}

// keys types keys, one after the other.
func (v *viewer) keys(keys ...string) {
	v.t.Helper()
	for _, key := range keys {
		if len(key) > 1 || key[0] < ' ' || key == kb.Tab {
			v.do(chromedp.KeyEvent(key))
			continue
		}
		// Its text comes with the key, as from a keyboard: a page that takes the key gets no text.
		for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
			params := input.DispatchKeyEventParams{Type: kind, Key: key}
			if kind == input.DispatchKeyEventTypeKeyDown {
				params.Text = key
			}
			v.do(func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
				_, err := chromedp.Call(ctx, input.DispatchKeyEvent, params)
				return chromedp.Void{}, err
			})
		}
	}
}

// TestTheViewerIsUsedByKeysAlone: every key of its help, and everything that can be pressed is reached by Tab.
func TestTheViewerIsUsedByKeysAlone(t *testing.T) {
	v, _, _ := worked(t)
	v.js(`document.body.focus()`)

	v.keys("?")
	v.js(`await until(() => document.querySelector('dialog[open] kbd'), 'the help')`)
	v.keys(kb.Escape)
	v.js(`await until(() => !document.querySelector('dialog'), 'that the help goes')`)

	v.keys("/", "c", "a", "r", "t")
	v.js(`await until(() => !says('1 error on the page') && says('1 failed request'), 'what was looked for alone')`)
	v.keys(kb.Escape)
	v.js(`await until(() => says('1 error on the page'), 'everything again')`)

	v.keys("[")
	v.shows("From session_start to after_refactor", "auth.login() is deprecated", "Address changed", "/checkout")
	v.keys("[")
	v.shows("to session_start ·")
	v.keys("]", "]")
	v.shows("From after_refactor to now")
	v.keys("[", "n")
	v.shows("From after_refactor to now")

	v.keys("j", kb.Enter)
	v.js(`await until(() => document.querySelector('.occurrence'), 'an entry that is open'); await until(() => document.activeElement.getAttribute('aria-expanded') === 'true', 'that it has the focus')`)
	v.keys("j")
	v.js(`if (document.activeElement.getAttribute('aria-expanded') !== 'false') throw new Error('the next entry does not have the focus')`)

	for i, name := range []string{"Changes", "Events", "Agent calls", "Page", "Variables"} {
		v.keys(fmt.Sprint(i + 1))
		v.js(fmt.Sprintf(`await until(() => document.querySelector('[role=tab][aria-selected=true]').textContent === %q, %q)`, name, name))
	}
	v.js(`document.querySelector('[role=tab][aria-selected=true]').focus()`)
	v.keys(kb.ArrowRight)
	v.js(`await until(() => document.activeElement.textContent === 'Changes', 'the first tab after the last')`)

	// Tab comes by everything that can be pressed.
	v.js(`
globalThis.seen = new Set();
document.addEventListener('focusin', ({ target }) => seen.add(target));
globalThis.missed = () => [...document.querySelectorAll('button:enabled, select:enabled, input:enabled, summary, [tabindex="0"]')].filter((e) => e.tabIndex >= 0 && e.checkVisibility() && !seen.has(e));
document.activeElement.blur();`)
	for range 80 {
		v.keys(kb.Tab)
	}
	v.js(`if (missed().length > 0) throw new Error('Tab comes never by ' + missed().map((e) => e.outerHTML.slice(0, 150)).join('\n'))`)

	v.js(`document.activeElement.blur()`)
	v.keys("c", "b", "y", "_", "k", "e", "y", "s", kb.Enter)
	v.shows("by_keys → 2 errors, 1 warning", "From by_keys to now")
}

// TestTheTimelineIsMovedAndBrushed by keys and by the mouse: what is brushed is what is compared.
func TestTheTimelineIsMovedAndBrushed(t *testing.T) {
	v, p, a := worked(t)
	live := func(want bool) {
		t.Helper()
		v.js(fmt.Sprintf(`await until(() => document.querySelector('.live').getAttribute('aria-pressed') === '%t', 'that it follows live: %t')`, want, want))
	}
	live(true)
	v.js(`document.querySelector('.canvas-frame').focus()`)
	v.keys(kb.Home) // all of it
	live(false)
	v.keys(kb.Enter)
	v.shows("1 console warning", "1 failed request", "new endpoint")
	v.keys(kb.ArrowRight, kb.ArrowRight, "-", "+", kb.ArrowLeft, kb.End)
	live(true)

	// What is new moves nobody who looks at something else.
	v.keys(kb.ArrowLeft)
	live(false)
	p.js(`console.error('meanwhile')`)
	a.changes()
	v.shows("1 console warning")
	live(false)
	v.keys(kb.End)

	// A wheel zooms, sideways it pans; a brush compares.
	v.keys(kb.Home)
	box := struct{ X, Y, Width, Height float64 }{}
	v.do(func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		got, err := chromedp.Run(ctx, chromedp.Evaluate[struct{ X, Y, Width, Height float64 }](`document.querySelector('canvas').getBoundingClientRect().toJSON()`))
		box = got
		return chromedp.Void{}, err
	})
	mouse := func(kind input.DispatchMouseEventType, x, y float64, more func(*input.DispatchMouseEventParams)) {
		t.Helper()
		params := input.DispatchMouseEventParams{Type: kind, X: box.X + x*box.Width, Y: box.Y + y, Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1}
		if more != nil {
			more(&params)
		}
		v.do(func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
			_, err := chromedp.Call(ctx, input.DispatchMouseEvent, params)
			return chromedp.Void{}, err
		})
	}
	drag := func(from, to, y float64) {
		t.Helper()
		mouse(input.DispatchMouseEventTypeMousePressed, from, y, nil)
		mouse(input.DispatchMouseEventTypeMouseMoved, (from+to)/2, y, nil)
		mouse(input.DispatchMouseEventTypeMouseMoved, to, y, nil)
		mouse(input.DispatchMouseEventTypeMouseReleased, to, y, func(p *input.DispatchMouseEventParams) { p.Buttons = 0 })
	}
	from := func() string { return v.text(`document.querySelector('select[aria-label=From]').value`) }
	drag(0.001, 0.999, 60) // everything
	v.shows("1 console warning", "2 console errors", "1 failed request")
	whole := from()
	wheel := func(dx, dy float64) {
		mouse(input.DispatchMouseEventTypeMouseWheel, 0.5, 60, func(p *input.DispatchMouseEventParams) {
			p.Button, p.Buttons, p.ClickCount, p.DeltaX, p.DeltaY = input.MouseButtonNone, 0, 0, dx, dy
		})
	}
	wheel(0.01, -400)
	drag(0.001, 0.3, 60)
	v.js(fmt.Sprintf(`await until(() => document.querySelector('select[aria-label=From]').value > %q, 'that a zoomed timeline begins later')`, whole))
	zoomed := from()
	wheel(200, 0.01)
	drag(0.001, 0.3, 60)
	v.js(fmt.Sprintf(`await until(() => document.querySelector('select[aria-label=From]').value > %q, 'that a panned timeline begins later')`, zoomed))
	v.js(`await press('Show latest')`)
	// Lanes are put aside and come back.
	v.shows("1 failed request")
	v.js(`
await press('Network');
await until(() => !says('1 failed request') && says('console error'), 'the report without requests');
await press('Network');
await until(() => says('1 failed request'), 'the report with requests');
await press('Timeline');
await until(() => !button('Network'), 'one lane for all');
await press('Timeline');
await until(() => button('Network'), 'each lane by itself')`)
}

// TestWhatIsShownIsSearchedFilteredAndCopied by kind, severity, tab and text.
func TestWhatIsShownIsSearchedFilteredAndCopied(t *testing.T) {
	v, p, _ := worked(t)
	v.js(`
pick(document.querySelector('select[aria-label=From]'), 'start');
await until(() => says('1 console warning') && says('1 console error'), 'all of it');
pick(document.querySelector('select[aria-label="Minimum severity"]'), 'errors_only');
await until(() => says('1 console error') && !says('1 console warning') && says('below the selected severity'), 'the errors alone');
pick(document.querySelector('select[aria-label="Minimum severity"]'), 'all');
await until(() => says('1 console warning'), 'all of it again');
fill(document.querySelector('.search'), 'nothing has this in it');
await until(() => says('Nothing matches the search and filters.'), 'that nothing matches');
fill(document.querySelector('.search'), 'deprecated');
await until(() => says('1 console warning') && !says('1 console error'), 'what was looked for');
await press('Events');
await until(() => document.querySelectorAll('.event').length === 1 && says('auth.login() is deprecated'), 'the event');
fill(document.querySelector('.search'), '');
pick(document.querySelector('select[aria-label="Minimum severity"]'), 'warnings');
await until(() => document.querySelectorAll('.event').length > 2 && [...document.querySelectorAll('.event')].every((e) => !e.classList.contains('plain')), 'warnings and errors');
pick(document.querySelector('select[aria-label="Minimum severity"]'), 'all');
await press('Changes');`)

	// An element is shown in its page, and the report of its tab is taken along as Markdown.
	v.js(`await press('Show latest')`)
	v.shows("From after_refactor to now", "1 failed request")
	v.js(`
await until(() => button('Show on the page') ?? true, 'the button');
document.addEventListener('copy', ({ target }) => { globalThis.copied = target.value; });
await press('Copy as Markdown');
await until(() => says('Copied as Markdown.'), 'that it was copied');`)
	text := v.text(`copied`)
	for _, part := range []string{"session_start", "after_refactor → 1 warning", "### 1 failed request", "`GET /api/cart`", "200 → 500", "the cart cannot be read"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in what was copied:\n%s", part, text)
		}
	}
	p.js(`document.querySelector('.error').style.marginTop = '3000px'; scrollTo(0, 0)`)
	v.js(`
pick(document.querySelector('.tab-select'), '0');
await until(() => document.querySelector('.checkpoint .when')?.textContent.includes('http://'), 'the checkpoints of all scopes');
const mine = [...document.querySelectorAll('.tab-select option')].find((o) => o.textContent.includes('Basket') && o.title.includes(` + "`" + p.text("location.host") + "`" + `));
pick(document.querySelector('.tab-select'), mine.value);
await press('Show on the page');`)
	p.until(`document.querySelector('.error').getBoundingClientRect().top < innerHeight`)
}

// TestThePageIsComparedAsATree: what changed in it since the look before.
func TestThePageIsComparedAsATree(t *testing.T) {
	v, p, _ := worked(t)
	v.js(`await press('Page'); await until(() => document.querySelector('.tree li') && says('Pay now'), 'a tree')`)
	p.js(`document.getElementById('pay').textContent = 'Try again'`)
	v.js(`
await press('Refresh');
await until(() => document.querySelector('.tree .added')?.textContent.includes('Try again') && document.querySelector('.tree .removed')?.textContent.includes('Pay now'), 'before and after');`)
}

// TestThePopupOpensTheViewerBesideThePage: the side panel is there, with the same viewer.
func TestThePopupOpensTheViewerBesideThePage(t *testing.T) {
	needBrowser(t)
	w := separateWorld(t)
	s := newSite(t, map[string]string{"/{$}": blank})
	w.open(t, s.URL).js(`console.error('seen beside the page')`)
	popup := &viewer{w.open(t, installer.Origin+"popup/index.html")}
	popup.js(`await until(() => button('Open viewer') && !button('Open viewer').disabled, 'the button'); button('Open viewer').id = 'open'`)
	popup.do(chromedp.Click("#open")) // a person's gesture: the browser opens it for nothing else
	panel := attach(t, w.Browser, "the side panel", func(info *target.Info) bool {
		return info.URL == installer.Origin+"sidepanel/index.html"
	})
	run(panel, t, viewerHelp+`await until(() => says('seen beside the page'), 'what happened')`)
}

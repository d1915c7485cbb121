package viewer

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/installer"
)

// worked is a viewer for a session with two checkpoints and a failure since.
func worked(t *testing.T) (*e2etest.Viewer, *e2etest.Tab, *e2etest.Agent) {
	t.Helper()
	w := e2etest.SharedWorld(t)
	b := newBasket(t)
	a := w.AgentOf(t, b.Site)
	p := w.Open(t, b.URL)
	p.JS(`await load()`)
	a.Changes()
	a.Call("checkpoint_create", map[string]any{"name": "session_start"}, &struct{}{})
	p.JS(`deprecated(); history.pushState({}, '', '/checkout')`)
	a.Changes()
	a.Call("checkpoint_create", map[string]any{"name": "after_refactor"}, &struct{}{})
	b.status.Store(500)
	p.JS(`document.getElementById('pay').click()`)
	a.Changes()
	v := w.OpenViewer(t, b.Site)
	v.JS(`await press('Show latest')`)
	v.Shows("From after_refactor to now", "1 failed request", "1 error on the page")
	v.JS(`await until(() => Number(document.querySelector('canvas').dataset.events) > 0, 'events on the timeline')`)
	return v, p, a
}

// keys types keys, one after the other.
func keys(v *e2etest.Viewer, keys ...string) {
	v.T.Helper()
	for _, key := range keys {
		if len(key) > 1 || key[0] < ' ' || key == kb.Tab {
			v.Do(chromedp.KeyEvent(key))
			continue
		}
		// Its text comes with the key, as from a keyboard: a page that takes the key gets no text.
		for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
			params := input.DispatchKeyEventParams{Type: kind, Key: key}
			if kind == input.DispatchKeyEventTypeKeyDown {
				params.Text = key
			}
			v.Do(func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
				_, err := chromedp.Call(ctx, input.DispatchKeyEvent, params)
				return chromedp.Void{}, err
			})
		}
	}
}

// TestTheViewerIsUsedByKeysAlone: every key of its help, and everything that can be pressed is reached by Tab.
func TestTheViewerIsUsedByKeysAlone(t *testing.T) {
	v, _, _ := worked(t)
	v.JS(`document.body.focus()`)

	keys(v, "?")
	v.JS(`await until(() => document.querySelector('dialog[open] kbd'), 'the help')`)
	keys(v, kb.Escape)
	v.JS(`await until(() => !document.querySelector('dialog'), 'that the help goes')`)

	keys(v, "/", "c", "a", "r", "t")
	v.JS(`await until(() => !says('1 error on the page') && says('1 failed request'), 'what was looked for alone')`)
	keys(v, kb.Escape)
	v.JS(`await until(() => says('1 error on the page'), 'everything again')`)

	keys(v, "[")
	v.Shows("From session_start to after_refactor", "auth.login() is deprecated", "Address changed", "/checkout")
	keys(v, "[")
	v.Shows("to session_start ·")
	keys(v, "]", "]")
	v.Shows("From after_refactor to now")
	keys(v, "[", "n")
	v.Shows("From after_refactor to now")

	keys(v, "j", kb.Enter)
	v.JS(`await until(() => document.querySelector('.occurrence'), 'an entry that is open'); await until(() => document.activeElement.getAttribute('aria-expanded') === 'true', 'that it has the focus')`)
	keys(v, "j")
	v.JS(`if (document.activeElement.getAttribute('aria-expanded') !== 'false') throw new Error('the next entry does not have the focus')`)

	for i, name := range []string{"Changes", "Events", "Agent calls", "Page", "Variables", "Moments", "Conversation"} {
		keys(v, fmt.Sprint(i+1))
		v.JS(fmt.Sprintf(`await until(() => document.querySelector('[role=tab][aria-selected=true]').textContent === %q, %q)`, name, name))
	}
	v.JS(`document.querySelector('[role=tab][aria-selected=true]').focus()`)
	keys(v, kb.ArrowRight)
	v.JS(`await until(() => document.activeElement.textContent === 'Changes', 'the first tab after the last')`)

	// Tab comes by everything that can be pressed.
	v.JS(`
globalThis.seen = new Set();
document.addEventListener('focusin', ({ target }) => seen.add(target));
globalThis.missed = () => [...document.querySelectorAll('button:enabled, select:enabled, input:enabled, summary, [tabindex="0"]')].filter((e) => e.tabIndex >= 0 && e.checkVisibility() && !seen.has(e));
document.activeElement.blur();`)
	for range 80 {
		keys(v, kb.Tab)
	}
	v.JS(`if (missed().length > 0) throw new Error('Tab comes never by ' + missed().map((e) => e.outerHTML.slice(0, 150)).join('\n'))`)

	v.JS(`document.activeElement.blur()`)
	keys(v, "c", "b", "y", "_", "k", "e", "y", "s", kb.Enter)
	v.Shows("by_keys → 2 errors, 1 warning", "From by_keys to now")
}

// TestTheTimelineIsMovedAndBrushed by keys and by the mouse: what is brushed is what is compared.
func TestTheTimelineIsMovedAndBrushed(t *testing.T) {
	v, p, a := worked(t)
	live := func(want bool) {
		t.Helper()
		v.JS(fmt.Sprintf(`await until(() => document.querySelector('.live').getAttribute('aria-pressed') === '%t', 'that it follows live: %t')`, want, want))
	}
	live(true)
	v.JS(`document.querySelector('.canvas-frame').focus()`)
	keys(v, kb.Home) // all of it
	live(false)
	keys(v, kb.Enter)
	v.Shows("1 console warning", "1 failed request", "new endpoint")
	keys(v, kb.ArrowRight, kb.ArrowRight, "-", "+", kb.ArrowLeft, kb.End)
	live(true)

	// What is new moves nobody who looks at something else.
	keys(v, kb.ArrowLeft)
	live(false)
	p.JS(`console.error('meanwhile')`)
	a.Changes()
	v.Shows("1 console warning")
	live(false)
	keys(v, kb.End)

	// A wheel zooms, sideways it pans; a brush compares.
	keys(v, kb.Home)
	box := struct{ X, Y, Width, Height float64 }{}
	v.Do(func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
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
		v.Do(func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
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
	from := func() string { return v.Text(`document.querySelector('select[aria-label=From]').value`) }
	drag(0.001, 0.999, 60) // everything
	v.Shows("1 console warning", "2 console errors", "1 failed request")
	whole := from()
	wheel := func(dx, dy float64) {
		mouse(input.DispatchMouseEventTypeMouseWheel, 0.5, 60, func(p *input.DispatchMouseEventParams) {
			p.Button, p.Buttons, p.ClickCount, p.DeltaX, p.DeltaY = input.MouseButtonNone, 0, 0, dx, dy
		})
	}
	wheel(0.01, -400)
	drag(0.001, 0.3, 60)
	v.JS(fmt.Sprintf(`await until(() => document.querySelector('select[aria-label=From]').value > %q, 'that a zoomed timeline begins later')`, whole))
	zoomed := from()
	wheel(200, 0.01)
	drag(0.001, 0.3, 60)
	v.JS(fmt.Sprintf(`await until(() => document.querySelector('select[aria-label=From]').value > %q, 'that a panned timeline begins later')`, zoomed))
	v.JS(`await press('Show latest')`)
	// Lanes are put aside and come back.
	v.Shows("1 failed request")
	v.JS(`
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
	v.JS(`
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
	v.JS(`await press('Show latest')`)
	v.Shows("From after_refactor to now", "1 failed request")
	v.JS(`
await until(() => button('Show on the page') ?? true, 'the button');
document.addEventListener('copy', ({ target }) => { globalThis.copied = target.value; });
await press('Copy as Markdown');
await until(() => says('Copied as Markdown.'), 'that it was copied');`)
	text := v.Text(`copied`)
	for _, part := range []string{"session_start", "after_refactor → 1 warning", "### 1 failed request", "`GET /api/cart`", "200 → 500", "the cart cannot be read"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in what was copied:\n%s", part, text)
		}
	}
	p.JS(`document.querySelector('.error').style.marginTop = '3000px'; scrollTo(0, 0)`)
	v.JS(`
pick(document.querySelector('.tab-select'), '0');
await until(() => document.querySelector('.checkpoint .when')?.textContent.includes('http://'), 'the checkpoints of all scopes');
const mine = [...document.querySelectorAll('.tab-select option')].find((o) => o.textContent.includes('Basket') && o.title.includes(` + "`" + p.Text("location.host") + "`" + `));
pick(document.querySelector('.tab-select'), mine.value);
await new Promise((drawn) => setTimeout(drawn)); // the report of all tabs is gone
await press('Show on the page');`)
	p.WaitUntil(`document.querySelector('.error').getBoundingClientRect().top < innerHeight`)
}

// TestThePageIsComparedAsATree: what changed in it since the look before.
func TestThePageIsComparedAsATree(t *testing.T) {
	v, p, _ := worked(t)
	v.JS(`await press('Page'); await until(() => document.querySelector('.tree li') && says('Pay now'), 'a tree')`)
	p.JS(`document.getElementById('pay').textContent = 'Try again'`)
	v.JS(`
await press('Refresh');
await until(() => document.querySelector('.tree .added')?.textContent.includes('Try again') && document.querySelector('.tree .removed')?.textContent.includes('Pay now'), 'before and after');`)
}

// TestThePopupOpensTheViewerBesideThePage: the side panel is there, with the same viewer.
func TestThePopupOpensTheViewerBesideThePage(t *testing.T) {
	e2etest.NeedBrowser(t)
	w := e2etest.SeparateWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage})
	w.Open(t, s.URL).JS(`console.error('seen beside the page')`)
	popup := &e2etest.Viewer{Tab: w.Open(t, installer.Origin+"popup/index.html")}
	popup.JS(`await until(() => button('Open viewer') && !button('Open viewer').disabled, 'the button'); button('Open viewer').id = 'open'`)
	popup.Do(chromedp.Click("#open")) // a person's gesture: the browser opens it for nothing else
	panel := e2etest.Attach(t, w.Browser, "the side panel", func(info *target.Info) bool {
		return info.URL == installer.Origin+"sidepanel/index.html"
	})
	e2etest.RunIn(panel, t, e2etest.ViewerHelp+`await until(() => says('seen beside the page'), 'what happened')`)
}

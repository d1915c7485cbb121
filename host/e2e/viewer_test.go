package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/installer"
)

// basket is a site whose cart works, fails or is slow as a test says.
type basket struct {
	*site
	status, slow atomic.Int64
}

func newBasket(t *testing.T) *basket {
	t.Helper()
	b := &basket{site: newSite(t, map[string]string{
		"/{$}": `<!doctype html><html lang="en"><head><title>Basket</title><link rel="icon" href="data:,"></head><body>
<h1>Basket</h1><button id="pay">Pay now</button><div id="say"></div><script src="/app.js"></script></body></html>`,
		"/app.js": `
async function load() { const r = await fetch('/api/cart'); if (!r.ok) throw new Error('the cart cannot be read: ' + r.status); return r.json(); }
function deprecated() { console.warn('auth.login() is deprecated, use auth.signIn()'); }
function alarm(text) { document.getElementById('say').innerHTML = '<div role="alert" class="error"></div>'; document.querySelector('.error').textContent = text; }
function calm() { document.getElementById('say').textContent = ''; }
document.getElementById('pay').addEventListener('click', () => load().catch((e) => { console.error(String(e)); alarm('Something went wrong. Your card was not charged.'); }));`,
	})}
	b.status.Store(200)
	b.mux.HandleFunc("/api/cart", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(time.Duration(b.slow.Load()) * time.Millisecond)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(b.status.Load()))
		_, _ = fmt.Fprint(w, `{"items":[{"name":"Lamp","price":3900}],"token":"sk_live_0123456789abcdefghijklmn"}`)
	})
	b.mux.HandleFunc("/api/prices", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `{}`) })
	return b
}

// viewer is the viewer's page, as the side panel shows it, for the tab of a site.
type viewer struct{ *tab }

const viewerHelp = `
globalThis.until ??= async (holds, what) => { for (let i = 0; i < 600 && !holds(); i++) await new Promise((done) => setTimeout(done, 20)); if (!holds()) throw new Error((what ?? holds) + ' does not come to hold in\n' + document.body.innerText); };
globalThis.says ??= (text) => document.body.innerText.replace(/\s+/g, ' ').includes(text);
globalThis.button ??= (text, within = document) => [...within.querySelectorAll('button, summary')].find((b) => b.textContent.trim() === text || b.getAttribute('aria-label') === text);
globalThis.press ??= async (text, within) => { await until(() => button(text, within) && !button(text, within).disabled, 'a button ' + text); button(text, within).click(); };
globalThis.fill ??= (element, text) => { element.value = text; element.dispatchEvent(new Event('input', { bubbles: true })); };
globalThis.pick ??= (select, value) => { select.value = value; select.dispatchEvent(new Event('change', { bubbles: true })); };
`

// view opens the viewer in a tab of its own, and has it show the site's tab.
func (w *world) view(t *testing.T, s *site) *viewer {
	t.Helper()
	v := &viewer{w.open(t, installer.Origin+"sidepanel/index.html")}
	v.js(fmt.Sprintf(`
await until(() => document.querySelector('.tab-select option:nth-child(2)'), 'a list of tabs');
const mine = () => [...document.querySelectorAll('.tab-select option')].find((o) => o.title.startsWith(%q));
await until(mine, 'the tab of the site');
pick(document.querySelector('.tab-select'), mine().value);
await until(() => document.querySelector('.report'), 'a report');
// A checkpoint of another test, for all tabs, may be the newest.
pick(document.querySelector('select[aria-label=From]'), 'start');`, s.URL))
	return v
}

func (v *viewer) js(script string) {
	v.t.Helper()
	v.tab.js(viewerHelp + script)
}

func (v *viewer) shows(texts ...string) {
	v.t.Helper()
	for _, text := range texts {
		quoted, err := json.Marshal(text)
		if err != nil {
			v.t.Fatal(err)
		}
		v.js(fmt.Sprintf(`await until(() => says(%s), %s)`, quoted, quoted))
	}
}

// TestTheViewerShowsWhetherTheBrowserStoppedErroring is the specification's first use case: the agent said it
// fixed the bug.
func TestTheViewerShowsWhetherTheBrowserStoppedErroring(t *testing.T) {
	w := shared.get(t)
	b := newBasket(t)
	a := w.of(t, b.site)
	p := w.open(t, b.URL)
	p.js(`await load()`)
	a.changes()
	v := w.view(t, b.site)
	v.shows("From start to now", "3 new endpoints")

	// It breaks while the viewer is open: the person sees it without doing anything.
	b.status.Store(500)
	p.do(chromedp.Click("#pay"))
	v.shows("1 failed request", "/api/cart", "200 → then 500", "the cart cannot be read", "1 error on the page", "Clicked")
	a.call("checkpoint_create", map[string]any{"name": "before_fix"}, &struct{}{})
	v.shows("before_fix → 2 errors, 1 warning")

	// An entry opens into what was captured, the secret masked.
	v.js(`
pick(document.querySelector('select[aria-label=From]'), 'start');
await until(() => says('1 failed request'), 'the failure');
const line = [...document.querySelectorAll('.line')].find((l) => l.textContent.includes('/api/cart') && l.textContent.includes('500'));
line.querySelector('.opener').click();
await until(() => line.querySelector('.occurrence')?.textContent.includes('Response body'), 'the response');
for (const d of line.querySelectorAll('details')) d.open = true;
if (!line.textContent.includes('Lamp')) throw new Error('no body: ' + line.textContent);
if (line.textContent.includes('sk_live_0123')) throw new Error('the secret is shown');
if (!/masked/.test(line.textContent)) throw new Error('nobody says that something was masked: ' + line.textContent);`)

	// The agent says that it is fixed. Did the browser stop erroring?
	b.status.Store(200)
	p.js(`calm(); await load()`)
	a.changes()
	v.js(`await press('Show latest')`)
	v.shows("clean From before_fix to now", "1 recovered endpoint", "500 → then 200", "1 error disappeared from the page")
}

// TestTheViewerAuditsARegression is the second: healthy before the change, and after?
func TestTheViewerAuditsARegression(t *testing.T) {
	w := shared.get(t)
	b := newBasket(t)
	a := w.of(t, b.site)
	p := w.open(t, b.URL)
	p.js(`for (let i = 0; i < 4; i++) await load()`)
	a.changes()
	v := w.view(t, b.site)

	// Checkpoints are made by a person too; the naming rules speak as one types.
	v.js(`
const input = document.getElementById('checkpoint-name');
fill(input, 'Session Start');
await until(() => says('Use underscores'), 'the naming rule');
fill(input, 'session_start');
await press('Set');
await until(() => says('session_start → clean'), 'the checkpoint');`)
	a.call("checkpoint_create", map[string]any{"name": "before_auth_refactor"}, &struct{}{})
	p.js(`deprecated()`)
	a.changes()
	a.call("checkpoint_create", map[string]any{"name": "after_auth_refactor", "note": "new deprecation notice, acceptable"}, &struct{}{})
	a.call("checkpoint_create", map[string]any{"name": "before_commit"}, &struct{}{})
	v.shows("session_start → clean", "before_auth_refactor → clean", "after_auth_refactor → 1 warning (new deprecation notice, acceptable)", "before_commit → clean")

	// Any two are compared: one is chosen, and then another.
	v.js(`
[...document.querySelectorAll('.checkpoint .pick')].find((b) => b.textContent.includes('after_auth')).click();
await until(() => says('From before_auth_refactor to after_auth_refactor'), 'the span');
await until(() => says('auth.login() is deprecated'), 'the warning');
pick(document.querySelector('select[aria-label=To]'), 'before_commit');
await until(() => says('From before_auth_refactor to before_commit'), 'the other span');
// The wrong way round they are exchanged.
pick(document.querySelector('select[aria-label=To]'), 'session_start');
await until(() => says('From session_start to before_auth_refactor'), 'the earlier one first');`)

	// After the change the cart is slow, and a person sees how much.
	b.slow.Store(450)
	p.js(`await load(); await load()`)
	a.changes()
	v.js(`await press('Show latest')`)
	v.shows("1 slower endpoint")
	v.js(`if (!document.querySelector('.spark rect.after')) throw new Error('no plot of latency')`)

	// Side by side, renamed, deleted.
	v.js(`
const item = (name) => [...document.querySelectorAll('.checkpoint')].find((l) => l.querySelector('.name')?.textContent === name);
item('after_auth_refactor').querySelector('summary').click();
await press('Compare side by side', item('after_auth_refactor'));
await until(() => document.querySelectorAll('.side-by-side .report').length === 2, 'two reports');
item('before_commit').querySelector('summary').click();
await press('Rename', item('before_commit'));
await until(() => document.querySelector('.rename input'), 'a field');
// A name that is taken is refused in the form, for as long as it stands there.
fill(document.querySelector('.rename input'), 'session_start');
document.querySelector('.rename').requestSubmit();
await until(() => document.querySelector('.rename .problem')?.textContent.includes('"session_start" already'), 'why it is refused');
if (document.querySelector('.notice.failed')) throw new Error('it is said twice');
fill(document.querySelector('.rename input'), 'pre_commit');
await until(() => !document.querySelector('.rename .problem'), 'that the reason goes');
document.querySelector('.rename').requestSubmit();
await until(() => item('pre_commit'), 'the new name');
item('pre_commit').querySelector('summary').click();
await press('Delete', item('pre_commit'));
await press('Delete permanently?', item('pre_commit'));
await until(() => !item('pre_commit'), 'that it is gone');`)
}

// TestTheViewerShowsWhatTheAgentSaw is the third: trust, and a way to stop it.
func TestTheViewerShowsWhatTheAgentSaw(t *testing.T) {
	w := shared.get(t)
	b := newBasket(t)
	a := w.of(t, b.site)
	p := w.open(t, b.URL)
	p.js(`for (let i = 0; i < 30; i++) await load(); deprecated()`)
	seen := a.changes()
	v := w.view(t, b.site)
	v.js(`
await press('Agent calls');
const mine = () => [...document.querySelectorAll('.agent')].find((l) => l.textContent.includes(` + strconv.Quote(b.URL) + `));
await until(mine, 'the agent');
await until(() => says(` + strconv.Quote(seen.Summary) + `), 'the answer in a line');
const name = mine().querySelector('strong').textContent;
const by = document.querySelector('.agent-filter select');
if (by) pick(by, [...by.options].find((o) => o.textContent.startsWith(name + ' #')).value);
const find = () => [...document.querySelectorAll('.call')].find((c) => c.textContent.includes('get_changes_since ' + name) && c.textContent.includes('1 new console warning'));
await until(find, 'the call');
const call = find();
call.querySelector('.call-head').click();
await until(() => call.querySelector('.answer')?.textContent.includes('auth.login() is deprecated'), 'the answer as sent');
if (!call.textContent.includes('"wait": "settled"')) throw new Error('no arguments: ' + call.textContent);
if (!/Tokens saved/.test(mine().textContent)) throw new Error('nothing is said of what was saved: ' + mine().textContent);
mine().querySelector('[role=switch]').click();
await until(() => mine().textContent.includes('suspended'), 'that it is suspended');`)
	if _, err := a.Text("get_changes_since", nil); err == nil || !strings.Contains(err.Error(), "suspended") {
		t.Errorf("an agent that is held is answered: %v", err)
	}
	v.js(`
const mine = () => [...document.querySelectorAll('.agent')].find((l) => l.textContent.includes(` + strconv.Quote(b.URL) + `));
mine().querySelector('[role=switch]').click();
await until(() => mine().textContent.includes('allowed'), 'that it is allowed');`)
	a.changes()
}

// TestTheViewerShowsHostileTextAsText has a page say what would break a viewer that believed it.
func TestTheViewerShowsHostileTextAsText(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": `<title><img src=x onerror=globalThis.owned=1></title>`})
	a := w.of(t, s)
	p := w.open(t, s.URL)
	a.changes()
	v := w.view(t, s)
	p.js(`
console.error('<img src=x onerror="globalThis.owned=1"><script>globalThis.owned=1</scr' + 'ipt>');
console.error('\u001b[31mred\u001b[0m \u202Eevil\u202C \u200Bend');
console.error('long '.repeat(200000));
fetch('/<b>bold</b>?x=<script>');
console.warn('[link](javascript:alert(1)) ${1+1} {{x}}');
console.error('');
document.title = '<h1>\u202Eeltit</h1>';`)
	a.changes()
	a.call("checkpoint_create", map[string]any{"name": "before_hostile", "note": "exe.\u202egnp \u001b[31mred"}, &struct{}{})
	v.shows(`<img src=x onerror="globalThis.owned=1">`, "red evil end", "[link](javascript:alert(1))", "(no text)", "exe.gnp red")
	if list := w.Run("checkpoint", "list").Out; strings.ContainsAny(list, "\u202e\u001b") || !strings.Contains(list, "exe.gnp red") {
		t.Errorf("the list is %q", list)
	}
	popup := &viewer{w.open(t, installer.Origin+"popup/index.html")}
	popup.shows("eltit</h1>")
	popup.js(`if (/[\u202a-\u202e\u2066-\u2069\u001b\u200b]/.test(document.body.innerText) || document.querySelector('h1')?.textContent === 'eltit') throw new Error('control characters are shown')`)
	v.js(`
for (const opener of document.querySelectorAll('.opener:enabled')) opener.click();
await until(() => document.querySelectorAll('.occurrence').length >= 3, 'occurrences');
await press('Events');
await until(() => document.querySelectorAll('.event').length > 3, 'events');
if (globalThis.owned || document.querySelector('.middle img, .middle script')) throw new Error('the page had its way');
if (/[\u202a-\u202e\u2066-\u2069\u001b\u200b]/.test(document.body.innerText)) throw new Error('control characters are shown');
if (document.documentElement.scrollWidth > innerWidth + 1) throw new Error('it is wider than its window: ' + document.documentElement.scrollWidth);`)
}

// TestTheNarrowestSidePanelScrollsOneWay: nothing is cut off, and nothing but the list of what happened scrolls sideways.
func TestTheNarrowestSidePanelScrollsOneWay(t *testing.T) {
	w := shared.get(t)
	b := newBasket(t)
	a := w.of(t, b.site)
	p := w.open(t, b.URL)
	a.changes()
	a.call("checkpoint_create", map[string]any{"name": "before_migration_of_the_database_to_another_engine"}, &struct{}{})
	b.status.Store(500)
	p.js(`document.getElementById('pay').click()`)
	a.changes()
	v := w.view(t, b.site)
	if _, err := shot(v.Ctx, 360, 800, false); err != nil { // Chromium's own least width
		t.Fatal(err)
	}
	v.js(`
await until(() => says('1 failed request'), 'what happened');
for (const tab of document.querySelectorAll('.sections button')) {
  tab.click();
  await until(() => tab.getAttribute('aria-selected') === 'true', tab.textContent);
  for (const e of document.querySelectorAll('.viewer, .bar, .columns, .checkpoints, .checkpoint-list, .sections, .moments, .middle'))
    if (e.scrollWidth > e.clientWidth + 1) throw new Error(tab.textContent + ': ' + e.className + ' is ' + e.scrollWidth + ' wide in ' + e.clientWidth);
}`)
}

// TestTheViewerComesBackWithTheDaemon stops the daemon while the viewer and the popup are open.
func TestTheViewerComesBackWithTheDaemon(t *testing.T) {
	needBrowser(t)
	w := separateWorld(t)
	s := newSite(t, map[string]string{"/{$}": blank})
	p := w.open(t, s.URL)
	a := w.agent(t)
	a.changes()
	v := w.view(t, s)
	p.js(`console.error('before it went')`)
	v.shows("before it went")
	popup := &viewer{w.open(t, installer.Origin+"popup/index.html")}
	popup.shows("before it went")
	if r := w.Run("stop"); r.Code != 0 {
		t.Fatal(r.Err)
	}
	v.js(`
await until(() => document.querySelector('.banner') || says('before it went'), 'a banner, or that it is back already');
await until(() => !document.querySelector('.banner'), 'that the banner goes');`)
	p.js(`console.error('after it came back')`)
	v.shows("after it came back", "before it went")
	popup.shows("Connected", "after it came back")
}

// shot is a picture of a page in a size and theme, as PNG.
func shot(ctx context.Context, width, height int64, dark bool) ([]byte, error) {
	theme := "light"
	if dark {
		theme = "dark"
	}
	if _, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1}); err != nil {
		return nil, err
	}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}}); err != nil {
		return nil, err
	}
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void](`new Promise((done) => setTimeout(done, 700))`, chromedp.EvalAwaitPromise)); err != nil {
		return nil, err
	}
	r, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng})
	if err != nil {
		return nil, err
	}
	return r.Data, nil
}

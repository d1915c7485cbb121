package viewer

import (
	"context"
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

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/installer"
)

// basket is a site whose cart works, fails or is slow as a test says.
type basket struct {
	*e2etest.Site
	status, slow atomic.Int64
}

func newBasket(t *testing.T) *basket {
	t.Helper()
	b := &basket{Site: e2etest.NewSite(t, map[string]string{
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
	b.Mux.HandleFunc("/api/cart", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(time.Duration(b.slow.Load()) * time.Millisecond)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(b.status.Load()))
		_, _ = fmt.Fprint(w, `{"items":[{"name":"Lamp","price":3900}],"token":"sk_live_0123456789abcdefghijklmn"}`)
	})
	b.Mux.HandleFunc("/api/prices", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `{}`) })
	return b
}

// TestTheViewerShowsWhetherTheBrowserStoppedErroring is the specification's first use case: the agent said it
// fixed the bug.
func TestTheViewerShowsWhetherTheBrowserStoppedErroring(t *testing.T) {
	w := e2etest.SharedWorld(t)
	b := newBasket(t)
	a := w.AgentOf(t, b.Site)
	p := w.Open(t, b.URL)
	p.JS(`await load()`)
	a.Changes()
	v := w.OpenViewer(t, b.Site)
	v.Shows("From start to now", "2 new endpoints")

	// It breaks while the viewer is open: the person sees it without doing anything.
	b.status.Store(500)
	p.Do(chromedp.Click("#pay"))
	v.Shows("1 failed request", "/api/cart", "200 → then 500", "the cart cannot be read", "1 error on the page", "Clicked")
	a.Call("checkpoint_create", map[string]any{"name": "before_fix"}, &struct{}{})
	v.Shows("before_fix → 2 errors, 1 warning")

	// An entry opens into what was captured, the secret masked.
	v.JS(`
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
	p.JS(`calm(); await load()`)
	a.Changes()
	v.JS(`await press('Show latest')`)
	v.Shows("clean From before_fix to now", "1 recovered endpoint", "500 → then 200", "1 error disappeared from the page")
}

// TestTheViewerAuditsARegression is the second: healthy before the change, and after?
func TestTheViewerAuditsARegression(t *testing.T) {
	w := e2etest.SharedWorld(t)
	b := newBasket(t)
	a := w.AgentOf(t, b.Site)
	p := w.Open(t, b.URL)
	p.JS(`for (let i = 0; i < 4; i++) await load()`)
	a.Changes()
	v := w.OpenViewer(t, b.Site)

	// Checkpoints are made by a person too; the naming rules speak as one types.
	v.JS(`
const input = document.getElementById('checkpoint-name');
fill(input, 'Session Start');
await until(() => says('Use underscores'), 'the naming rule');
fill(input, 'session_start');
await press('Set');
await until(() => says('session_start → clean'), 'the checkpoint');`)
	a.Call("checkpoint_create", map[string]any{"name": "before_auth_refactor"}, &struct{}{})
	p.JS(`deprecated()`)
	a.Changes()
	a.Call("checkpoint_create", map[string]any{"name": "after_auth_refactor", "note": "new deprecation notice, acceptable"}, &struct{}{})
	a.Call("checkpoint_create", map[string]any{"name": "before_commit"}, &struct{}{})
	v.Shows("session_start → clean", "before_auth_refactor → clean", "after_auth_refactor → 1 warning (new deprecation notice, acceptable)", "before_commit → clean")

	// Any two are compared: one is chosen, and then another.
	v.JS(`
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
	p.JS(`await load(); await load()`)
	a.Changes()
	v.JS(`await press('Show latest')`)
	v.Shows("1 slower endpoint")
	v.JS(`if (!document.querySelector('.spark rect.after')) throw new Error('no plot of latency')`)

	// Side by side, renamed, deleted.
	v.JS(`
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
	w := e2etest.SharedWorld(t)
	b := newBasket(t)
	a := w.AgentOf(t, b.Site)
	p := w.Open(t, b.URL)
	p.JS(`for (let i = 0; i < 30; i++) await load(); deprecated()`)
	seen := a.Changes()
	v := w.OpenViewer(t, b.Site)
	v.JS(`
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
	v.JS(`
const mine = () => [...document.querySelectorAll('.agent')].find((l) => l.textContent.includes(` + strconv.Quote(b.URL) + `));
mine().querySelector('[role=switch]').click();
await until(() => mine().textContent.includes('allowed'), 'that it is allowed');`)
	a.Changes()
}

// TestTheViewerShowsHostileTextAsText has a page say what would break a viewer that believed it.
func TestTheViewerShowsHostileTextAsText(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": `<title><img src=x onerror=globalThis.owned=1></title>`})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Changes()
	v := w.OpenViewer(t, s)
	p.JS(`
console.error('<img src=x onerror="globalThis.owned=1"><script>globalThis.owned=1</scr' + 'ipt>');
console.error('\u001b[31mred\u001b[0m \u202Eevil\u202C \u200Bend');
console.error('long '.repeat(200000));
fetch('/<b>bold</b>?x=<script>');
console.warn('[link](javascript:alert(1)) ${1+1} {{x}}');
console.error('');
document.title = '<h1>\u202Eeltit</h1>';`)
	a.Changes()
	a.Call("checkpoint_create", map[string]any{"name": "before_hostile", "note": "exe.\u202egnp \u001b[31mred"}, &struct{}{})
	v.Shows(`<img src=x onerror="globalThis.owned=1">`, "red evil end", "[link](javascript:alert(1))", "(no text)", "exe.gnp red")
	if list := w.Run("checkpoint", "list").Out; strings.ContainsAny(list, "\u202e\u001b") || !strings.Contains(list, "exe.gnp red") {
		t.Errorf("the list is %q", list)
	}
	popup := &e2etest.Viewer{Tab: w.Open(t, installer.Origin+"popup/index.html")}
	popup.Shows("eltit</h1>")
	popup.JS(`if (/[\u202a-\u202e\u2066-\u2069\u001b\u200b]/.test(document.body.innerText) || document.querySelector('h1')?.textContent === 'eltit') throw new Error('control characters are shown')`)
	v.JS(`
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
	w := e2etest.SharedWorld(t)
	b := newBasket(t)
	a := w.AgentOf(t, b.Site)
	p := w.Open(t, b.URL)
	a.Changes()
	a.Call("checkpoint_create", map[string]any{"name": "before_migration_of_the_database_to_another_engine"}, &struct{}{})
	b.status.Store(500)
	p.JS(`document.getElementById('pay').click()`)
	a.Changes()
	v := w.OpenViewer(t, b.Site)
	if _, err := shot(v.Ctx, 360, 800, false); err != nil { // Chromium's own least width
		t.Fatal(err)
	}
	v.JS(`
await until(() => says('1 failed request'), 'what happened');
for (const tab of document.querySelectorAll('.sections button')) {
  tab.click();
  await until(() => tab.getAttribute('aria-selected') === 'true', tab.textContent);
  for (const e of document.querySelectorAll('.viewer, .bar, .columns, .checkpoints, .checkpoint-list, .sections, .moments, .middle'))
    if (e.scrollWidth > e.clientWidth + 1) throw new Error(tab.textContent + ': ' + e.className + ' is ' + e.scrollWidth + ' wide in ' + e.clientWidth);
}`)
}

// TestTheViewerComesBackWithTheDaemon stops the daemon while the viewer and the popup are open. The browser waits until a command
// starts another one.
func TestTheViewerComesBackWithTheDaemon(t *testing.T) {
	e2etest.NeedBrowser(t)
	w := e2etest.SeparateWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage})
	p := w.Open(t, s.URL)
	a := w.NewAgent(t)
	a.Changes()
	v := w.OpenViewer(t, s)
	p.JS(`console.error('before it went')`)
	v.Shows("before it went")
	popup := &e2etest.Viewer{Tab: w.Open(t, installer.Origin+"popup/index.html")}
	popup.Shows("before it went")
	if r := w.Run("stop"); r.Code != 0 {
		t.Fatal(r.Err)
	}
	v.JS(`await until(() => document.querySelector('.banner'), 'a banner')`)
	popup.Shows("You stopped Tidemark.")
	p.JS(`console.error('while it was stopped')`)
	if r := w.Run("stop"); r.Out != "No daemon is running.\n" {
		t.Errorf("the browser started another daemon: %+v", r)
	}
	if r := w.Run("status"); r.Code != 0 {
		t.Fatal(r.Err)
	}
	v.JS(`await until(() => !document.querySelector('.banner'), 'that the banner goes')`)
	p.JS(`console.error('after it came back')`)
	v.Shows("after it came back", "while it was stopped", "before it went")
	popup.Shows("Connected", "after it came back")
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

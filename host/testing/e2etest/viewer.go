package e2etest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/browser"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/installer"
)

// Inspected is a page in a separate browser with DevTools, which shows Tidemark's panel.
type Inspected struct {
	*World
	Page *Tab
	// Tools is the document of DevTools, Panel that of Tidemark's panel.
	Tools, Panel context.Context
}

// Inspect opens DevTools for a site's page, and Tidemark's panel there.
func Inspect(t *testing.T, s *Site) *Inspected {
	t.Helper()
	NeedBrowser(t)
	w := EmptyWorld(t)
	dir, err := w.Extension()
	if err != nil {
		t.Fatal(err)
	}
	b, err := browser.Launch(context.Background(), browser.Options{
		Headless: true, ExtensionDir: dir, Binary: w.Binary, Way: w.Way, Notes: io.Discard,
		Env: []string{"TIDEMARK_HOME=" + w.Home}, ExtraArgs: []string{"--auto-open-devtools-for-tabs"},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Browser = b
	if err := chromedp.Do(b.Context()); err != nil {
		t.Fatal(err)
	}
	in := &Inspected{World: w, Page: &Tab{t, &testbed.Tab{Ctx: b.Context()}}}
	in.Page.Do(chromedp.Navigate(s.URL))
	in.Tools = Attach(t, b, "DevTools of the page", func(info *target.Info) bool {
		return strings.HasPrefix(info.URL, "devtools://")
	})
	// DevTools is not ready at once, and hears of the panel some time after.
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		return chromedp.Run(in.Tools, chromedp.Evaluate[bool](`(async () => {
const { ViewManager } = await import('./ui/legacy/legacy.js');
try {
	const manager = ViewManager.ViewManager.instance();
	const id = [...manager.views.keys()].find((key) => key.startsWith('chrome-extension'));
	if (id === undefined) return false;
	await manager.showView(id);
	return true;
} catch { return false; }
})()`, chromedp.EvalAwaitPromise))
	}); err != nil {
		t.Fatalf("the panel is not in DevTools: %v", err)
	}
	in.Panel = Attach(t, b, "Tidemark's panel", func(info *target.Info) bool {
		return info.URL == installer.Origin+"panel/index.html"
	})
	RunIn(in.Panel, t, ViewerHelp+`
await until(() => document.querySelector('.report'), 'a report');
if (document.querySelector('.tab-select').value === '0') await until(() => document.querySelector('.tab-select').value !== '0', 'the inspected tab');`)
	return in
}

// Viewer is the viewer's page in the side panel, for the tab of a site.
type Viewer struct{ *Tab }

// ViewerHelp defines functions for scripts that run in the viewer.
const ViewerHelp = `
globalThis.until ??= async (holds, what) => { for (let i = 0; i < 600 && !holds(); i++) await new Promise((done) => setTimeout(done, 20)); if (!holds()) throw new Error((what ?? holds) + ' does not come to hold in\n' + document.body.innerText); };
globalThis.says ??= (text) => document.body.innerText.replace(/\s+/g, ' ').includes(text);
globalThis.button ??= (text, within = document) => [...within.querySelectorAll('button, summary')].find((b) => b.textContent.trim() === text || b.getAttribute('aria-label') === text);
globalThis.press ??= async (text, within) => { await until(() => button(text, within) && !button(text, within).disabled, 'a button ' + text); button(text, within).click(); };
globalThis.fill ??= (element, text) => { element.value = text; element.dispatchEvent(new Event('input', { bubbles: true })); };
globalThis.pick ??= (select, value) => { select.value = value; select.dispatchEvent(new Event('change', { bubbles: true })); };
`

// OpenViewer opens the viewer in a tab, and shows the site's tab in it.
func (w *World) OpenViewer(t *testing.T, s *Site) *Viewer {
	t.Helper()
	v := &Viewer{w.Open(t, installer.Origin+"sidepanel/index.html")}
	v.JS(fmt.Sprintf(`
await until(() => document.querySelector('.tab-select option:nth-child(2)'), 'a list of tabs');
const mine = () => [...document.querySelectorAll('.tab-select option')].find((o) => o.title.startsWith(%q));
await until(mine, 'the tab of the site');
pick(document.querySelector('.tab-select'), mine().value);
await new Promise((drawn) => setTimeout(drawn)); // the report of all tabs is gone
await until(() => document.querySelector('.report'), 'a report');
// A checkpoint of another test, for all tabs, may be the newest.
pick(document.querySelector('select[aria-label=From]'), 'start');`, s.URL))
	return v
}

// JS is [Tab.JS] with the functions of [ViewerHelp].
func (v *Viewer) JS(script string) {
	v.T.Helper()
	v.Tab.JS(ViewerHelp + script)
}

// Shows waits until the viewer shows each text.
func (v *Viewer) Shows(texts ...string) {
	v.T.Helper()
	for _, text := range texts {
		quoted, err := json.Marshal(text)
		if err != nil {
			v.T.Fatal(err)
		}
		v.JS(fmt.Sprintf(`await until(() => says(%s), %s)`, quoted, quoted))
	}
}

// Dashboard opens the dashboard of a home in a tab of a browser, as `tidemark open` would.
func Dashboard(t *testing.T, in *World, of *testbed.World) *Tab {
	t.Helper()
	r := of.Run("open", "--print")
	if r.Code != 0 {
		t.Fatal(r.Err)
	}
	return in.Open(t, strings.TrimSpace(r.Out))
}

package viewer

import (
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/installer"
)

// TestThePanelIsInDevTools opens Tidemark's panel in the real DevTools window of a page.
func TestThePanelIsInDevTools(t *testing.T) {
	s := newBasket(t)
	in := e2etest.Inspect(t, s.Site)
	s.status.Store(500)
	in.Page.JS(`document.getElementById('pay').click()`)
	e2etest.RunIn(in.Panel, t, e2etest.ViewerHelp+`
await until(() => says('1 failed request') && says('the cart cannot be read'), 'what happened');
await until(() => document.querySelector('button.source'), 'a source');
document.querySelector('button.source').click();`)
	e2etest.RunIn(in.Tools, t, `
const until = async (holds) => { for (let i = 0; i < 500; i++) { if (holds()) return; await new Promise((done) => setTimeout(done, 20)); } throw new Error('the Sources panel does not open'); };
const { ViewManager } = await import('./ui/legacy/legacy.js');
await until(() => ViewManager.ViewManager.instance().isViewVisible('sources'));`)
}

// TestThePanelOutsideOfDevToolsSaysWhereItBelongs to whoever opens it by its address.
func TestThePanelOutsideOfDevToolsSaysWhereItBelongs(t *testing.T) {
	w := e2etest.SharedWorld(t)
	p := w.Open(t, installer.Origin+"panel/index.html")
	p.WaitForText("on the page that you want to inspect")
	p.WaitForText("“Open viewer”")
	for _, theme := range []string{"light", "dark"} {
		p.SetTheme(theme)
		p.CheckAccessible("the panel outside of DevTools, " + theme)
	}
}

// TestThePanelFollowsTheThemeOfDevTools, and axe-core finds nothing in it either way.
func TestThePanelFollowsTheThemeOfDevTools(t *testing.T) {
	axe, err := os.ReadFile(e2etest.Repository("node_modules/axe-core/axe.min.js"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("axe-core is not installed; npm ci")
	}
	if err != nil {
		t.Fatal(err)
	}
	s := newBasket(t)
	in := e2etest.Inspect(t, s.Site)
	s.status.Store(500)
	in.Page.JS(`document.getElementById('pay').click()`)
	e2etest.RunIn(in.Panel, t, e2etest.ViewerHelp+`await until(() => says('1 failed request'), 'what happened')`)
	for theme, ground := range map[string]string{"dark": "dark", "default": "light"} {
		e2etest.RunIn(in.Tools, t, `
const { Settings } = await import('./core/common/common.js');
Settings.Settings.instance().moduleSetting('ui-theme').set('`+theme+`')`)
		e2etest.RunIn(in.Panel, t, e2etest.ViewerHelp+`
const light = () => Number(getComputedStyle(document.body).backgroundColor.match(/\d+/)[0]) > 128;
await until(() => light() === (`+strconv.Quote(ground)+` === 'light'), 'a `+ground+` panel');
`+string(axe)+`
const found = (await axe.run(document)).violations.map((v) => [v.id, v.nodes.map((n) => n.html + ' ' + n.failureSummary)]);
if (found.length > 0) throw new Error(JSON.stringify(found));`)
	}
}

// TestTheViewersPagesAreAccessible has axe-core look at every view, light and dark.
func TestTheViewersPagesAreAccessible(t *testing.T) {
	w := e2etest.SharedWorld(t)
	axe, err := os.ReadFile(e2etest.Repository("node_modules/axe-core/axe.min.js"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("axe-core is not installed; npm ci")
	}
	if err != nil {
		t.Fatal(err)
	}
	b := newBasket(t)
	a := w.AgentOf(t, b.Site)
	p := w.Open(t, b.URL)
	p.JS(`await load(); deprecated()`)
	a.Changes()
	a.Call("checkpoint_create", map[string]any{"name": "session_start", "note": "a note"}, &struct{}{})
	b.status.Store(500)
	p.JS(`document.getElementById('pay').click()`)
	a.Changes()
	v := w.OpenViewer(t, b.Site)
	v.Shows("failed request")
	popup := &e2etest.Viewer{Tab: w.Open(t, installer.Origin+"popup/index.html")}
	popup.JS(`await until(() => says('Connected'), 'the connection')`)
	look := func(what string, of *e2etest.Tab, width int64) {
		t.Helper()
		for _, dark := range []bool{false, true} {
			if _, err := shot(of.Ctx, width, 800, dark); err != nil {
				t.Fatal(err)
			}
			of.JS("if (!globalThis.axe) { " + string(axe) + "\n}")
			found := textOf(of, `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }).then((r) => JSON.stringify(r.violations.map((v) => [v.id, v.help, v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + ' ' + n.failureSummary)])))`)
			if found != "[]" {
				t.Errorf("%s, dark: %v: %s", what, dark, found)
			}
		}
	}
	v.JS(`document.querySelector('.line .opener:enabled').click(); await until(() => document.querySelector('.occurrence'), 'an occurrence')`)
	look("changes", v.Tab, 1200)
	look("side panel", v.Tab, 400)
	for _, section := range []string{"Events", "Agent calls", "Page"} {
		name, err := json.Marshal(section)
		if err != nil {
			t.Fatal(err)
		}
		v.JS(`await press(` + string(name) + `); await until(() => document.querySelector('.event, .call, .tree li'), 'something')`)
		look(section, v.Tab, 1200)
	}
	look("popup", popup.Tab, 380)

	// Variables, as far as a keyboard gets in them.
	vs := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage, "/app.js": e2etest.Retrying})
	d := w.Debugs(t, vs)
	d.Stop(w.Open(t, vs.URL), "go()")
	d.TakeVariables(map[string]any{"depth": 2})
	d.Resume()
	d.TakeVariables(map[string]any{"depth": 2})
	v = w.OpenViewer(t, vs)
	v.JS(`await press('Variables'); await until(() => document.querySelectorAll('[role=treeitem]').length > 5, 'a tree'); document.querySelector('[role=treeitem]').focus()`)
	look("variables", v.Tab, 1200)
	look("variables in the side panel", v.Tab, 400)
	v.Do(chromedp.KeyEvent(kb.End), chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowRight))
	at := v.Text(`document.activeElement.textContent`)
	v.Do(chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent(kb.ArrowLeft))
	if back := v.Text(`document.activeElement.textContent`); at == back || back == "" {
		t.Errorf("the keys lead from %q to %q", at, back)
	}
	d.Debugger("debugger_resume", nil)
}

// textOf evaluates an expression that is a promise of a text.
func textOf(p *e2etest.Tab, expression string) string {
	p.T.Helper()
	text, err := chromedp.Run(p.Ctx, chromedp.Evaluate[string](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.T.Fatal(err)
	}
	return text
}

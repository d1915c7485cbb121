package viewer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/installer"
)

// ScreenshotsEnv names the directory that pictures of every view are written to; without it none are.
const ScreenshotsEnv = "TIDEMARK_SCREENSHOTS"

// TestScreenshots takes the pictures of the documentation: make screenshots.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv(ScreenshotsEnv)
	if dir == "" {
		t.Skip("takes pictures for the documentation; make screenshots")
	}
	w := e2etest.SharedWorld(t)
	b := newBasket(t)
	a := w.AgentOf(t, b.Site)
	p := w.Open(t, b.URL)
	p.JS(`for (let i = 0; i < 6; i++) await load(); await fetch('/api/prices')`)
	a.Changes()
	a.Call("checkpoint_create", map[string]any{"name": "session_start"}, &struct{}{})
	p.JS(`for (let i = 0; i < 3; i++) { await load(); await new Promise((done) => setTimeout(done, 300)); }`)
	a.Changes()
	a.Call("checkpoint_create", map[string]any{"name": "before_auth_refactor"}, &struct{}{})
	p.JS(`deprecated(); deprecated(); history.pushState({}, '', '/checkout')`)
	a.Changes()
	a.Call("checkpoint_create", map[string]any{"name": "after_auth_refactor", "note": "new deprecation notice, acceptable"}, &struct{}{})
	b.slow.Store(420)
	p.JS(`await load(); await load()`)
	b.slow.Store(0)
	b.status.Store(500)
	p.JS(`await fetch('/api/orders/new'); for (let i = 0; i < 3; i++) document.getElementById('pay').click(); await new Promise((done) => setTimeout(done, 600)); const s = new WebSocket('ws://' + location.host + '/live'); await new Promise((done) => s.onerror = done);`)
	a.Changes()
	v := w.OpenViewer(t, b.Site)
	v.Shows("failed request")
	take := func(name string, of *e2etest.Tab, width, height int64) {
		t.Helper()
		takeInto(t, dir, name, of, width, height)
	}
	take("panel", v.Tab, 1180, 760)
	v.JS(`
const line = [...document.querySelectorAll('.line')].find((l) => l.textContent.includes('/api/cart') && l.textContent.includes('500'));
line.querySelector('.opener').click();
await until(() => line.querySelector('.occurrence'), 'an occurrence');
line.scrollIntoView({ block: 'center' });`)
	take("panel-entry", v.Tab, 1180, 760)
	v.JS(`await press('Events'); await until(() => document.querySelector('.event'), 'events')`)
	take("panel-events", v.Tab, 1180, 760)
	v.JS(`
await press('Agent calls');
await until(() => document.querySelectorAll('.call').length > 3, 'calls');
[...document.querySelectorAll('.call-head')].at(-1).click();
await until(() => document.querySelector('.answer'), 'an answer')`)
	take("panel-agent", v.Tab, 1180, 760)
	p.JS(`calm(); document.querySelector('h1').textContent = 'Your basket'`)
	v.JS(`await press('Page'); await until(() => document.querySelector('.tree li'), 'a tree')`)
	p.JS(`alarm('Something went wrong again.'); document.getElementById('pay').textContent = 'Try again'`)
	v.JS(`await press('Refresh'); await until(() => document.querySelector('.tree .added'), 'a change')`)
	take("panel-page", v.Tab, 1180, 760)
	vs := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage, "/app.js": strings.Replace(e2etest.Retrying, "debugger;", "", 1)})
	d := w.Debugs(t, vs)
	vp := w.Open(t, vs.URL)
	d.Breakpoint(map[string]any{"url": "app.js", "line": 10})
	vp.Start("go()")
	d.Paused()
	d.TakeVariables(map[string]any{"label": "before-retry", "depth": 2})
	d.Resume()
	d.Resume()
	d.Resume()
	d.TakeVariables(map[string]any{"label": "after-retry", "depth": 2})
	of := w.OpenViewer(t, vs)
	of.JS(`await press('Variables'); await until(() => document.querySelectorAll('[role=treeitem]').length > 5, 'a tree')`)
	take("panel-variables", of.Tab, 1180, 760)
	d.Debugger("debugger_resume", nil)
	v.JS(`await press('Changes')`)
	take("side-panel", v.Tab, 420, 900)
	popup := w.Open(t, installer.Origin+"popup/index.html")
	take("popup", popup, 380, 640)
	board := e2etest.Dashboard(t, w, w.World)
	board.WaitForText("failed request")
	take("dashboard", board, 1180, 760)
	out := w.Open(t, board.Text("location.href"))
	out.WaitForText("tidemark open")
	take("dashboard-signed-out", out, 720, 420)
}

// takeInto writes pictures of a page into a directory, light and dark.
func takeInto(t *testing.T, dir, name string, of *e2etest.Tab, width, height int64) {
	t.Helper()
	for _, dark := range []bool{false, true} {
		png, err := shot(of.Ctx, width, height, dark)
		if err != nil {
			t.Fatal(err)
		}
		file := name + "-light.png"
		if dark {
			file = name + "-dark.png"
		}
		if err := os.WriteFile(filepath.Join(dir, file), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

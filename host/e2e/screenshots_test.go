package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	w := shared.get(t)
	b := newBasket(t)
	a := w.of(t, b.site)
	p := w.open(t, b.URL)
	p.js(`for (let i = 0; i < 6; i++) await load(); await fetch('/api/prices')`)
	a.changes()
	a.call("checkpoint_create", map[string]any{"name": "session_start"}, &struct{}{})
	p.js(`for (let i = 0; i < 3; i++) { await load(); await new Promise((done) => setTimeout(done, 300)); }`)
	a.changes()
	a.call("checkpoint_create", map[string]any{"name": "before_auth_refactor"}, &struct{}{})
	p.js(`deprecated(); deprecated(); history.pushState({}, '', '/checkout')`)
	a.changes()
	a.call("checkpoint_create", map[string]any{"name": "after_auth_refactor", "note": "new deprecation notice, acceptable"}, &struct{}{})
	b.slow.Store(420)
	p.js(`await load(); await load()`)
	b.slow.Store(0)
	b.status.Store(500)
	p.js(`await fetch('/api/orders/new'); for (let i = 0; i < 3; i++) document.getElementById('pay').click(); await new Promise((done) => setTimeout(done, 600)); const s = new WebSocket('ws://' + location.host + '/live'); await new Promise((done) => s.onerror = done);`)
	a.changes()
	v := w.view(t, b.site)
	v.shows("failed request")
	take := func(name string, of *tab, width, height int64) {
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
	take("panel", v.tab, 1180, 760)
	v.js(`
const line = [...document.querySelectorAll('.line')].find((l) => l.textContent.includes('/api/cart') && l.textContent.includes('500'));
line.querySelector('.opener').click();
await until(() => line.querySelector('.occurrence'), 'an occurrence');
line.scrollIntoView({ block: 'center' });`)
	take("panel-entry", v.tab, 1180, 760)
	v.js(`await press('Events'); await until(() => document.querySelector('.event'), 'events')`)
	take("panel-events", v.tab, 1180, 760)
	v.js(`
await press('Agent calls');
await until(() => document.querySelectorAll('.call').length > 3, 'calls');
[...document.querySelectorAll('.call-head')].at(-1).click();
await until(() => document.querySelector('.answer'), 'an answer')`)
	take("panel-agent", v.tab, 1180, 760)
	p.js(`calm(); document.querySelector('h1').textContent = 'Your basket'`)
	v.js(`await press('Page'); await until(() => document.querySelector('.tree li'), 'a tree')`)
	p.js(`alarm('Something went wrong again.'); document.getElementById('pay').textContent = 'Try again'`)
	v.js(`await press('Refresh'); await until(() => document.querySelector('.tree .added'), 'a change')`)
	take("panel-page", v.tab, 1180, 760)
	vs := newSite(t, map[string]string{"/{$}": debugPage, "/app.js": strings.Replace(retrying, "debugger;", "", 1)})
	d := w.debugs(t, vs)
	vp := w.open(t, vs.URL)
	d.breakpoint(map[string]any{"url": "app.js", "line": 10})
	vp.start("go()")
	d.paused()
	d.take(map[string]any{"label": "before-retry", "depth": 2})
	d.on()
	d.on()
	d.on()
	d.take(map[string]any{"label": "after-retry", "depth": 2})
	of := w.view(t, vs)
	of.js(`await press('Variables'); await until(() => document.querySelectorAll('[role=treeitem]').length > 5, 'a tree')`)
	take("panel-variables", of.tab, 1180, 760)
	d.debugger("debugger_resume", nil)
	v.js(`await press('Changes')`)
	take("side-panel", v.tab, 420, 900)
	popup := w.open(t, installer.Origin+"popup/index.html")
	take("popup", popup, 380, 640)
	board := dashboard(t, w, w.World)
	board.see("failed request")
	take("dashboard", board, 1180, 760)
	out := w.open(t, board.text("location.href"))
	out.see("tidemark open")
	take("dashboard-signed-out", out, 720, 420)
}

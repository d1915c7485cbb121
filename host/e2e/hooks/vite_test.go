package hooks

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/debugger"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestATracepointFollowsAHotUpdate: what a hot update loads is traced by the tracepoint that was there before, and by a
// new one. Of a paused page the answer says that it runs nothing.
func TestATracepointFollowsAHotUpdate(t *testing.T) {
	w := e2etest.SharedWorld(t)
	app := startVite(t)
	app.Write("src/tick.js", "export function tick(n) {\n  const times = n * 2;\n  return times;\n}\n")
	app.Edit("src/main.js", "show(App);", "show(App);\nimport { tick } from './tick.js';\nwindow.tick = tick;\nimport.meta.hot?.accept('./tick.js', (next) => { window.tick = next.tick; });")
	a := w.NewAgent(t, "--origin", app.URL, "--tools", "observe,debug")
	p := w.Open(t, app.URL)
	app.shows(p)
	updated := func(has string) {
		t.Helper()
		if err := testbed.Eventually(t.Context(), func() (bool, error) {
			return p.Tab.JS(fmt.Sprintf(`if (!String(tick).includes(%q)) throw new Error('not yet')`, has)) == nil, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	trace := func(line int, path string) debugger.Trace {
		t.Helper()
		return a.Trace(map[string]any{"url": "src/tick.js", "line": line, "paths": []string{path}, "limit": 1000, "wait_ms": 300})
	}
	trace(3, "times")
	p.JS(`for (let i = 1; i < 5; i++) tick(i)`)
	if tr := trace(3, "times"); tr.Hits != 4 {
		t.Fatalf("before the update: %+v", tr)
	}
	app.Edit("src/tick.js", "n * 2;", "n * 3;")
	updated("n * 3")
	p.JS(`for (let i = 1; i < 5; i++) tick(i)`)
	if tr := trace(3, "times"); tr.Hits != 8 || tr.New != 4 || tr.Evolution["times"] != "3 → 6 → 9 → 12" {
		t.Errorf("after the update: %+v", tr)
	}
	trace(2, "n")
	p.JS(`tick(7)`)
	if tr := trace(2, "n"); tr.Hits != 1 || len(tr.Places) != 1 {
		t.Errorf("a new one: %+v", tr)
	}
	// One edit: the update of a second one would replace the module after it was traced.
	app.Edit("src/tick.js", "export function tick(n) {\n  const times = n * 3;", "// moved\nexport function tick(n) {\n  const times = n * 4;")
	updated("n * 4")
	p.JS(`tick(5)`)
	if tr := trace(3, "n"); tr.State != "tracing" {
		t.Errorf("%+v", tr)
	}
	p.JS(`tick(8)`)
	if tr := trace(3, "n"); tr.Hits != 1 || tr.Evolution["n"] != "8" {
		t.Errorf("a line that moved: %+v", tr)
	}
	b := a.Breakpoint(map[string]any{"url": "src/tick.js", "line": 4})
	p.Start(`tick(9)`)
	a.Paused()
	if tr := trace(4, "n"); !strings.Contains(strings.Join(tr.Notes, "\n"), "is paused (breakpoint) at src/tick.js:4:") || strings.Contains(strings.Join(tr.Notes, "\n"), "have the page run") {
		t.Errorf("of a paused page: %+v", tr)
	}
	a.Call("breakpoint_remove", map[string]any{"id": b.ID}, &debugger.BreakpointList{})
	a.Debugger("debugger_resume", nil)
	app.reload(p)
	app.shows(p)
	for _, place := range trace(3, "n").Places {
		if strings.Contains(place, "evaluated") {
			t.Errorf("after a reload: %q", place)
		}
	}
}

// TestABreakpointFollowsAHotUpdate: one that was there before it, and one that is set as soon as the page runs the new copy.
func TestABreakpointFollowsAHotUpdate(t *testing.T) {
	for _, way := range []string{"debugger", "quiet"} {
		t.Run(way, func(t *testing.T) {
			w := e2etest.WorldIn(t, strings.TrimPrefix(way, "debugger"))
			app := startVite(t)
			app.Write("src/tick.js", "export function tick(n) {\n  const times = n * 2;\n  return times;\n}\n")
			app.Edit("src/main.js", "show(App);", "show(App);\nimport { tick } from './tick.js';\nwindow.tick = tick;\nimport.meta.hot?.accept('./tick.js', (next) => { window.tick = next.tick; });")
			a := w.NewAgent(t, "--origin", app.URL, "--tools", "observe,debug")
			p := w.Open(t, app.URL)
			app.shows(p)
			hit := func(id, source string) {
				t.Helper()
				if th := a.Paused(); !slices.Equal(th.Breakpoints, []string{id}) || !strings.HasPrefix(th.Stack[0].Source, source) {
					t.Errorf("paused at %+v, by %v; want %s by %s", th.Stack[0], th.Breakpoints, source, id)
				}
				a.Debugger("debugger_resume", nil)
			}
			before := a.Breakpoint(map[string]any{"url": "src/tick.js", "line": 3, "condition": "n === 1"})
			for i := range 3 {
				app.Edit("src/tick.js", "tick(n) {\n", "tick(n) {\n  void 0;\n")
				if err := testbed.Eventually(t.Context(), func() (bool, error) {
					return p.Tab.JS(fmt.Sprintf(`if (String(tick).split('void').length < %d) throw new Error('not yet')`, i+2)) == nil, nil
				}); err != nil {
					t.Fatal(err)
				}
				after := a.Breakpoint(map[string]any{"url": "src/tick.js", "line": i + 4, "condition": "n === 2"})
				p.Start(`tick(1)`)
				hit(before.ID, "src/tick.js:3:")
				p.Start(`tick(2)`)
				hit(after.ID, fmt.Sprintf("src/tick.js:%d:", i+4))
				a.Call("breakpoint_remove", map[string]any{"id": after.ID}, &debugger.BreakpointList{})
			}
		})
	}
}

// TestAModuleThatViteCannotCompileIsOneEntry: the overlay, what Vite's client logs and the request for the module are one
// failure, at the module's own line.
func TestAModuleThatViteCannotCompileIsOneEntry(t *testing.T) {
	w := e2etest.SharedWorld(t)
	for _, way := range []string{"quiet", "debugger"} {
		t.Run(way, func(t *testing.T) {
			app := startVite(t)
			a := w.NewAgent(t, "--origin", app.URL, "--tools", "observe,debug")
			p := w.Open(t, app.URL)
			app.shows(p)
			if way == "debugger" {
				a.Debugger("debugger_pause", map[string]any{"exceptions": "uncaught"})
			}
			since := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
			app.Edit("src/App.jsx", "<ul>", "<ul>{{{")
			var r report.Report
			if err := testbed.Eventually(t.Context(), func() (bool, error) {
				r = report.Report{}
				a.Call("get_changes_since", map[string]any{"checkpoint": since, "wait": "settled"}, &r)
				return len(r.DOM.NewErrorElements) > 0, nil
			}); err != nil {
				t.Fatalf("%v: %+v", err, r)
			}
			if e := r.DOM.NewErrorElements; len(e) != 1 || !strings.HasSuffix(e[0].File, "src/App.jsx") || e[0].Line != 11 {
				t.Errorf("%+v", e)
			}
			if r.Summary != "1 new error overlay(s)" || len(r.Console.NewErrors) > 0 || len(r.Network.Failures) > 0 {
				t.Errorf("%q: %+v, %+v", r.Summary, r.Console.NewErrors, r.Network.Failures)
			}
			for i := range 3 { // a wrong repair leaves the page as it is
				r = report.Report{}
				a.Call("get_changes_since", map[string]any{"wait": "settled"}, &r)
				if r.Severity != report.Error || i > 0 && len(r.Repeated) == 0 {
					t.Errorf("after edit %d: %s, %q, %+v", i, r.Severity, r.Summary, r.Repeated)
				}
				app.Edit("src/App.jsx", "<ul>{{{", "<ul>{{{ ")
			}
		})
	}
}

package debugging

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/debugger"
	"tidemark.dev/tidemark/host/internal/tokens"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

func TestABreakpointPausesThePageAndStepsGoThroughIt(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage, "/app.js": e2etest.DebugApp})
	a := w.Debugs(t, s)
	p := w.Open(t, s.URL)
	b := a.Breakpoint(map[string]any{"url": "app.js", "line": 4})
	if b.State != "set" || len(b.Places) != 1 || !strings.Contains(b.Places[0], "/app.js:4:") {
		t.Fatalf("%+v", b)
	}
	p.Start(`document.getElementById('go').click()`)
	at := a.Paused()
	if at.Reason != "breakpoint" || len(at.Breakpoints) != 1 || at.Breakpoints[0] != b.ID || at.By != "" {
		t.Errorf("%+v", at)
	}
	if len(at.Stack) < 2 || at.Stack[0].Function != "total" || !strings.Contains(at.Stack[0].Source, "app.js:4:") || !strings.Contains(at.Stack[1].Source, "app.js:17:") {
		t.Fatalf("%+v", at.Stack)
	}
	stepped := a.Debugger("debugger_step", map[string]any{"kind": "over"})
	if st := stepped.Threads[0]; st.State != "paused" || st.Reason != "step" || st.Stack[0].Source == at.Stack[0].Source {
		t.Errorf("%+v", stepped)
	}
	out := a.Debugger("debugger_step", map[string]any{"kind": "out"})
	t.Logf("%+v", out.Threads[0])
	var list debugger.BreakpointList
	a.Call("breakpoint_remove", map[string]any{"id": b.ID}, &list)
	if len(list.Breakpoints) != 0 {
		t.Errorf("%+v", list)
	}
	if s := a.Debugger("debugger_resume", nil); s.State != "running" {
		t.Errorf("%+v", s)
	}
	p.WaitForTitle("6")
}

func TestTheDebuggerRefusesWhatIsNotThere(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage, "/app.js": e2etest.DebugApp})
	a := w.Debugs(t, s)
	w.Open(t, s.URL)
	for _, c := range []struct {
		tool string
		args map[string]any
		says string
	}{
		{"debugger_resume", nil, "not being debugged"},
		{"breakpoint_set", map[string]any{"url": "", "line": 1}, "url is empty"},
		{"breakpoint_set", map[string]any{"url": "app.js", "line": 0}, "line is 0; it must be 1 or more"},
		{"breakpoint_set", map[string]any{"url": "app.js", "line": 4, "condition": "sum ==="}, "condition cannot be parsed"},
		{"breakpoint_remove", map[string]any{"id": "bp-99"}, `no breakpoint "bp-99"`},
		{"debugger_step", map[string]any{"kind": "sideways"}, "must be over, into or out"},
		{"debugger_step", map[string]any{"kind": "over"}, "Nothing is paused"},
		{"debugger_resume", map[string]any{"thread": 9}, "no thread 9"},
		{"debugger_state", map[string]any{"thread": 9}, "no thread 9"},
		{"debugger_state", map[string]any{"tab": 9999}, "no tab 9999"},
		{"debugger_pause", map[string]any{"exceptions": "some"}, "none, uncaught or all"},
		{"debugger_evaluate", map[string]any{"expression": "1"}, "config.toml"},
	} {
		if text := a.Refused(c.tool, c.args); !strings.Contains(text, c.says) {
			t.Errorf("%s %v: %q does not say %q", c.tool, c.args, text, c.says)
		}
	}
}

func TestABreakpointInAFileOfTheProjectIsSetInItsBundle(t *testing.T) {
	w := e2etest.SharedWorld(t)
	for _, tool := range []string{"vite", "webpack", "esbuild"} {
		t.Run(tool, func(t *testing.T) {
			dir := e2etest.BundledProject(t)
			e2etest.Bundle(t, tool, "url", dir)
			s := e2etest.ServeBundle(t, dir, func(w http.ResponseWriter, r *http.Request) bool {
				text, err := os.ReadFile(filepath.Join(dir, "dist", r.URL.Path))
				if tool != "esbuild" || err != nil {
					return false
				}
				// No name, date or length tells versions apart: the debugger knows which code the page runs.
				w.Header().Set("Content-Type", "text/javascript")
				w.Header().Set("Cache-Control", "no-store")
				_, _ = w.Write(text)
				_ = http.NewResponseController(w).Flush()
				return true
			})
			a := w.NewAgent(t, "--origin", s.URL, "--tools", "observe,debug")
			p := w.Open(t, s.URL)
			b := a.Breakpoint(map[string]any{"url": "src/App.tsx", "line": 12})
			if b.State != "set" || len(b.Places) != 1 || !strings.HasPrefix(b.Places[0], "src/App.tsx:12:") || !strings.Contains(b.Places[0], " = /assets/app.js:") {
				t.Fatalf("%+v", b)
			}
			total := a.Breakpoint(map[string]any{"url": "cart/index.tsx", "line": 8})
			p.Start(`document.getElementById('break').click()`)
			at := a.Paused()
			if len(at.Breakpoints) != 1 || at.Breakpoints[0] != b.ID || !strings.HasPrefix(at.Stack[0].Source, "src/App.tsx:12:") {
				t.Errorf("%+v", at)
			}
			a.Debugger("debugger_resume", nil)
			// It survives a reload, and so early that code which runs while the page loads is held too.
			p.Start(`location.reload()`)
			at = a.Paused()
			if len(at.Breakpoints) != 1 || at.Breakpoints[0] != total.ID || !strings.HasPrefix(at.Stack[0].Source, "src/cart/index.tsx:8:") {
				t.Errorf("%+v", at)
			}
			a.Debugger("debugger_resume", nil)
		})
	}
}

func TestABreakpointWaitsForCodeThatIsNotLoaded(t *testing.T) {
	w := e2etest.SharedWorld(t)
	dir := e2etest.BundledProject(t)
	e2etest.Bundle(t, "esbuild", "url", dir)
	s := e2etest.ServeBundle(t, dir, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/" || r.URL.RawQuery != "later" {
			return false
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<!doctype html><title>later</title><link rel="icon" href="data:,">`)
		return true
	})
	a := w.NewAgent(t, "--origin", s.URL, "--tools", "observe,debug")
	p := w.Open(t, s.URL+"/?later")
	b := a.Breakpoint(map[string]any{"url": "src/cart/index.tsx", "line": 8})
	if b.State != "waiting" || !strings.Contains(b.Note, "src/cart/index.tsx") || len(b.Places) != 0 {
		t.Fatalf("%+v", b)
	}
	nowhere := a.Breakpoint(map[string]any{"url": "src/nowhere.ts", "line": 3})
	if nowhere.State != "waiting" {
		t.Errorf("%+v", nowhere)
	}
	p.JS(`const s = document.createElement('script'); s.type = 'module'; s.src = '/assets/app.js'; document.body.append(s)`)
	at := a.Paused()
	if len(at.Breakpoints) != 1 || at.Breakpoints[0] != b.ID || !strings.HasPrefix(at.Stack[0].Source, "src/cart/index.tsx:8:") {
		t.Errorf("%+v", at)
	}
	var list debugger.BreakpointList
	a.Call("breakpoint_list", nil, &list)
	if len(list.Breakpoints) != 2 || list.Breakpoints[0].State != "set" || list.Breakpoints[0].Hits != 1 || list.Breakpoints[1].State != "waiting" {
		t.Errorf("%+v", list)
	}
	a.Debugger("debugger_resume", nil)
}

func TestOutOfSightAPauseEndsByItself(t *testing.T) {
	e2etest.NeedBrowser(t)
	w := e2etest.ConfiguredWorld(t, "[debugger]\nrelease_seconds = 1\n")
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage, "/app.js": e2etest.DebugApp})
	a := w.Debugs(t, s)
	p := w.Open(t, s.URL)
	b := a.Breakpoint(map[string]any{"url": "app.js", "line": 6})
	p.Start(`document.getElementById('go').click()`)
	if at := a.Paused(); at.Breakpoints[0] != b.ID {
		t.Errorf("%+v", at)
	}
	p.WaitForTitle("6") // nobody resumed it
	if text := a.Refused("debugger_resume", nil); !strings.Contains(text, "Nothing is paused") || !strings.Contains(text, "no one resumed it within 1s") {
		t.Error(text)
	}
	if s := a.Debugger("debugger_state", nil); s.State != "running" || len(s.Notes) > 0 {
		t.Errorf("told twice, or not running: %+v", s)
	}
}

func TestEvaluatingIsAPersonsChoice(t *testing.T) {
	e2etest.NeedBrowser(t)
	w := e2etest.ConfiguredWorld(t, "[debugger]\nevaluate = true\n")
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage, "/app.js": e2etest.DebugApp})
	a := w.Debugs(t, s)
	p := w.Open(t, s.URL)
	a.Breakpoint(map[string]any{"url": "app.js", "line": 11})
	p.Start(`document.getElementById('go').click()`)
	a.Paused()
	for expression, want := range map[string]string{
		"count + step":                        "2",
		"[count, 'a', null]":                  `[0, "a", null]`,
		"({a: 1, b: {c: 2}})":                 "{a: 1, b: Object}",
		"password = 'password=hunter2hunter'": "",
		"nothing.at.all":                      "ReferenceError: nothing is not defined",
		"10n ** 20n":                          "100000000000000000000n",
		"-0":                                  "-0",
	} {
		var v debugger.DebuggerValue
		a.Call("debugger_evaluate", map[string]any{"expression": expression}, &v)
		if want != "" && !strings.HasPrefix(v.Value, want) || strings.Contains(v.Value, "hunter2") {
			t.Errorf("%s is %+v", expression, v)
		}
	}
	if text := a.Refused("debugger_evaluate", map[string]any{"expression": "1", "frame": 99}); !strings.Contains(text, "no frame 99") {
		t.Error(text)
	}
	a.Debugger("debugger_resume", nil)
}

func TestConditionsAndHitCounts(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage, "/app.js": e2etest.DebugApp})
	a := w.Debugs(t, s)
	p := w.Open(t, s.URL)
	click := `document.getElementById('go').click()`
	set := func(args map[string]any) string {
		args["url"], args["line"] = "app.js", 4
		return a.Breakpoint(args).ID
	}
	drop := func(id string) {
		a.Debugger("debugger_resume", nil)
		var list debugger.BreakpointList
		a.Call("breakpoint_remove", map[string]any{"id": id}, &list)
	}
	id := set(map[string]any{"condition": "item.price === 2 && sum === 1"})
	p.Start(click)
	a.Paused()
	drop(id)
	p.WaitForTitle("6")
	id = set(map[string]any{"hit_count": 3})
	p.Start("document.title = ''; " + click)
	a.Paused()
	var list debugger.BreakpointList
	a.Call("breakpoint_list", nil, &list)
	if len(list.Breakpoints) != 1 || list.Breakpoints[0].Hits != 3 {
		t.Errorf("%+v", list)
	}
	drop(id)
	p.WaitForTitle("6")
	// A condition that throws, or would change the page, does not pause, and is told of.
	for condition, says := range map[string]string{"item.price.of.nothing > 1": "TypeError", "(document.title = 'changed')": "side-effect"} {
		id = set(map[string]any{"condition": condition})
		p.Start("document.title = ''; " + click)
		p.WaitForTitle("6")
		s := a.Debugger("debugger_state", nil)
		if s.State != "running" || len(s.Notes) != 1 || !strings.Contains(s.Notes[0], says) || !strings.Contains(s.Notes[0], "3 hit(s)") {
			t.Errorf("%s: %+v", condition, s)
		}
		a.Call("breakpoint_remove", map[string]any{"id": id}, &list)
	}
}

func TestExceptionsPause(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage, "/app.js": `function fail(deep) { throw new RangeError('password=hunter2hunter ' + deep); }
const caught = () => { try { fail(1); } catch { document.title = 'caught'; } };
`})
	a := w.Debugs(t, s)
	p := w.Open(t, s.URL)
	a.Debugger("debugger_pause", map[string]any{"exceptions": "uncaught"})
	p.Start("caught()")
	p.WaitForTitle("caught")
	p.Start("fail(2)")
	at := a.Paused()
	if at.Reason != "exception" || !strings.HasPrefix(at.Exception, "RangeError: ") || strings.Contains(at.Exception, "hunter2") || at.Stack[0].Function != "fail" {
		t.Errorf("%+v", at)
	}
	a.Debugger("debugger_resume", nil)
	a.Debugger("debugger_pause", map[string]any{"exceptions": "all"})
	p.Start("caught()")
	if at := a.Paused(); at.Reason != "exception" {
		t.Errorf("%+v", at)
	}
	a.Debugger("debugger_pause", map[string]any{"exceptions": "none"})
	a.Debugger("debugger_resume", nil)
	p.Start("document.title = ''; caught()")
	p.WaitForTitle("caught")
}

func TestTwoAgentsKnowOfEachOther(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage, "/app.js": e2etest.DebugApp})
	a, b := w.Debugs(t, s), w.Debugs(t, s)
	p := w.Open(t, s.URL)
	id := a.Breakpoint(map[string]any{"url": "app.js", "line": 4}).ID
	if text := a.Refused("breakpoint_set", map[string]any{"url": "app.js", "line": 4}); !strings.Contains(text, id+" is already there") {
		t.Error(text)
	}
	// Another agent has one of its own there, with its own condition, and cannot take the other's away.
	own := b.Breakpoint(map[string]any{"url": "app.js", "line": 4, "condition": "item.price === 3"})
	if text := b.Refused("breakpoint_remove", map[string]any{"id": id}); !strings.Contains(text, "is a breakpoint of testbed") {
		t.Error(text)
	}
	b.Breakpoint(map[string]any{"url": "app.js", "line": 6})
	p.Start(`document.getElementById('go').click()`)
	if at := b.Paused(); !slices.Equal(at.Breakpoints, []string{id}) {
		t.Errorf("%+v", at)
	}
	if s := b.Debugger("debugger_state", nil); len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "Also debugged by testbed") {
		t.Errorf("%+v", s)
	}
	_ = a.Close() // and its breakpoint with it, and its pause
	pausedAt(b, own.ID)
	_ = b.Close() // and with the last agent, everything goes on
	p.WaitForTitle("6")
}

// TestWhatAKilledAgentPausedGoesOn: also while another agent debugs the same tab, whose own pauses stay.
func TestWhatAKilledAgentPausedGoesOn(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage, "/app.js": e2etest.DebugApp})
	b := w.Debugs(t, s)
	p := w.Open(t, s.URL)
	other := b.Breakpoint(map[string]any{"url": "app.js", "line": 11})
	for name, pause := range map[string]func(a *e2etest.Agent){
		"a breakpoint": func(a *e2etest.Agent) {
			a.Breakpoint(map[string]any{"url": "app.js", "line": 6})
			p.Start(`document.title = ''; total([{price: 1}, {price: 5}]); document.title = 'on'`)
		},
		"a request": func(a *e2etest.Agent) {
			p.JS(`setTimeout(() => { document.title = 'on' }, 1500)`) // what would begin now would pause itself
			a.Debugger("debugger_pause", nil)
		},
		"an exception": func(a *e2etest.Agent) {
			a.Debugger("debugger_pause", map[string]any{"exceptions": "all"})
			p.Start(`try { document.title = ''; throw new Error('caught') } catch {} document.title = 'on'`)
		},
		"a step": func(a *e2etest.Agent) {
			a.Breakpoint(map[string]any{"url": "app.js", "line": 6})
			p.Start(`document.title = ''; total([]); document.title = 'on'`)
			a.Paused()
			a.Debugger("debugger_step", map[string]any{"kind": "out"})
		},
	} {
		a := w.Debugs(t, s)
		p.JS("document.title = 'before'")
		pause(a)
		a.Paused()
		if err := a.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := testbed.Eventually(t.Context(), func() (bool, error) { return p.Text("document.title") == "on", nil }); err != nil {
			t.Fatalf("%s: the page does not go on: %v", name, err)
		}
	}
	if s := b.Debugger("debugger_state", nil); len(s.Notes) == 0 || !strings.Contains(strings.Join(s.Notes, " "), "the agent that paused it disconnected") {
		t.Errorf("%+v", s)
	}
	// A pause of both stays for the one that is there.
	a := w.Debugs(t, s)
	first := a.Breakpoint(map[string]any{"url": "app.js", "line": 11})
	p.Start(`document.title = ''; counter(); document.title = 'on'`)
	if at := b.Paused(); !slices.Contains(at.Breakpoints, first.ID) || !slices.Contains(at.Breakpoints, other.ID) {
		t.Errorf("%+v", at)
	}
	if err := a.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		list, err := b.Text("breakpoint_list", nil)
		return !strings.Contains(list, first.ID+`"`), err
	}); err != nil {
		t.Fatal(err)
	}
	if at := b.Paused(); !slices.Contains(at.Breakpoints, other.ID) {
		t.Errorf("%+v", at)
	}
	b.Debugger("debugger_resume", nil)
	p.WaitForTitle("on")
}

// pausedAt waits until the page stands at a breakpoint.
func pausedAt(a *e2etest.Agent, id string) {
	a.T.Helper()
	if err := testbed.Eventually(a.T.Context(), func() (bool, error) {
		at := a.Paused()
		return slices.Equal(at.Breakpoints, []string{id}), fmt.Errorf("%+v", at)
	}); err != nil {
		a.T.Fatal(err)
	}
}

// TestAClickThatABreakpointInterruptsSaysSo: its consequences are not known yet.
func TestAClickThatABreakpointInterruptsSaysSo(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage, "/app.js": e2etest.DebugApp})
	a := w.Debugs(t, s)
	w.Open(t, s.URL)
	a.Breakpoint(map[string]any{"url": "app.js", "line": 6})
	clicked := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, a.Look(), `"Go"`)})
	e2etest.Holds(t, clicked.Paused, "paused in the debugger at total (app.js:6) by testbed (breakpoint)", "debugger_resume")
	e2etest.Holds(t, clicked.String(), "The action is not finished: ")
	e2etest.Lacks(t, clicked.String(), "No problems", "Pending")
	e2etest.Holds(t, clicked.String(), "Variables: sum = 6; items = [{price: 1}, {price: 2}, {price: 3}]")
	if tokens := tokens.Estimate(strings.Join(clicked.Changed, "; ")); tokens > 150 {
		t.Errorf("%d tokens: %v", tokens, clicked.Changed)
	}
	a.Debugger("debugger_resume", nil)
	if done := a.Act("browser_wait_for", map[string]any{"settled": true}); done.Met != "The page is settled." || done.Paused != "" {
		t.Error(done)
	}
}

// TestALoadThatABreakpointInterruptsIsAnsweredAtThePause: its place is found by a source map, after the pause itself.
func TestALoadThatABreakpointInterruptsIsAnsweredAtThePause(t *testing.T) {
	dir := e2etest.BundledProject(t)
	if err := os.WriteFile(filepath.Join(dir, "src/index.tsx"), []byte("const shown: string = 'ready';\ndocument.title = shown;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e2etest.Bundle(t, "esbuild", "url", dir)
	s := e2etest.ServeBundle(t, dir, nil)
	w := e2etest.SharedWorld(t)
	a := w.NewAgent(t, "--origin", s.URL, "--tools", "observe,act,debug")
	p := w.Open(t, s.URL)
	p.WaitForTitle("ready")
	a.Breakpoint(map[string]any{"url": "src/index.tsx", "line": 2})
	began := time.Now()
	loaded := a.Act("browser_navigate", map[string]any{"url": "reload"})
	e2etest.Holds(t, loaded.Paused, "(index.tsx:2) by testbed (breakpoint)")
	e2etest.Holds(t, strings.Join(loaded.Changed, "; "), `shown = "ready"`)
	if took := time.Since(began); took > 12*time.Second { // a load is waited for 15 s
		t.Errorf("answered after %v", took)
	}
	a.Debugger("debugger_resume", nil)
	p.WaitForTitle("ready")
}

// TestAStepThatRanOutPausesNothingLater: the code that it was to stop in threw.
func TestAStepThatRanOutPausesNothingLater(t *testing.T) {
	w := e2etest.SharedWorld(t)
	a, p := w.OpenScript(t, "function parse(text) {\n  return text.trim();\n}\nfunction count(n) {\n  const next = n + 1;\n  return next;\n}\nfunction more() {\n  document.title = 'count ' + count(1);\n}\n")
	b := a.Breakpoint(map[string]any{"url": "app.js", "line": 2})
	p.Start(`setTimeout(() => parse(undefined), 0)`)
	a.Paused()
	out := a.Debugger("debugger_step", map[string]any{"kind": "out"})
	if out.State != "running" || !strings.Contains(strings.Join(out.Notes, " "), "The step ended") {
		t.Errorf("%+v", out)
	}
	var list debugger.BreakpointList
	a.Call("breakpoint_remove", map[string]any{"id": b.ID}, &list)
	args := map[string]any{"url": "app.js", "line": 5, "paths": []string{"n"}}
	a.Trace(args)
	p.Start(`setTimeout(more, 0)`)
	p.WaitForTitle("count 2")
	if got := a.Trace(args); got.Hits != 1 || got.Evolution["n"] != "1" {
		t.Errorf("%+v", got)
	}
}

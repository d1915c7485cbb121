package e2e

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
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// debugPage is a page whose script is /app.js, and the lines of that.
const debugPage = `<!doctype html><title>shop</title><link rel="icon" href="data:,"><button id="go">Go</button><script src="/app.js"></script>`

const debugApp = `function total(items) {
  let sum = 0;
  for (const item of items) {
    sum += item.price; // line 4
  }
  return sum;
}
const makeCounter = (step) => {
  let count = 0;
  return () => {
    count += step; // line 11
    return count;
  };
};
const counter = makeCounter(2);
document.getElementById('go').onclick = () => {
  document.title = String(total([{ price: 1 }, { price: 2 }, { price: 3 }]));
  counter();
};
`

// debugs is an agent that may debug, and hears of a site only.
func (w *world) debugs(t *testing.T, s *site) *agent {
	t.Helper()
	return w.agent(t, "--origin", s.URL, "--tools", "observe,act,debug")
}

// breakpoint sets a breakpoint.
func (a *agent) breakpoint(args map[string]any) debugger.BreakpointLine {
	a.t.Helper()
	var b debugger.BreakpointLine
	a.call("breakpoint_set", args, &b)
	return b
}

// debugger calls a tool that answers with the debugger's state.
func (a *agent) debugger(tool string, args map[string]any) debugger.DebuggerState {
	a.t.Helper()
	var s debugger.DebuggerState
	a.call(tool, args, &s)
	return s
}

// paused waits until something is paused, and is the first thread that is.
func (a *agent) paused() debugger.ThreadState {
	a.t.Helper()
	s := a.debugger("debugger_state", map[string]any{"wait_ms": 15000})
	for _, t := range s.Threads {
		if t.State == "paused" {
			return t
		}
	}
	a.t.Fatalf("nothing is paused: %+v", s)
	return debugger.ThreadState{}
}

// refused calls a tool that is to refuse, and is what it says.
func (a *agent) refused(tool string, args map[string]any) string {
	a.t.Helper()
	text, err := a.Text(tool, args)
	if err == nil {
		a.t.Fatalf("%s did not refuse: %s", tool, text)
	}
	return err.Error()
}

// start has the page run a script by itself: what pauses it must not hold up the test.
func (p *tab) start(script string) {
	p.t.Helper()
	p.js("setTimeout(() => {" + script + "\n}, 0)")
}

// title waits for the page's title: that it goes on.
func (p *tab) title(want string) {
	p.t.Helper()
	if err := testbed.Eventually(p.t.Context(), func() (bool, error) { return p.text("document.title") == want, nil }); err != nil {
		p.t.Fatalf("the title is %q, not %q: %v", p.text("document.title"), want, err)
	}
}

func TestABreakpointPausesThePageAndStepsGoThroughIt(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": debugPage, "/app.js": debugApp})
	a := w.debugs(t, s)
	p := w.open(t, s.URL)
	b := a.breakpoint(map[string]any{"url": "app.js", "line": 4})
	if b.State != "set" || len(b.Places) != 1 || !strings.Contains(b.Places[0], "/app.js:4:") {
		t.Fatalf("%+v", b)
	}
	p.start(`document.getElementById('go').click()`)
	at := a.paused()
	if at.Reason != "breakpoint" || len(at.Breakpoints) != 1 || at.Breakpoints[0] != b.ID || at.By != "" {
		t.Errorf("%+v", at)
	}
	if len(at.Stack) < 2 || at.Stack[0].Function != "total" || !strings.Contains(at.Stack[0].Source, "app.js:4:") || !strings.Contains(at.Stack[1].Source, "app.js:17:") {
		t.Fatalf("%+v", at.Stack)
	}
	stepped := a.debugger("debugger_step", map[string]any{"kind": "over"})
	if st := stepped.Threads[0]; st.State != "paused" || st.Reason != "step" || st.Stack[0].Source == at.Stack[0].Source {
		t.Errorf("%+v", stepped)
	}
	out := a.debugger("debugger_step", map[string]any{"kind": "out"})
	t.Logf("%+v", out.Threads[0])
	var list debugger.BreakpointList
	a.call("breakpoint_remove", map[string]any{"id": b.ID}, &list)
	if len(list.Breakpoints) != 0 {
		t.Errorf("%+v", list)
	}
	if s := a.debugger("debugger_resume", nil); s.State != "running" {
		t.Errorf("%+v", s)
	}
	p.title("6")
}

func TestTheDebuggerRefusesWhatIsNotThere(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": debugPage, "/app.js": debugApp})
	a := w.debugs(t, s)
	w.open(t, s.URL)
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
		if text := a.refused(c.tool, c.args); !strings.Contains(text, c.says) {
			t.Errorf("%s %v: %q does not say %q", c.tool, c.args, text, c.says)
		}
	}
}

func TestABreakpointInAFileOfTheProjectIsSetInItsBundle(t *testing.T) {
	w := shared.get(t)
	for _, tool := range []string{"vite", "webpack", "esbuild"} {
		t.Run(tool, func(t *testing.T) {
			dir := project(t)
			bundle(t, tool, "url", dir)
			s := serveBundle(t, dir, nil)
			a := w.agent(t, "--origin", s.URL, "--tools", "observe,debug")
			p := w.open(t, s.URL)
			b := a.breakpoint(map[string]any{"url": "src/App.tsx", "line": 12})
			if b.State != "set" || len(b.Places) != 1 || !strings.HasPrefix(b.Places[0], "src/App.tsx:12:") || !strings.Contains(b.Places[0], " = /assets/app.js:") {
				t.Fatalf("%+v", b)
			}
			total := a.breakpoint(map[string]any{"url": "cart/index.tsx", "line": 8})
			p.start(`document.getElementById('break').click()`)
			at := a.paused()
			if len(at.Breakpoints) != 1 || at.Breakpoints[0] != b.ID || !strings.HasPrefix(at.Stack[0].Source, "src/App.tsx:12:") {
				t.Errorf("%+v", at)
			}
			a.debugger("debugger_resume", nil)
			// It survives a reload, and so early that code which runs while the page loads is held too.
			p.start(`location.reload()`)
			at = a.paused()
			if len(at.Breakpoints) != 1 || at.Breakpoints[0] != total.ID || !strings.HasPrefix(at.Stack[0].Source, "src/cart/index.tsx:8:") {
				t.Errorf("%+v", at)
			}
			a.debugger("debugger_resume", nil)
		})
	}
}

func TestABreakpointWaitsForCodeThatIsNotLoaded(t *testing.T) {
	w := shared.get(t)
	dir := project(t)
	bundle(t, "esbuild", "url", dir)
	s := serveBundle(t, dir, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/" || r.URL.RawQuery != "later" {
			return false
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<!doctype html><title>later</title><link rel="icon" href="data:,">`)
		return true
	})
	a := w.agent(t, "--origin", s.URL, "--tools", "observe,debug")
	p := w.open(t, s.URL+"/?later")
	b := a.breakpoint(map[string]any{"url": "src/cart/index.tsx", "line": 8})
	if b.State != "waiting" || !strings.Contains(b.Note, "src/cart/index.tsx") || len(b.Places) != 0 {
		t.Fatalf("%+v", b)
	}
	nowhere := a.breakpoint(map[string]any{"url": "src/nowhere.ts", "line": 3})
	if nowhere.State != "waiting" {
		t.Errorf("%+v", nowhere)
	}
	p.js(`const s = document.createElement('script'); s.type = 'module'; s.src = '/assets/app.js'; document.body.append(s)`)
	at := a.paused()
	if len(at.Breakpoints) != 1 || at.Breakpoints[0] != b.ID || !strings.HasPrefix(at.Stack[0].Source, "src/cart/index.tsx:8:") {
		t.Errorf("%+v", at)
	}
	var list debugger.BreakpointList
	a.call("breakpoint_list", nil, &list)
	if len(list.Breakpoints) != 2 || list.Breakpoints[0].State != "set" || list.Breakpoints[0].Hits != 1 || list.Breakpoints[1].State != "waiting" {
		t.Errorf("%+v", list)
	}
	a.debugger("debugger_resume", nil)
}

func TestLookingAtAPausedPageAnswersAndSaysSo(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": debugPage, "/app.js": debugApp})
	a := w.debugs(t, s)
	p := w.open(t, s.URL)
	a.changes()
	a.look()
	a.breakpoint(map[string]any{"url": "app.js", "line": 4})
	p.start(`console.error('before'); document.getElementById('go').click()`)
	a.paused()
	for _, args := range []map[string]any{{"wait": "settled"}, {"wait": "reload"}, {}} {
		began := time.Now()
		r := a.changesWith(args)
		if r.Coverage == nil || !strings.Contains(r.Coverage.Note, "paused in the debugger at total (app.js:4) by testbed (breakpoint)") {
			t.Errorf("%v: %s", args, show(r))
		}
		if args["wait"] == "settled" && (r.Settled == nil || *r.Settled || w.Way != "quiet" && len(r.Console.NewErrors) != 1) {
			t.Errorf("%v: %s", args, show(r))
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("%v took %s", args, took)
		}
	}
	a.cannot("browser_snapshot", nil, usererr.PagePaused, "paused in the debugger at total (app.js:4)")
	a.cannot("browser_click", map[string]any{"ref": "e1"}, usererr.PagePaused, "paused in the debugger at total (app.js:4)")
	a.debugger("debugger_resume", nil) // of three hits
	a.debugger("debugger_resume", map[string]any{"wait_ms": 5000})
	a.debugger("debugger_resume", nil)
	holds(t, a.look(), `button "Go"`)
	// What a quietly captured page had not handed over when it was paused, it does now.
	if r := a.changes(); r.Coverage != nil && strings.Contains(r.Coverage.Note, "paused") || w.Way == "quiet" && len(r.Console.NewErrors) != 1 {
		t.Error(show(r))
	}
}

func TestOutOfSightAPauseEndsByItself(t *testing.T) {
	needBrowser(t)
	w := startWith(t, "[debugger]\nrelease_seconds = 1\n")
	s := newSite(t, map[string]string{"/{$}": debugPage, "/app.js": debugApp})
	a := w.debugs(t, s)
	p := w.open(t, s.URL)
	b := a.breakpoint(map[string]any{"url": "app.js", "line": 6})
	p.start(`document.getElementById('go').click()`)
	if at := a.paused(); at.Breakpoints[0] != b.ID {
		t.Errorf("%+v", at)
	}
	p.title("6") // nobody resumed it
	if text := a.refused("debugger_resume", nil); !strings.Contains(text, "Nothing is paused") || !strings.Contains(text, "no one resumed it within 1s") {
		t.Error(text)
	}
	if s := a.debugger("debugger_state", nil); s.State != "running" || len(s.Notes) > 0 {
		t.Errorf("told twice, or not running: %+v", s)
	}
}

// startWith is a separate world with settings.
func startWith(t *testing.T, config string) *world {
	t.Helper()
	w := emptyWorld(t)
	if err := os.WriteFile(filepath.Join(w.Home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.Launch(); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestEvaluatingIsAPersonsChoice(t *testing.T) {
	needBrowser(t)
	w := startWith(t, "[debugger]\nevaluate = true\n")
	s := newSite(t, map[string]string{"/{$}": debugPage, "/app.js": debugApp})
	a := w.debugs(t, s)
	p := w.open(t, s.URL)
	a.breakpoint(map[string]any{"url": "app.js", "line": 11})
	p.start(`document.getElementById('go').click()`)
	a.paused()
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
		a.call("debugger_evaluate", map[string]any{"expression": expression}, &v)
		if want != "" && !strings.HasPrefix(v.Value, want) || strings.Contains(v.Value, "hunter2") {
			t.Errorf("%s is %+v", expression, v)
		}
	}
	if text := a.refused("debugger_evaluate", map[string]any{"expression": "1", "frame": 99}); !strings.Contains(text, "no frame 99") {
		t.Error(text)
	}
	a.debugger("debugger_resume", nil)
}

func TestConditionsAndHitCounts(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": debugPage, "/app.js": debugApp})
	a := w.debugs(t, s)
	p := w.open(t, s.URL)
	click := `document.getElementById('go').click()`
	set := func(args map[string]any) string {
		args["url"], args["line"] = "app.js", 4
		return a.breakpoint(args).ID
	}
	drop := func(id string) {
		a.debugger("debugger_resume", nil)
		var list debugger.BreakpointList
		a.call("breakpoint_remove", map[string]any{"id": id}, &list)
	}
	id := set(map[string]any{"condition": "item.price === 2 && sum === 1"})
	p.start(click)
	a.paused()
	drop(id)
	p.title("6")
	id = set(map[string]any{"hit_count": 3})
	p.start("document.title = ''; " + click)
	a.paused()
	var list debugger.BreakpointList
	a.call("breakpoint_list", nil, &list)
	if len(list.Breakpoints) != 1 || list.Breakpoints[0].Hits != 3 {
		t.Errorf("%+v", list)
	}
	drop(id)
	p.title("6")
	// A condition that throws, or would change the page, does not pause, and is told of.
	for condition, says := range map[string]string{"item.price.of.nothing > 1": "TypeError", "(document.title = 'changed')": "side-effect"} {
		id = set(map[string]any{"condition": condition})
		p.start("document.title = ''; " + click)
		p.title("6")
		s := a.debugger("debugger_state", nil)
		if s.State != "running" || len(s.Notes) != 1 || !strings.Contains(s.Notes[0], says) || !strings.Contains(s.Notes[0], "3 hit(s)") {
			t.Errorf("%s: %+v", condition, s)
		}
		a.call("breakpoint_remove", map[string]any{"id": id}, &list)
	}
}

func TestExceptionsPause(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": debugPage, "/app.js": `function fail(deep) { throw new RangeError('password=hunter2hunter ' + deep); }
const caught = () => { try { fail(1); } catch { document.title = 'caught'; } };
`})
	a := w.debugs(t, s)
	p := w.open(t, s.URL)
	a.debugger("debugger_pause", map[string]any{"exceptions": "uncaught"})
	p.start("caught()")
	p.title("caught")
	p.start("fail(2)")
	at := a.paused()
	if at.Reason != "exception" || !strings.HasPrefix(at.Exception, "RangeError: ") || strings.Contains(at.Exception, "hunter2") || at.Stack[0].Function != "fail" {
		t.Errorf("%+v", at)
	}
	a.debugger("debugger_resume", nil)
	a.debugger("debugger_pause", map[string]any{"exceptions": "all"})
	p.start("caught()")
	if at := a.paused(); at.Reason != "exception" {
		t.Errorf("%+v", at)
	}
	a.debugger("debugger_pause", map[string]any{"exceptions": "none"})
	a.debugger("debugger_resume", nil)
	p.start("document.title = ''; caught()")
	p.title("caught")
}

func TestTwoAgentsKnowOfEachOther(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": debugPage, "/app.js": debugApp})
	a, b := w.debugs(t, s), w.debugs(t, s)
	p := w.open(t, s.URL)
	id := a.breakpoint(map[string]any{"url": "app.js", "line": 4}).ID
	if text := a.refused("breakpoint_set", map[string]any{"url": "app.js", "line": 4}); !strings.Contains(text, id+" is already there") {
		t.Error(text)
	}
	// Another agent has one of its own there, with its own condition, and cannot take the other's away.
	own := b.breakpoint(map[string]any{"url": "app.js", "line": 4, "condition": "item.price === 3"})
	if text := b.refused("breakpoint_remove", map[string]any{"id": id}); !strings.Contains(text, "is a breakpoint of testbed") {
		t.Error(text)
	}
	b.breakpoint(map[string]any{"url": "app.js", "line": 6})
	p.start(`document.getElementById('go').click()`)
	if at := b.paused(); !slices.Equal(at.Breakpoints, []string{id}) {
		t.Errorf("%+v", at)
	}
	if s := b.debugger("debugger_state", nil); len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "Also debugged by testbed") {
		t.Errorf("%+v", s)
	}
	_ = a.Close() // and its breakpoint with it, and its pause
	b.pausedAt(own.ID)
	_ = b.Close() // and with the last agent, everything goes on
	p.title("6")
}

// TestWhatAKilledAgentPausedGoesOn: also while another agent debugs the same tab, whose own pauses stay.
func TestWhatAKilledAgentPausedGoesOn(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": debugPage, "/app.js": debugApp})
	b := w.debugs(t, s)
	p := w.open(t, s.URL)
	other := b.breakpoint(map[string]any{"url": "app.js", "line": 11})
	for name, pause := range map[string]func(a *agent){
		"a breakpoint": func(a *agent) {
			a.breakpoint(map[string]any{"url": "app.js", "line": 6})
			p.start(`document.title = ''; total([{price: 1}, {price: 5}]); document.title = 'on'`)
		},
		"a request": func(a *agent) {
			p.js(`setTimeout(() => { document.title = 'on' }, 1500)`) // what would begin now would pause itself
			a.debugger("debugger_pause", nil)
		},
		"an exception": func(a *agent) {
			a.debugger("debugger_pause", map[string]any{"exceptions": "all"})
			p.start(`try { document.title = ''; throw new Error('caught') } catch {} document.title = 'on'`)
		},
		"a step": func(a *agent) {
			a.breakpoint(map[string]any{"url": "app.js", "line": 6})
			p.start(`document.title = ''; total([]); document.title = 'on'`)
			a.paused()
			a.debugger("debugger_step", map[string]any{"kind": "out"})
		},
	} {
		a := w.debugs(t, s)
		p.js("document.title = 'before'")
		pause(a)
		a.paused()
		if err := a.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := testbed.Eventually(t.Context(), func() (bool, error) { return p.text("document.title") == "on", nil }); err != nil {
			t.Fatalf("%s: the page does not go on: %v", name, err)
		}
	}
	if s := b.debugger("debugger_state", nil); len(s.Notes) == 0 || !strings.Contains(strings.Join(s.Notes, " "), "the agent that paused it disconnected") {
		t.Errorf("%+v", s)
	}
	// A pause of both stays for the one that is there.
	a := w.debugs(t, s)
	first := a.breakpoint(map[string]any{"url": "app.js", "line": 11})
	p.start(`document.title = ''; counter(); document.title = 'on'`)
	if at := b.paused(); !slices.Contains(at.Breakpoints, first.ID) || !slices.Contains(at.Breakpoints, other.ID) {
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
	if at := b.paused(); !slices.Contains(at.Breakpoints, other.ID) {
		t.Errorf("%+v", at)
	}
	b.debugger("debugger_resume", nil)
	p.title("on")
}

// pausedAt waits until the page stands at a breakpoint.
func (a *agent) pausedAt(id string) {
	a.t.Helper()
	if err := testbed.Eventually(a.t.Context(), func() (bool, error) {
		at := a.paused()
		return slices.Equal(at.Breakpoints, []string{id}), fmt.Errorf("%+v", at)
	}); err != nil {
		a.t.Fatal(err)
	}
}

// TestAClickThatABreakpointInterruptsSaysSo: its consequences are not known yet.
func TestAClickThatABreakpointInterruptsSaysSo(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": debugPage, "/app.js": debugApp})
	a := w.debugs(t, s)
	w.open(t, s.URL)
	a.breakpoint(map[string]any{"url": "app.js", "line": 6})
	clicked := a.act("browser_click", map[string]any{"ref": refOf(t, a.look(), `"Go"`)})
	holds(t, clicked.Paused, "paused in the debugger at total (app.js:6) by testbed (breakpoint)", "debugger_resume")
	holds(t, clicked.String(), "The action is not finished: ")
	lacks(t, clicked.String(), "No problems", "Pending")
	a.debugger("debugger_resume", nil)
	if done := a.act("browser_wait_for", map[string]any{"settled": true}); done.Met != "The page is settled." || done.Paused != "" {
		t.Error(done)
	}
}

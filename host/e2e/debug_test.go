package e2e

import (
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/engine"
	"tidemark.dev/tidemark/host/internal/testbed"
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
func (a *agent) breakpoint(args map[string]any) engine.BreakpointLine {
	a.t.Helper()
	var b engine.BreakpointLine
	a.call("breakpoint_set", args, &b)
	return b
}

// debugger calls a tool that answers with the debugger's state.
func (a *agent) debugger(tool string, args map[string]any) engine.DebuggerState {
	a.t.Helper()
	var s engine.DebuggerState
	a.call(tool, args, &s)
	return s
}

// paused waits until something is paused, and is the first thread that is.
func (a *agent) paused() engine.ThreadState {
	a.t.Helper()
	s := a.debugger("debugger_state", map[string]any{"wait_ms": 15000})
	for _, t := range s.Threads {
		if t.State == "paused" {
			return t
		}
	}
	a.t.Fatalf("nothing is paused: %+v", s)
	return engine.ThreadState{}
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
	var list engine.BreakpointList
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
		{"breakpoint_set", map[string]any{"url": "app.js", "line": 0}, "lines count from 1"},
		{"breakpoint_set", map[string]any{"url": "app.js", "line": 4, "condition": "sum ==="}, "condition cannot be read"},
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

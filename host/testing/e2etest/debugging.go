package e2etest

import (
	"testing"

	"tidemark.dev/tidemark/host/internal/debugger"
)

// DebugPage is a page whose script is /app.js, such as [DebugApp].
const DebugPage = `<!doctype html><title>shop</title><link rel="icon" href="data:,"><button id="go">Go</button><script src="/app.js"></script>`

// DebugApp is a script with two lines to set breakpoints in.
const DebugApp = `function total(items) {
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

// Debugs connects an agent that may debug and sees a site only.
func (w *World) Debugs(t *testing.T, s *Site) *Agent {
	t.Helper()
	return w.NewAgent(t, "--origin", s.URL, "--tools", "observe,act,debug")
}

// Breakpoint sets a breakpoint.
func (a *Agent) Breakpoint(args map[string]any) debugger.BreakpointLine {
	a.T.Helper()
	var b debugger.BreakpointLine
	a.Call("breakpoint_set", args, &b)
	return b
}

// Debugger calls a tool that returns the debugger's state.
func (a *Agent) Debugger(tool string, args map[string]any) debugger.DebuggerState {
	a.T.Helper()
	var s debugger.DebuggerState
	a.Call(tool, args, &s)
	return s
}

// Paused waits for a pause and returns the first paused thread.
func (a *Agent) Paused() debugger.ThreadState {
	a.T.Helper()
	s := a.Debugger("debugger_state", map[string]any{"wait_ms": 15000})
	for _, t := range s.Threads {
		if t.State == "paused" {
			return t
		}
	}
	a.T.Fatalf("nothing is paused: %+v", s)
	return debugger.ThreadState{}
}

// TakeVariables takes a snapshot of variables.
func (a *Agent) TakeVariables(args map[string]any) debugger.VariableSnapshot {
	a.T.Helper()
	var s debugger.VariableSnapshot
	a.Call("snapshot_create", args, &s)
	return s
}

// VariableSnapshots lists the snapshots of variables.
func (a *Agent) VariableSnapshots() []debugger.VariableSnapshotLine {
	a.T.Helper()
	var l debugger.VariableSnapshotList
	a.Call("snapshot_list", nil, &l)
	return l.Snapshots
}

// Resume resumes and waits for the next pause.
func (a *Agent) Resume() {
	a.T.Helper()
	a.Debugger("debugger_resume", map[string]any{"wait_ms": 15000})
}

// Variables reads the variables of a paused thread.
func (a *Agent) Variables(args map[string]any) debugger.Variables {
	a.T.Helper()
	var v debugger.Variables
	a.Call("variables_get", args, &v)
	return v
}

// OpenScript opens a [DebugPage] with a script. The agent may debug it.
func (w *World) OpenScript(t *testing.T, code string) (*Agent, *Tab) {
	t.Helper()
	s := NewSite(t, map[string]string{"/{$}": DebugPage, "/app.js": code})
	return w.Debugs(t, s), w.Open(t, s.URL)
}

// Stop runs a script in the page up to its `debugger` statement.
func (a *Agent) Stop(p *Tab, script string) debugger.ThreadState {
	a.T.Helper()
	a.Debugger("debugger_pause", map[string]any{"exceptions": "none"})
	p.Start(script)
	return a.Paused()
}

// Retrying is a script with a loop that pauses in every round.
const Retrying = `class Job {
  #secret = 7;
  constructor(name) { this.name = name; }
  run(order, { tries, wait: [least] = [5] } = { tries: 3 }, ...rest) {
    let retryCount = 0;
    let result;
    while (retryCount < 4) {
      const step = 'step ' + retryCount;
      debugger;
      retryCount++;
      order.Customer.Name = ['Ada', 'Grace', 'Alan', 'Edsger'][retryCount - 1];
      if (retryCount > 2) result = 'ok';
    }
    document.title = 'done';
  }
}
function go() { new Job('import').run({ Total: 3, Customer: { Name: 'nobody', City: 'Warsaw' } }, { tries: 3 }, 8, 9); }
`

// Polling is a script with a function to trace.
const Polling = `let ticks = 0;
function poll(retryCount, job) {
  const status = retryCount < 2 ? 'busy' : 'free';
  ticks++; // line 4
  return status + job.left;
}
function all(n) { for (let i = 0; i < n; i++) poll(i, { left: n - i, get trap() { document.title = 'trapped'; return 1; } }); document.title = 'ticks ' + ticks; }
`

// Trace calls snapshot_trace.
func (a *Agent) Trace(args map[string]any) debugger.Trace {
	a.T.Helper()
	var tr debugger.Trace
	a.Call("snapshot_trace", args, &tr)
	return tr
}

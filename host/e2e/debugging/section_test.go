package debugging

import (
	"fmt"
	"testing"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestWhatTheDebuggerSawIsInTheReport: another agent of the same page hears of pauses, hits and snapshots, by default
// only when there were any.
func TestWhatTheDebuggerSawIsInTheReport(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage, "/app.js": e2etest.DebugApp})
	a, other := w.Debugs(t, s), w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	if r := other.Changes(); r.Variables != nil {
		t.Errorf("nothing was debugged: %s", e2etest.Show(r))
	}
	other.Do("checkpoint_create", map[string]any{"name": "before_debugging"})
	b := a.Breakpoint(map[string]any{"url": "app.js", "line": 4})
	p.Start(`document.getElementById('go').click()`)
	a.Paused()
	snapshot := a.TakeVariables(map[string]any{"label": "at the breakpoint"})
	now := until(t, other, func(d *report.VariablesDiff) bool { return len(d.Pauses) == 1 && len(d.Snapshots) == 1 })
	if at := now.Pauses[0]; !at.Paused || at.Reason != "breakpoint" || at.By == "" || at.Place == "" {
		t.Errorf("%+v", at)
	}
	if made := now.Snapshots[0]; made.ID != snapshot.ID || made.Label != "at the breakpoint" {
		t.Errorf("%+v, made %+v", made, snapshot)
	}
	a.Do("breakpoint_remove", map[string]any{"id": b.ID})
	a.Debugger("debugger_resume", nil)
	p.WaitForTitle("6")
	if later := until(t, other, func(d *report.VariablesDiff) bool { return !d.Pauses[0].Paused }); later.TotalNewEvents != 3 {
		t.Errorf("%+v", later)
	}
	trace := map[string]any{"url": "app.js", "line": 4, "paths": []string{"sum"}}
	a.Trace(trace)
	p.Start(`document.getElementById('go').click()`)
	traced := until(t, other, func(d *report.VariablesDiff) bool {
		a.Trace(trace) // which reads the hits so far
		return len(d.Hits) == 1 && d.Hits[0].Count > 1
	})
	if hits := traced.Hits[0]; hits.Last["sum"] == "" || hits.Place != "app.js:4" {
		t.Errorf("%+v", hits)
	}
}

// until looks at what is new since the checkpoint until the section is as it should be.
func until(t *testing.T, a *e2etest.Agent, done func(*report.VariablesDiff) bool) (d *report.VariablesDiff) {
	t.Helper()
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		r := a.ChangesWith(map[string]any{"checkpoint": "before_debugging", "include": []string{"variables"}})
		d = r.Variables
		return d.TotalNewEvents > 0 && done(d), fmt.Errorf("%s", e2etest.Show(r))
	}); err != nil {
		t.Fatal(err)
	}
	return d
}

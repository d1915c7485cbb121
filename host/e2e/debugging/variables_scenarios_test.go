package debugging

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/debugger"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// scenarios is a page that comes by the places that the specification of snapshots speaks of, one after the other.
const scenarios = `class Job {
  constructor() { this.kind = 'import'; }
  run(order, retryCount) {
    let tempBuffer = 'x';
    { let early = 1; debugger; early++; }
    retryCount++;
    order.Customer.Name = 'Grace';
    tempBuffer = [1, 2, 3];
    { let result = 'ok'; debugger; result += retryCount; }
    document.title = 'ran' + tempBuffer;
  }
}
function empty() { debugger; document.title = 'empty'; }
function go() { new Job().run({ Total: 3, Customer: { Name: 'Ada', City: 'Warsaw' } }, 2); }
`

// TestTheScenariosOfSnapshots are the acceptance scenarios and edge cases of the specification, by their names.
func TestTheScenariosOfSnapshots(t *testing.T) {
	w := e2etest.SharedWorld(t)
	a, p := w.OpenScript(t, scenarios)
	var gone debugger.VariableSnapshotsRemoved

	t.Run("US3.4 given no snapshots exist, the list is empty", func(t *testing.T) {
		if all := a.VariableSnapshots(); len(all) != 0 {
			t.Errorf("%+v", all)
		}
	})
	t.Run("US1.3 given the debugger is running, creating is an error that says so", func(t *testing.T) {
		if text := a.Refused("snapshot_create", nil); !strings.Contains(text, "running") || !strings.Contains(text, "paused") {
			t.Error(text)
		}
	})
	a.Stop(p, "go()")
	var first, second, third, fourth debugger.VariableSnapshot
	t.Run("US1.1 with a label: id, label, time, thread, frame and count", func(t *testing.T) {
		first = a.TakeVariables(map[string]any{"label": "before-fix", "depth": 2})
		if !regexp.MustCompile(`^snap-[0-9a-f-]{36}$`).MatchString(first.ID) || first.Label != "before-fix" || time.Since(first.At.Time) > time.Minute ||
			first.Thread != 1 || first.Frame != 0 || first.Function != "run" || first.Count != 5 {
			t.Errorf("%+v", first)
		}
		has(t, first.Variables, map[string]string{"local tempBuffer": `"x"`, "argument retryCount": "2", "block early": "1"})
		if first.Variables["this"]["this"] == "" {
			t.Errorf("%+v", first.Variables)
		}
	})
	t.Run("US1.2 without a label: one is made", func(t *testing.T) {
		if second = a.TakeVariables(map[string]any{"depth": 2}); second.Label != "snapshot-2" {
			t.Errorf("%+v", second)
		}
	})
	t.Run("US2.4 given two identical snapshots, there are no changes and empty lists", func(t *testing.T) {
		d := differ(a, first.ID, second.ID)
		if d.Summary != "no changes" || d.Added == nil || len(d.Added)+len(d.Removed)+len(d.Modified) != 0 {
			t.Errorf("%+v", d)
		}
	})
	a.Resume()
	third = a.TakeVariables(map[string]any{"depth": 2})
	t.Run("US1.4 given 3 snapshots, the 4th has an id of its own and the next number", func(t *testing.T) {
		fourth = a.TakeVariables(nil)
		if fourth.Label != "snapshot-4" || slices.Contains([]string{first.ID, second.ID, third.ID}, fourth.ID) {
			t.Errorf("%+v", fourth)
		}
	})
	d := differ(a, first.ID, third.ID)
	t.Run("US2.1 retryCount that changed from 2 to 3 is modified, with the old and the new value", func(t *testing.T) {
		if !slices.Contains(d.Modified, debugger.VariableChange{Name: "retryCount", Scope: "argument", Type: "number", Old: "2", New: "3"}) {
			t.Errorf("%+v", d)
		}
	})
	t.Run("US2.2 a variable that appeared is added, with its value", func(t *testing.T) {
		if !slices.Contains(d.Added, debugger.VariableEntry{Name: "result", Scope: "block", Type: "string", Value: `"ok"`}) {
			t.Errorf("%+v", d)
		}
	})
	t.Run("US2.3 a variable of another scope that is gone is removed", func(t *testing.T) {
		if !slices.ContainsFunc(d.Removed, func(e debugger.VariableEntry) bool { return e.Name == "early" }) {
			t.Errorf("%+v", d)
		}
	})
	t.Run("edge: a type that changes is removed and added", func(t *testing.T) {
		if !slices.Contains(d.Removed, debugger.VariableEntry{Name: "tempBuffer", Scope: "local", Type: "string", Value: `"x"`}) ||
			!slices.Contains(d.Added, debugger.VariableEntry{Name: "tempBuffer", Scope: "local", Type: "Array", Value: "[1, 2, 3]"}) {
			t.Errorf("%+v", d)
		}
	})
	t.Run("US2.5 an invalid id is named", func(t *testing.T) {
		for _, args := range []map[string]any{{"from": first.ID, "to": "snap-nothing"}, {"from": "snap-nothing", "to": first.ID}} {
			if text := a.Refused("snapshot_diff", args); !strings.Contains(text, `"snap-nothing"`) || strings.Contains(text, `"`+first.ID+`"`) {
				t.Error(text)
			}
		}
	})
	t.Run("US4.1 depth 2 captures fields of fields", func(t *testing.T) {
		v := a.Variables(map[string]any{"path": "order", "depth": 2}).Variables["argument"]
		if v["order.Total"] != "3" || v["order.Customer"] == "" || v["order.Customer.Name"] != `"Grace"` {
			t.Errorf("%v", v)
		}
	})
	t.Run("US4.2 a field of a field that changed is modified", func(t *testing.T) {
		if !slices.Contains(d.Modified, debugger.VariableChange{Name: "order.Customer.Name", Scope: "argument", Type: "string", Old: `"Ada"`, New: `"Grace"`}) {
			t.Errorf("%+v", d)
		}
	})
	t.Run("US4.3 depth 0, the default, captures only what is at the top, collections with type and count", func(t *testing.T) {
		v := a.Variables(nil).Variables
		if v["argument"]["order"] != "{Total: 3, Customer: Object}" || v["argument"]["order.Total"] != "" || v["local"]["tempBuffer"] != "[1, 2, 3]" {
			t.Errorf("%v", v)
		}
	})
	t.Run("US3.1 the list has id, label, time, thread, function and count", func(t *testing.T) {
		all := a.VariableSnapshots()
		if len(all) != 4 {
			t.Fatalf("%+v", all)
		}
		for i, s := range []debugger.VariableSnapshot{first, second, third, fourth} {
			if got := all[i]; got.ID != s.ID || got.Label != s.Label || !got.At.Equal(s.At.Time) || got.Thread != 1 || got.Function != "run" || got.Count != 5 {
				t.Errorf("%+v", got)
			}
		}
	})
	t.Run("US3.2 one that is deleted is neither listed nor compared", func(t *testing.T) {
		a.Call("snapshot_delete", map[string]any{"id": second.ID}, &gone)
		if gone.Removed != 1 || gone.Left != 3 || len(a.VariableSnapshots()) != 3 {
			t.Errorf("%+v", gone)
		}
		if text := a.Refused("snapshot_diff", map[string]any{"from": first.ID, "to": second.ID}); !strings.Contains(text, second.ID) {
			t.Error(text)
		}
		if text := a.Refused("snapshot_delete", map[string]any{"id": second.ID}); !strings.Contains(text, second.ID) {
			t.Error(text)
		}
	})
	a.Debugger("debugger_resume", nil)
	p.WaitForTitle("ran1,2,3")
	t.Run("FR-010 comparing, listing and deleting work while the page runs", func(t *testing.T) {
		if d := differ(a, first.ID, third.ID); len(d.Modified) == 0 || len(a.VariableSnapshots()) != 3 {
			t.Errorf("%+v", d)
		}
	})
	t.Run("edge: a frame without variables gives a snapshot of none", func(t *testing.T) {
		a.Stop(p, "empty()")
		if s := a.TakeVariables(nil); s.Count != 0 || s.Function != "empty" {
			t.Errorf("%+v", s)
		}
		a.Debugger("debugger_resume", nil)
	})
	t.Run("US3.3 all are removed", func(t *testing.T) {
		a.Call("snapshot_clear", nil, &gone)
		if gone.Removed != 4 || gone.Left != 0 || len(a.VariableSnapshots()) != 0 {
			t.Errorf("%+v", gone)
		}
	})
	t.Run("edge: snapshots are gone with their session", func(t *testing.T) {
		a.Stop(p, "empty()")
		a.TakeVariables(nil)
		p.Close()
		if err := testbed.Eventually(t.Context(), func() (bool, error) { return len(a.VariableSnapshots()) == 0, nil }); err != nil {
			t.Error(err)
		}
	})
}

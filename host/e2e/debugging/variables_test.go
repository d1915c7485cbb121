package debugging

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/debugger"
	"tidemark.dev/tidemark/host/testing/e2etest"
)

// differ compares two snapshots.
func differ(a *e2etest.Agent, from, to string) debugger.VariableDiff {
	a.T.Helper()
	var d debugger.VariableDiff
	a.Call("snapshot_diff", map[string]any{"from": from, "to": to}, &d)
	return d
}

// has fails unless each variable, as "scope name", is the value.
func has(t *testing.T, got map[string]map[string]string, want map[string]string) {
	t.Helper()
	for name, value := range want {
		scope, path, _ := strings.Cut(name, " ")
		if v, ok := got[scope][path]; !ok || v != value {
			t.Errorf("%s is %q (there: %v), not %q", name, v, ok, value)
		}
	}
	if t.Failed() {
		t.Logf("%v", got)
	}
}

func TestASnapshotIsTakenAtABreakpointAndComparedWithTheNext(t *testing.T) {
	w := e2etest.SharedWorld(t)
	a, p := w.OpenScript(t, e2etest.Retrying)
	at := a.Stop(p, "go()")
	if at.Stack[0].Function != "run" {
		t.Fatalf("%+v", at.Stack)
	}
	first := a.TakeVariables(map[string]any{"label": "before-fix"})
	t.Logf("%+v", first)
	if !regexp.MustCompile(`^snap-[0-9a-f]{8}-[0-9a-f-]{27}$`).MatchString(first.ID) || first.Label != "before-fix" || first.At.IsZero() || first.Thread != 1 || first.Frame != 0 || first.Function != "run" || first.Count != 8 {
		t.Errorf("%+v", first)
	}
	has(t, first.Variables, map[string]string{
		"local retryCount": "0", "local result": "undefined", "argument order": `{Total: 3, Customer: Object}`, "argument tries": "3", "argument least": "5",
		"argument rest": "[8, 9]", "this this": `Job {#secret: [masked], name: "import"}`, "block step": `"step 0"`,
	})
	if v := a.Variables(map[string]any{"path": "order.Customer", "depth": 1}); v.Variables["argument"]["order.Customer.City"] != `"Warsaw"` {
		t.Errorf("%+v", v)
	}
	a.Resume()
	second := a.TakeVariables(map[string]any{"label": "after-fix", "depth": 2})
	if second.Since != "before-fix" || !slices.Contains(second.Changed, "retryCount: 0 → 1") || !slices.Contains(second.Changed, `step: "step 0" → "step 1"`) {
		t.Errorf("%+v", second)
	}
	a.Resume()
	third := a.TakeVariables(map[string]any{"depth": 2})
	if third.Label != "snapshot-3" {
		t.Errorf("%+v", third)
	}
	d := differ(a, "before-fix", "after-fix")
	if len(d.Added)+len(d.Removed) != 0 || !slices.Contains(d.Modified, debugger.VariableChange{Name: "retryCount", Scope: "local", Type: "number", Old: "0", New: "1"}) {
		t.Errorf("%+v", d)
	}
	d = differ(a, second.ID, third.ID)
	if !slices.Contains(d.Modified, debugger.VariableChange{Name: "order.Customer.Name", Scope: "argument", Type: "string", Old: `"Ada"`, New: `"Grace"`}) || d.ElapsedMs < 0 || d.ThreadMismatch {
		t.Errorf("%+v", d)
	}
	if d := differ(a, third.ID, third.ID); d.Summary != "no changes" || len(d.Added)+len(d.Removed)+len(d.Modified) != 0 {
		t.Errorf("%+v", d)
	}
	a.Resume()
	fourth := a.TakeVariables(nil)
	if fourth.Label != "snapshot-4" || !slices.Contains(fourth.Changed, `+ result = "ok"`) || !slices.Contains(fourth.Changed, "- result (was undefined)") {
		t.Errorf("%+v", fourth)
	}
	if all := a.VariableSnapshots(); len(all) != 4 || all[0].ID != first.ID || all[3].Label != "snapshot-4" || all[1].Function != "run" || all[1].Count != 8 {
		t.Errorf("%+v", all)
	}
	if text := a.Refused("snapshot_diff", map[string]any{"from": first.ID, "to": "snap-abc123"}); !strings.Contains(text, `"snap-abc123"`) || strings.Contains(text, fmt.Sprintf("no snapshot %q", first.ID)) {
		t.Error(text)
	}
	var gone debugger.VariableSnapshotsRemoved
	a.Call("snapshot_delete", map[string]any{"id": second.ID}, &gone)
	if gone.Removed != 1 || gone.Left != 3 {
		t.Errorf("%+v", gone)
	}
	if text := a.Refused("snapshot_diff", map[string]any{"from": second.ID, "to": first.ID}); !strings.Contains(text, second.ID) {
		t.Error(text)
	}
	a.Debugger("debugger_resume", nil)
	if text := a.Refused("snapshot_create", nil); !strings.Contains(text, "aused") || !strings.Contains(text, "debugger_pause") {
		t.Error(text)
	}
	if all := a.VariableSnapshots(); len(all) != 3 {
		t.Errorf("while running: %+v", all)
	}
	a.Call("snapshot_clear", nil, &gone)
	if gone.Removed != 3 || gone.Left != 0 || len(a.VariableSnapshots()) != 0 {
		t.Errorf("%+v", gone)
	}
}

func TestATracepointTellsHowValuesWentWithoutStoppingThePage(t *testing.T) {
	w := e2etest.SharedWorld(t)
	a, p := w.OpenScript(t, e2etest.Polling)
	for _, c := range []struct {
		name  string
		args  map[string]any
		hits  int
		state string
		want  map[string]string
	}{
		{
			"variables",
			map[string]any{"paths": []string{"retryCount", "status"}, "limit": 4},
			4, "done",
			map[string]string{"retryCount": "0 → 1 → 2 → 3", "status": `"busy" ×2 → "free" ×2`},
		},
		{"fields", map[string]any{"paths": []string{"job.left"}, "limit": 4}, 4, "done", map[string]string{"job.left": "6 → 5 → 4 → 3"}},
		{"an accessor is not called", map[string]any{"paths": []string{"job.trap"}, "limit": 4}, 4, "done", map[string]string{"job.trap": "get ×4"}},
		{"a simple condition", map[string]any{"paths": []string{"retryCount"}, "condition": "retryCount > 3 && status === 'free'"}, 2, "tracing", map[string]string{"retryCount": "4 → 5"}},
		{"a condition that calls", map[string]any{"paths": []string{"retryCount"}, "condition": "Math.max(retryCount, 2) > 2"}, 3, "tracing", map[string]string{"retryCount": "3 → 4 → 5"}},
		{"a condition that would change something", map[string]any{"paths": []string{"retryCount"}, "condition": "ticks++"}, 0, "tracing", map[string]string{}},
		{"every second", map[string]any{"paths": []string{"retryCount"}, "every": 2}, 3, "tracing", map[string]string{"retryCount": "0 → 2 → 4"}},
		{"everything", map[string]any{"paths": []string{}, "limit": 3}, 3, "done", map[string]string{"retryCount": "0 → 1 → 2", "status": `"busy" ×2 → "free"`}},
		{"what is not there", map[string]any{"paths": []string{"nothing"}, "limit": 2}, 2, "done", map[string]string{"nothing": "there is no such variable ×2"}},
	} {
		c.args["url"], c.args["line"] = "app.js", 4
		set := a.Trace(c.args)
		if set.State != "tracing" || set.Hits != 0 || len(set.Places) != 1 || !strings.Contains(set.Places[0], "/app.js:4:") {
			t.Fatalf("%s: %+v", c.name, set)
		}
		p.JS(`ticks = 0; document.title = ''; setTimeout(() => all(6), 0)`)
		p.WaitForTitle("ticks 6")
		got := a.Trace(c.args)
		t.Logf("%s: %+v", c.name, got)
		if got.Hits != c.hits || got.State != c.state {
			t.Errorf("%s: %d hits, %s", c.name, got.Hits, got.State)
		}
		for path, want := range c.want {
			if got.Evolution[path] != want {
				t.Errorf("%s: %s went %q, not %q", c.name, path, got.Evolution[path], want)
			}
		}
	}
	// Nothing stands still afterwards.
	if s := a.Debugger("debugger_state", nil); s.State != "running" {
		t.Errorf("%+v", s)
	}
}

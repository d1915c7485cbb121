package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/debugger"
)

// take takes a snapshot.
func (a *agent) take(args map[string]any) debugger.VariableSnapshot {
	a.t.Helper()
	var s debugger.VariableSnapshot
	a.call("snapshot_create", args, &s)
	return s
}

// differ compares two snapshots.
func (a *agent) differ(from, to string) debugger.VariableDiff {
	a.t.Helper()
	var d debugger.VariableDiff
	a.call("snapshot_diff", map[string]any{"from": from, "to": to}, &d)
	return d
}

// held are the snapshots that there are.
func (a *agent) held() []debugger.VariableSnapshotLine {
	a.t.Helper()
	var l debugger.VariableSnapshotList
	a.call("snapshot_list", nil, &l)
	return l.Snapshots
}

// on resumes, and waits for the next pause.
func (a *agent) on() {
	a.t.Helper()
	a.debugger("debugger_resume", map[string]any{"wait_ms": 15000})
}

func (a *agent) variables(args map[string]any) debugger.Variables {
	a.t.Helper()
	var v debugger.Variables
	a.call("variables_get", args, &v)
	return v
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

// script is a page whose script is /app.js.
func (w *world) script(t *testing.T, code string) (*agent, *tab) {
	t.Helper()
	s := newSite(t, map[string]string{"/{$}": debugPage, "/app.js": code})
	return w.debugs(t, s), w.open(t, s.URL)
}

// stop has the page come to its `debugger` statement, which the agent's session makes it stop at.
func (a *agent) stop(p *tab, script string) debugger.ThreadState {
	a.t.Helper()
	a.debugger("debugger_pause", map[string]any{"exceptions": "none"})
	p.start(script)
	return a.paused()
}

const retrying = `class Job {
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

func TestASnapshotIsTakenAtABreakpointAndComparedWithTheNext(t *testing.T) {
	w := shared.get(t)
	a, p := w.script(t, retrying)
	at := a.stop(p, "go()")
	if at.Stack[0].Function != "run" {
		t.Fatalf("%+v", at.Stack)
	}
	first := a.take(map[string]any{"label": "before-fix"})
	t.Logf("%+v", first)
	if !regexp.MustCompile(`^snap-[0-9a-f]{8}-[0-9a-f-]{27}$`).MatchString(first.ID) || first.Label != "before-fix" || first.At.IsZero() || first.Thread != 1 || first.Frame != 0 || first.Function != "run" || first.Count != 8 {
		t.Errorf("%+v", first)
	}
	has(t, first.Variables, map[string]string{
		"local retryCount": "0", "local result": "undefined", "argument order": `{Total: 3, Customer: Object}`, "argument tries": "3", "argument least": "5",
		"argument rest": "[8, 9]", "this this": `Job {#secret: [masked], name: "import"}`, "block step": `"step 0"`,
	})
	if v := a.variables(map[string]any{"path": "order.Customer", "depth": 1}); v.Variables["argument"]["order.Customer.City"] != `"Warsaw"` {
		t.Errorf("%+v", v)
	}
	a.on()
	second := a.take(map[string]any{"label": "after-fix", "depth": 2})
	if second.Since != "before-fix" || !slices.Contains(second.Changed, "retryCount: 0 → 1") || !slices.Contains(second.Changed, `step: "step 0" → "step 1"`) {
		t.Errorf("%+v", second)
	}
	a.on()
	third := a.take(map[string]any{"depth": 2})
	if third.Label != "snapshot-3" {
		t.Errorf("%+v", third)
	}
	d := a.differ("before-fix", "after-fix")
	if len(d.Added)+len(d.Removed) != 0 || !slices.Contains(d.Modified, debugger.VariableChange{Name: "retryCount", Scope: "local", Type: "number", Old: "0", New: "1"}) {
		t.Errorf("%+v", d)
	}
	d = a.differ(second.ID, third.ID)
	if !slices.Contains(d.Modified, debugger.VariableChange{Name: "order.Customer.Name", Scope: "argument", Type: "string", Old: `"Ada"`, New: `"Grace"`}) || d.ElapsedMs < 0 || d.ThreadMismatch {
		t.Errorf("%+v", d)
	}
	if d := a.differ(third.ID, third.ID); d.Summary != "no changes" || len(d.Added)+len(d.Removed)+len(d.Modified) != 0 {
		t.Errorf("%+v", d)
	}
	a.on()
	fourth := a.take(nil)
	if fourth.Label != "snapshot-4" || !slices.Contains(fourth.Changed, `+ result = "ok"`) || !slices.Contains(fourth.Changed, "- result (was undefined)") {
		t.Errorf("%+v", fourth)
	}
	if all := a.held(); len(all) != 4 || all[0].ID != first.ID || all[3].Label != "snapshot-4" || all[1].Function != "run" || all[1].Count != 8 {
		t.Errorf("%+v", all)
	}
	if text := a.refused("snapshot_diff", map[string]any{"from": first.ID, "to": "snap-abc123"}); !strings.Contains(text, `"snap-abc123"`) || strings.Contains(text, fmt.Sprintf("no snapshot %q", first.ID)) {
		t.Error(text)
	}
	var gone debugger.VariableSnapshotsRemoved
	a.call("snapshot_delete", map[string]any{"id": second.ID}, &gone)
	if gone.Removed != 1 || gone.Left != 3 {
		t.Errorf("%+v", gone)
	}
	if text := a.refused("snapshot_diff", map[string]any{"from": second.ID, "to": first.ID}); !strings.Contains(text, second.ID) {
		t.Error(text)
	}
	a.debugger("debugger_resume", nil)
	if text := a.refused("snapshot_create", nil); !strings.Contains(text, "aused") || !strings.Contains(text, "debugger_pause") {
		t.Error(text)
	}
	if all := a.held(); len(all) != 3 {
		t.Errorf("while running: %+v", all)
	}
	a.call("snapshot_clear", nil, &gone)
	if gone.Removed != 3 || gone.Left != 0 || len(a.held()) != 0 {
		t.Errorf("%+v", gone)
	}
}

const polling = `let ticks = 0;
function poll(retryCount, job) {
  const status = retryCount < 2 ? 'busy' : 'free';
  ticks++; // line 4
  return status + job.left;
}
function all(n) { for (let i = 0; i < n; i++) poll(i, { left: n - i, get trap() { document.title = 'trapped'; return 1; } }); document.title = 'ticks ' + ticks; }
`

// trace calls snapshot_trace.
func (a *agent) trace(args map[string]any) debugger.Trace {
	a.t.Helper()
	var tr debugger.Trace
	a.call("snapshot_trace", args, &tr)
	return tr
}

func TestATracepointTellsHowValuesWentWithoutStoppingThePage(t *testing.T) {
	w := shared.get(t)
	a, p := w.script(t, polling)
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
		set := a.trace(c.args)
		if set.State != "tracing" || set.Hits != 0 || len(set.Places) != 1 || !strings.Contains(set.Places[0], "/app.js:4:") {
			t.Fatalf("%s: %+v", c.name, set)
		}
		p.js(`ticks = 0; document.title = ''; setTimeout(() => all(6), 0)`)
		p.title("ticks 6")
		got := a.trace(c.args)
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
	if s := a.debugger("debugger_state", nil); s.State != "running" {
		t.Errorf("%+v", s)
	}
}

package debugging

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/debugger"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestWhatAnAgentSetIsGoneWhenItLeaves: the attachment of capture stays, and must not bring a breakpoint back with the
// next document.
func TestWhatAnAgentSetIsGoneWhenItLeaves(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage, "/app.js": e2etest.DebugApp, "/poll.js": e2etest.Polling})
	p := w.Open(t, s.URL)
	first := w.Debugs(t, s)
	first.Breakpoint(map[string]any{"url": "app.js", "line": 6})
	first.Debugger("debugger_pause", map[string]any{"exceptions": "all"})
	first.Trace(map[string]any{"url": "app.js", "line": 11, "paths": []string{"count"}})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := w.Debugs(t, s)
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		return len(second.Debugger("debugger_state", nil).Notes) == 0, nil
	}); err != nil {
		t.Fatal(err)
	}
	p.Reload()
	b := second.Breakpoint(map[string]any{"url": "poll.js", "line": 4})
	p.Start(`try { throw new Error('caught') } catch {} document.getElementById('go').click()`)
	p.WaitForTitle("6")
	var list debugger.BreakpointList
	second.Call("breakpoint_list", nil, &list)
	if len(list.Breakpoints) != 1 || list.Breakpoints[0].ID != b.ID {
		t.Errorf("%+v", list)
	}
	// Its place is free for the next one.
	if b := second.Breakpoint(map[string]any{"url": "app.js", "line": 6}); b.State != "set" {
		t.Errorf("%+v", b)
	}
}

// TestExpressionsTellNoSecretsWhileEvaluatingIsOff: only paths are read, and masked like everything else.
func TestExpressionsTellNoSecretsWhileEvaluatingIsOff(t *testing.T) {
	w := e2etest.SharedWorld(t)
	a, p := w.OpenScript(t, `function go() { const user = { name: 'Ada', password: 'hunter22', tags: ['a', 'b'] }; const token = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789'; debugger; document.title = user.name + token; }`)
	a.Stop(p, "go()")
	for _, expression := range []string{"Object.values(user)", "`${token}`.slice(4)", "'' + user.password", "user['pass' + 'word']", "(user).password"} {
		if text := a.Refused("snapshot_create", map[string]any{"expressions": []string{expression}}); !strings.Contains(text, "evaluating is off") {
			t.Errorf("%s: %s", expression, text)
		}
	}
	s := a.TakeVariables(map[string]any{"expressions": []string{"user.name", "user.password", "token", "user.tags.length", "user.nothing"}})
	has(t, s.Variables, map[string]string{"expression user.name": `"Ada"`, "expression user.password": "[masked]", "expression user.tags.length": "2"})
	if text := fmt.Sprint(s); strings.Contains(text, "hunter22") || strings.Contains(text, "abcdefghij") {
		t.Error(text)
	}
	a.Debugger("debugger_resume", nil)
}

// TestDifferencesSayWhatTheyCannotSee: "no changes" speaks of what was compared.
func TestDifferencesSayWhatTheyCannotSee(t *testing.T) {
	w := e2etest.SharedWorld(t)
	a, p := w.OpenScript(t, `function go() {
  const o = { a: { b: 1 } }, user = { card: '4111111111111111' }; let token = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789';
  debugger;
  o.a.b = 2;
  debugger;
  user.card = '4242424242424242'; token = 'ghp_zyxwvutsrqponmlkjihgfedcba9876543210';
  debugger;
  document.title = o + token + user;
}`)
	a.Stop(p, "go()")
	a.TakeVariables(map[string]any{"label": "one"})
	a.Resume()
	if s := a.TakeVariables(map[string]any{"label": "two"}); !slices.Equal(s.Changed, []string{"no changes"}) || !strings.Contains(strings.Join(s.Notes, "; "), "compared by preview only") {
		t.Errorf("%+v", s)
	}
	a.TakeVariables(map[string]any{"label": "deep", "depth": 2})
	a.Resume()
	a.TakeVariables(map[string]any{"label": "deep-2", "depth": 2})
	d := differ(a, "deep", "deep-2")
	if notes := strings.Join(d.Notes, "; "); d.Summary != "no changes" || !strings.Contains(notes, "2 secret values are masked and not compared") {
		t.Errorf("%+v", d)
	}
	if s := a.TakeVariables(map[string]any{"label": "two"}); !strings.Contains(strings.Join(s.Notes, "; "), `also has the label "two"`) {
		t.Errorf("%+v", s)
	}
	a.Debugger("debugger_resume", nil)
}

// TestPathsReachWhateverIsThere: the end of a large collection, sizes, and what only looks like an index.
func TestPathsReachWhateverIsThere(t *testing.T) {
	w := e2etest.SharedWorld(t)
	a, p := w.OpenScript(t, `function go() {
  const wide = {}, map = new Map(), list = ['a', , 'c'], numbered = { 5: 4 }, bytes = new Uint8Array(50000), order = { items: [1, 2] };
  for (let i = 0; i < 5000; i++) { wide['p' + i] = i; map.set('k' + i, i); }
  const huge = new Map(); for (let i = 0; i < 100000; i++) huge.set(i, i);
  debugger;
  document.title = [wide, map, list, numbered, bytes, order, huge].length === 7 ? 'done' : ''; // else the engine gives them up
}`)
	a.Stop(p, "go()")
	for path, want := range map[string]string{
		"wide.p4999": "4999", `map.get("k4999")`: "4999", "map.size": "5000", "list.length": "3", "order.items.length": "2", "numbered[5]": "4",
		"bytes[49999]": "0", "list[1]": "empty",
	} {
		if v := a.Variables(map[string]any{"path": path}).Variables; v["local"][path] != want {
			t.Errorf("%s is %v, not %s", path, v, want)
		}
	}
	if text := a.Refused("variables_get", map[string]any{"path": "wide.p5000"}); !strings.Contains(text, "and 4980 more") {
		t.Error(text)
	}
	if text := a.Refused("variables_get", map[string]any{"path": "huge.get(99999)"}); !strings.Contains(text, "too large to search") {
		t.Error(text)
	}
	flat := a.Variables(nil).Variables["local"]
	if !strings.HasPrefix(flat["bytes"], "Uint8Array(50000) [0, ") || flat["list"] != `["a", empty, "c"]` {
		t.Errorf("%v", flat)
	}
	// A large collection does not keep the other variables out.
	deep := a.Variables(map[string]any{"depth": 2})
	for _, name := range []string{"wide", "map", "list", "numbered", "bytes", "order", "huge", "order.items", "list[0]"} {
		if deep.Variables["local"][name] == "" {
			t.Errorf("%s is not told: %v", name, deep.Notes)
		}
	}
	a.Debugger("debugger_resume", nil)
	p.WaitForTitle("done")
}

// TestATracepointFollowsValuesOfAnyKind: what is a primitive at first may be an object later.
func TestATracepointFollowsValuesOfAnyKind(t *testing.T) {
	w := e2etest.SharedWorld(t)
	a, p := w.OpenScript(t, `let at;
function hit(value) {
  const list = [value]; let result = null;
  at = list; // line 4
}
function all() { for (const v of [0, null, { n: 1 }, { n: 2 }, Symbol('q'), new Date(5), new Date(6), [1], 'end']) hit(v); document.title = 'ran'; }
`)
	follow := func(args map[string]any) debugger.Trace {
		t.Helper()
		args["url"], args["line"], args["limit"] = "app.js", 4, 9
		a.Trace(args)
		p.JS(`document.title = ''; setTimeout(all, 0)`)
		p.WaitForTitle("ran")
		return a.Trace(args)
	}
	tr := follow(map[string]any{"paths": []string{"value", "list.length"}})
	if got := tr.Evolution["value"]; got != `0 → null → {n: 1} → {n: 2} → Symbol(q) → 1970-01-01T00:00:00.005Z → 1970-01-01T00:00:00.006Z → [1] → "end"` {
		t.Error(got)
	}
	if got := tr.Evolution["list.length"]; got != "1 ×9" {
		t.Error(got)
	}
	if text := a.Refused("snapshot_trace", map[string]any{"url": "app.js", "line": 4, "paths": []string{"value"}, "condition": "value==="}); !strings.Contains(text, "condition cannot be parsed") {
		t.Error(text)
	}
	// A condition that throws is told to the agent, and is no error of the page's.
	a.Changes()
	tr = follow(map[string]any{"paths": []string{"value"}, "condition": "nothing === 1"})
	if tr.Hits != 0 || !strings.Contains(strings.Join(tr.Notes, "; "), "nothing is not defined") {
		t.Errorf("%+v", tr)
	}
	if r := a.Changes(); r.Severity != "clean" {
		t.Errorf("%s", e2etest.Show(r))
	}
}

// TestWaitingForAPauseTurnsTheDebuggerOn: a debugger statement pauses for whoever waits for it.
func TestWaitingForAPauseTurnsTheDebuggerOn(t *testing.T) {
	w := e2etest.SharedWorld(t)
	a, p := w.OpenScript(t, `function go() { debugger; document.title = 'on'; }`)
	p.JS(`setTimeout(go, 1500)`)
	if at := a.Paused(); at.Reason != "other" {
		t.Errorf("%+v", at)
	}
	a.Debugger("debugger_resume", nil)
	p.WaitForTitle("on")
}

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/debugger"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestWhatAnAgentSetIsGoneWhenItLeaves: the attachment of capture stays, and must not bring a breakpoint back with the
// next document.
func TestWhatAnAgentSetIsGoneWhenItLeaves(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": debugPage, "/app.js": debugApp, "/poll.js": polling})
	p := w.open(t, s.URL)
	first := w.debugs(t, s)
	first.breakpoint(map[string]any{"url": "app.js", "line": 6})
	first.debugger("debugger_pause", map[string]any{"exceptions": "all"})
	first.trace(map[string]any{"url": "app.js", "line": 11, "paths": []string{"count"}})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := w.debugs(t, s)
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		return len(second.debugger("debugger_state", nil).Notes) == 0, nil
	}); err != nil {
		t.Fatal(err)
	}
	p.reload()
	b := second.breakpoint(map[string]any{"url": "poll.js", "line": 4})
	p.start(`try { throw new Error('caught') } catch {} document.getElementById('go').click()`)
	p.title("6")
	var list debugger.BreakpointList
	second.call("breakpoint_list", nil, &list)
	if len(list.Breakpoints) != 1 || list.Breakpoints[0].ID != b.ID {
		t.Errorf("%+v", list)
	}
	// Its place is free for the next one.
	if b := second.breakpoint(map[string]any{"url": "app.js", "line": 6}); b.State != "set" {
		t.Errorf("%+v", b)
	}
}

// TestExpressionsTellNoSecretsWhileEvaluatingIsOff: only paths are read, and masked like everything else.
func TestExpressionsTellNoSecretsWhileEvaluatingIsOff(t *testing.T) {
	w := shared.get(t)
	a, p := w.script(t, `function go() { const user = { name: 'Ada', password: 'hunter22', tags: ['a', 'b'] }; const token = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789'; debugger; document.title = user.name + token; }`)
	a.stop(p, "go()")
	for _, expression := range []string{"Object.values(user)", "`${token}`.slice(4)", "'' + user.password", "user['pass' + 'word']", "(user).password"} {
		if text := a.refused("snapshot_create", map[string]any{"expressions": []string{expression}}); !strings.Contains(text, "evaluating is off") {
			t.Errorf("%s: %s", expression, text)
		}
	}
	s := a.take(map[string]any{"expressions": []string{"user.name", "user.password", "token", "user.tags.length", "user.nothing"}})
	has(t, s.Variables, map[string]string{"expression user.name": `"Ada"`, "expression user.password": "[masked]", "expression user.tags.length": "2"})
	if text := fmt.Sprint(s); strings.Contains(text, "hunter22") || strings.Contains(text, "abcdefghij") {
		t.Error(text)
	}
	a.debugger("debugger_resume", nil)
}

// TestDifferencesSayWhatTheyCannotSee: "no changes" speaks of what was compared.
func TestDifferencesSayWhatTheyCannotSee(t *testing.T) {
	w := shared.get(t)
	a, p := w.script(t, `function go() {
  const o = { a: { b: 1 } }, user = { card: '4111111111111111' }; let token = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789';
  debugger;
  o.a.b = 2;
  debugger;
  user.card = '4242424242424242'; token = 'ghp_zyxwvutsrqponmlkjihgfedcba9876543210';
  debugger;
  document.title = o + token + user;
}`)
	a.stop(p, "go()")
	a.take(map[string]any{"label": "one"})
	a.on()
	if s := a.take(map[string]any{"label": "two"}); !slices.Equal(s.Changed, []string{"no changes"}) || !strings.Contains(strings.Join(s.Notes, "; "), "compared by preview only") {
		t.Errorf("%+v", s)
	}
	a.take(map[string]any{"label": "deep", "depth": 2})
	a.on()
	a.take(map[string]any{"label": "deep-2", "depth": 2})
	d := a.differ("deep", "deep-2")
	if notes := strings.Join(d.Notes, "; "); d.Summary != "no changes" || !strings.Contains(notes, "2 secret values are masked and not compared") {
		t.Errorf("%+v", d)
	}
	if s := a.take(map[string]any{"label": "two"}); !strings.Contains(strings.Join(s.Notes, "; "), `also has the label "two"`) {
		t.Errorf("%+v", s)
	}
	a.debugger("debugger_resume", nil)
}

// TestPathsReachWhateverIsThere: the end of a large collection, sizes, and what only looks like an index.
func TestPathsReachWhateverIsThere(t *testing.T) {
	w := shared.get(t)
	a, p := w.script(t, `function go() {
  const wide = {}, map = new Map(), list = ['a', , 'c'], numbered = { 5: 4 }, bytes = new Uint8Array(50000), order = { items: [1, 2] };
  for (let i = 0; i < 5000; i++) { wide['p' + i] = i; map.set('k' + i, i); }
  const huge = new Map(); for (let i = 0; i < 100000; i++) huge.set(i, i);
  debugger;
  document.title = [wide, map, list, numbered, bytes, order, huge].length === 7 ? 'done' : ''; // else the engine gives them up
}`)
	a.stop(p, "go()")
	for path, want := range map[string]string{
		"wide.p4999": "4999", `map.get("k4999")`: "4999", "map.size": "5000", "list.length": "3", "order.items.length": "2", "numbered[5]": "4",
		"bytes[49999]": "0", "list[1]": "empty",
	} {
		if v := a.variables(map[string]any{"path": path}).Variables; v["local"][path] != want {
			t.Errorf("%s is %v, not %s", path, v, want)
		}
	}
	if text := a.refused("variables_get", map[string]any{"path": "wide.p5000"}); !strings.Contains(text, "and 4980 more") {
		t.Error(text)
	}
	if text := a.refused("variables_get", map[string]any{"path": "huge.get(99999)"}); !strings.Contains(text, "too large to search") {
		t.Error(text)
	}
	flat := a.variables(nil).Variables["local"]
	if !strings.HasPrefix(flat["bytes"], "Uint8Array(50000) [0, ") || flat["list"] != `["a", empty, "c"]` {
		t.Errorf("%v", flat)
	}
	// A large collection does not keep the other variables out.
	deep := a.variables(map[string]any{"depth": 2})
	for _, name := range []string{"wide", "map", "list", "numbered", "bytes", "order", "huge", "order.items", "list[0]"} {
		if deep.Variables["local"][name] == "" {
			t.Errorf("%s is not told: %v", name, deep.Notes)
		}
	}
	a.debugger("debugger_resume", nil)
	p.title("done")
}

// TestATracepointFollowsValuesOfAnyKind: what is a primitive at first may be an object later.
func TestATracepointFollowsValuesOfAnyKind(t *testing.T) {
	w := shared.get(t)
	a, p := w.script(t, `let at;
function hit(value) {
  const list = [value]; let result = null;
  at = list; // line 4
}
function all() { for (const v of [0, null, { n: 1 }, { n: 2 }, Symbol('q'), new Date(5), new Date(6), [1], 'end']) hit(v); document.title = 'ran'; }
`)
	follow := func(args map[string]any) debugger.Trace {
		t.Helper()
		args["url"], args["line"], args["limit"] = "app.js", 4, 9
		a.trace(args)
		p.js(`document.title = ''; setTimeout(all, 0)`)
		p.title("ran")
		return a.trace(args)
	}
	tr := follow(map[string]any{"paths": []string{"value", "list.length"}})
	if got := tr.Evolution["value"]; got != `0 → null → {n: 1} → {n: 2} → Symbol(q) → 1970-01-01T00:00:00.005Z → 1970-01-01T00:00:00.006Z → [1] → "end"` {
		t.Error(got)
	}
	if got := tr.Evolution["list.length"]; got != "1 ×9" {
		t.Error(got)
	}
	if text := a.refused("snapshot_trace", map[string]any{"url": "app.js", "line": 4, "paths": []string{"value"}, "condition": "value==="}); !strings.Contains(text, "condition cannot be parsed") {
		t.Error(text)
	}
	// A condition that throws is told to the agent, and is no error of the page's.
	a.changes()
	tr = follow(map[string]any{"paths": []string{"value"}, "condition": "nothing === 1"})
	if tr.Hits != 0 || !strings.Contains(strings.Join(tr.Notes, "; "), "nothing is not defined") {
		t.Errorf("%+v", tr)
	}
	if r := a.changes(); r.Severity != "clean" {
		t.Errorf("%s", show(r))
	}
}

// TestWaitingForAPauseTurnsTheDebuggerOn: a debugger statement pauses for whoever waits for it.
func TestWaitingForAPauseTurnsTheDebuggerOn(t *testing.T) {
	w := shared.get(t)
	a, p := w.script(t, `function go() { debugger; document.title = 'on'; }`)
	p.js(`setTimeout(go, 1500)`)
	if at := a.paused(); at.Reason != "other" {
		t.Errorf("%+v", at)
	}
	a.debugger("debugger_resume", nil)
	p.title("on")
}

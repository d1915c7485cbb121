package debugging

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/debugger"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

const hostile = `const hits = [];
const count = new Proxy({}, { get(_, trap) { hits.push(String(trap)); return undefined; } });
function hostile() {
  const proxy = new Proxy({ x: 1 }, count);
  const callable = new Proxy(function f() {}, count);
  const revoked = (() => { const r = Proxy.revocable({}, count); r.revoke(); return r.proxy; })();
  const child = Object.create(new Proxy({}, count));
  const getter = { get x() { hits.push('getter'); return 1; }, set x(v) {}, get [Symbol.toStringTag]() { hits.push('tag'); return 'T'; },
    get constructor() { hits.push('constructor'); return Object; }, toString() { hits.push('toString'); return ''; }, valueOf() { hits.push('valueOf'); return 1; },
    [Symbol.toPrimitive]() { hits.push('toPrimitive'); return 1; }, toJSON() { hits.push('toJSON'); return 1; } };
  const error = new Error('boom');
  for (const name of ['stack', 'message', 'name']) Object.defineProperty(error, name, { get() { hits.push(name); return 's'; } });
  class Ticket { static count = 1; #seat = 12; row = 3; get price() { hits.push('price'); return 1; } }
  const ticket = new Ticket();
  const list = [proxy, getter, 1]; Object.defineProperty(list, 3, { get() { hits.push('index'); return 1; }, enumerable: true });
  const map = new Map([['k', proxy], [getter, 1]]); map.get = map.forEach = () => hits.push('map'); Object.defineProperty(map, 'size', { get() { hits.push('size'); return 0; } });
  const set = new Set(['a', getter]); set[Symbol.iterator] = () => hits.push('iterator');
  const many = { __proto__: new Proxy({}, count) }; for (let i = 0; i < 20; i++) many['f' + i] = i;
  const long = Array.from({ length: 5000 }, (_, i) => i);
  Object.defineProperty(long, 2, { get() { hits.push('long'); return 1; } });
  const when = new Date(5); for (const name of ['valueOf', 'toISOString', 'getTime', Symbol.toPrimitive]) when[name] = () => { hits.push('date'); return 1; };
  hits.length = 0;
  debugger;
  document.title = 'ran ' + (hits.join(' ') || 'nothing');
}
`

func TestReadingVariablesRunsNothingOfThePage(t *testing.T) {
	w := e2etest.SharedWorld(t)
	a, p := w.OpenScript(t, hostile+`
Object.defineProperty(Array.prototype, 'slice', { value() { hits.push('slice'); } });
for (const [of, name] of [[Object, 'getOwnPropertyDescriptor'], [Object, 'keys'], [Reflect, 'ownKeys'], [Map.prototype, 'get'], [Function.prototype, 'toString'], [Object.prototype, 'toString']]) {
  const real = of[name]; of[name] = function (...args) { hits.push(name); return real.apply(this, args); };
}`)
	a.Stop(p, "hostile()")
	s := a.TakeVariables(map[string]any{"depth": 3, "expressions": []string{"getter.x", "ticket.row", "proxy.x"}})
	v := a.Variables(map[string]any{"depth": 3})
	has(t, v.Variables, map[string]string{
		"local proxy": "Proxy(Object)", "local callable": "Proxy(Function)", "local getter.x": "get/set", "local ticket.#seat": "12", "local ticket.row": "3",
		"local error.stack": "get/set", "local list[3]": "get", `local map.get("k")`: "→ proxy", `local set.has("a")`: `"a"`, "local map.size": "get",
	})
	for _, path := range []string{"ticket.#seat", `map.get("k")`, "list[1].x", "long[4999]", "getter.constructor"} {
		t.Logf("%s: %v", path, a.Variables(map[string]any{"path": path}).Variables)
	}
	t.Logf("%+v", s)
	a.Trace(map[string]any{"url": "app.js", "line": 24, "paths": []string{"getter.x", "proxy.x", "ticket.row"}, "limit": 1})
	a.Debugger("debugger_resume", nil)
	p.WaitForTitle("ran nothing")
}

const kinds = `class Order { constructor() { this.Total = 3; this.Customer = { Name: 'Ada', Tags: ['a', 'b'] }; this.self = this; this.again = this.Customer; } }
const order = new Order();
const module = 'of the script';
function outer(factor) {
  const table = new Map([['k', { hits: 1 }], [7, 'seven'], [order, 'by object']]);
  const seen = new Set(['x', { y: 1 }]);
  return function inner(n) {
    let password = 'hunter2hunter2'; let token = null;
    const nan = NaN, neg = -0, big = 12345678901234567890n, sym = Symbol('s'), day = new Date(Date.UTC(2026, 0, 1, 12, 0, 0, 7)), re = /x+/gi, nothing = null;
    const fn = (a) => a + factor, bytes = new Uint8Array([1, 2, 3]), sparse = [1, , 3], weak = new WeakMap(), err = new TypeError('bad');
    const node = document.createElement('div'); node.id = 'main';
    const settled = Promise.resolve(4);
    const home = order, there = table, here = seen, text = 'x'.repeat(100000);
    debugger;
    return n * factor;
  };
}
async function later(id) {
  const answer = await Promise.resolve({ id });
  debugger;
  return answer;
}
function* numbers(from) { let at = from; while (true) { debugger; yield at++; } }
const shop = { name: 'shop', sell(what, { price = 3, ...more } = {}, [first] = ['f']) { try { throw new Error('x'); } catch (reason) { const inside = 1; debugger; } } };
function bare() { 'use strict'; debugger; }
`

func TestVariablesOfAllKindsAreRead(t *testing.T) {
	w := e2etest.SharedWorld(t)
	a, p := w.OpenScript(t, kinds)
	a.Stop(p, `outer(3)(5)`)
	v := a.Variables(map[string]any{})
	has(t, v.Variables, map[string]string{
		"argument n": "5", "local nan": "NaN", "local neg": "-0", "local big": "12345678901234567890n", "local sym": "Symbol(s)", "local re": "/x+/gi",
		"local nothing": "null", "local fn": "(a) => a + factor", "local bytes": "[1, 2, 3]", "local err": "TypeError: bad", "local node": "div#main",
		"local password": "[masked]", "local token": "null", "local day": "2026-01-01T12:00:00.007Z", "local settled": `Promise {[[PromiseState]]: "fulfilled", [[PromiseResult]]: 4}`,
	})
	if text := v.Variables["local"]["text"]; !strings.Contains(text, "(100000 characters)") || len(text) > 300 {
		t.Errorf("a long text: %s", text)
	}
	if _, own := v.Variables["closure"]; own {
		t.Errorf("closures are read without being asked for: %+v", v.Variables)
	}
	c := a.Variables(map[string]any{"scopes": []string{"closure", "module"}, "depth": 2})
	has(t, c.Variables, map[string]string{
		"closure factor": "3", `closure table.get("k").hits`: "1", "closure table.get(7)": `"seven"`, "closure table.values()[2]": `"by object"`, `closure seen.has("x")`: `"x"`,
		"closure seen.values()[1].y": "1", "module module": `"of the script"`,
	})
	o := a.Variables(map[string]any{"path": "home", "depth": 3})
	has(t, o.Variables, map[string]string{
		"local home.Total": "3", "local home.Customer.Name": `"Ada"`, "local home.Customer.Tags[1]": `"b"`, "local home.again": "→ home.Customer", "local home.self": "→ home",
	})
	a.Debugger("debugger_resume", nil)

	p.Start(`later(9)`)
	a.Paused()
	has(t, a.Variables(map[string]any{"depth": 1}).Variables, map[string]string{"argument id": "9", "local answer.id": "9"})
	a.Debugger("debugger_resume", nil)

	p.Start(`const g = numbers(4); g.next(); g.next();`)
	a.Paused()
	first := a.TakeVariables(nil)
	a.Resume()
	second := a.TakeVariables(nil)
	if d := differ(a, first.ID, second.ID); len(d.Modified) != 1 || d.Modified[0] != (debugger.VariableChange{Name: "at", Scope: "local", Type: "number", Old: "4", New: "5"}) {
		t.Errorf("%+v %+v", first, d)
	}
	a.Debugger("debugger_resume", nil)

	p.Start(`shop.sell('tea', { size: 1 })`)
	a.Paused()
	has(t, a.Variables(map[string]any{"depth": 1}).Variables, map[string]string{
		"argument what": `"tea"`, "argument price": "3", "argument more.size": "1", "argument first": `"f"`, "this this.name": `"shop"`, "block reason": "Error: x", "block inside": "1",
	})
	if got := a.Variables(map[string]any{"frame": 1}); got.Frame != 1 {
		t.Errorf("%+v", got)
	}
	for args, want := range map[string]map[string]any{
		"frame 99":  {"frame": 99},
		`"nothing"`: {"path": "nothing"},
		"no such":   {"path": "more.nothing"},
		"depth":     {"depth": 51},
		"scopes":    {"scopes": []string{"global"}},
		"path":      {"path": "a..b"},
		"thread 7":  {"thread": 7},
	} {
		if text := a.Refused("variables_get", want); !strings.Contains(text, args) {
			t.Errorf("%v: %s", want, text)
		}
	}
	a.Debugger("debugger_resume", nil)

	p.Start(`bare()`)
	a.Paused()
	if empty := a.TakeVariables(nil); empty.Count != 0 {
		t.Errorf("a function without variables: %+v", empty)
	}
	a.Debugger("debugger_resume", nil)
}

const large = `function large() {
  const million = {}; for (let i = 0; i < 1e6; i++) million['key' + i] = i;
  const list = Array.from({ length: 1e6 }, (_, i) => i);
  const map = new Map(list.slice(0, 20000).map((i) => [i, i]));
  const deep = {}; let at = deep; for (let i = 0; i < 80; i++) at = at.next = { i };
  const rows = Array.from({ length: 1500 }, (_, i) => ({ id: i }));
  debugger;
  document.title = 'done' + [million, list, map, deep, rows].length;
}`

func TestLargeValuesAreCutAndThePageGoesOn(t *testing.T) {
	w := e2etest.SharedWorld(t)
	a, p := w.OpenScript(t, large)
	a.Stop(p, "large()")
	begin := time.Now()
	s := a.TakeVariables(map[string]any{"depth": 50})
	t.Logf("%s: %+v", time.Since(begin), s.Notes)
	if notes := strings.Join(s.Notes, "; "); !strings.Contains(notes, "has more than 10000 properties") || !strings.Contains(notes, "over the capture limit") && !strings.Contains(notes, "took more than") {
		t.Errorf("%+v", s.Notes)
	}
	if v := a.Variables(map[string]any{"path": "list[999999]"}); v.Variables["local"]["list[999999]"] != "999999" {
		t.Errorf("%+v", v)
	}
	v := a.Variables(map[string]any{})
	if !strings.Contains(v.Variables["local"]["list"], "…") || !strings.HasPrefix(v.Variables["local"]["map"], "Map(20000)") {
		t.Errorf("%+v", v)
	}
	a.Debugger("debugger_resume", nil)
	p.WaitForTitle("done5")
}

func TestWorkersAndFramesAreThreadsOfTheirOwn(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{
		"/{$}":       e2etest.DebugPage,
		"/app.js":    `function here(n) { const place = 'page'; debugger; } new Worker('/worker.js'); document.body.append(Object.assign(document.createElement('iframe'), { src: '/frame' }));`,
		"/worker.js": `onmessage = () => {}; function there(n) { const place = 'worker'; debugger; } setTimeout(() => there(2), 300); setInterval(() => there(3), 400);`,
		"/frame":     `<script>function inFrame(n) { const place = 'frame'; debugger; }</script>`,
	})
	a := w.Debugs(t, s)
	p := w.Open(t, s.URL)
	at := a.Stop(p, "")
	if at.Kind != "worker" {
		t.Fatalf("%+v", at)
	}
	worker := a.TakeVariables(map[string]any{"thread": at.Thread, "label": "worker"})
	if worker.Thread != at.Thread || worker.Function != "there" {
		t.Errorf("%+v", worker)
	}
	p.Start(`frames[0].inFrame(5)`)
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		st := a.Debugger("debugger_state", map[string]any{"thread": 1})
		return st.State == "paused", nil
	}); err != nil {
		t.Fatal(err)
	}
	frame := a.TakeVariables(map[string]any{"thread": 1, "label": "frame"})
	has(t, frame.Variables, map[string]string{"local place": `"frame"`, "argument n": "5"})
	d := differ(a, "worker", "frame")
	if !d.ThreadMismatch || !slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, "different threads") }) {
		t.Errorf("%+v", d)
	}
	if text := a.Refused("snapshot_create", nil); !strings.Contains(text, "thread") {
		t.Error(text)
	}
	a.Debugger("debugger_resume", map[string]any{"thread": 1})
	a.Debugger("debugger_resume", map[string]any{"thread": at.Thread})
}

func TestSnapshotsEndWithTheirSession(t *testing.T) {
	w := e2etest.SharedWorld(t)
	a, p := w.OpenScript(t, `function go(n) { debugger; }`)
	a.Stop(p, "go(1)")
	for i := range 101 {
		s := a.TakeVariables(nil)
		if warned := slices.ContainsFunc(s.Notes, func(n string) bool { return strings.Contains(n, "101 snapshots") }); warned != (i == 100) {
			t.Fatalf("%d: %+v", i, s.Notes)
		}
	}
	if n := len(a.VariableSnapshots()); n != 101 {
		t.Errorf("%d are held", n)
	}
	p.Close()
	if err := testbed.Eventually(t.Context(), func() (bool, error) { return len(a.VariableSnapshots()) == 0, nil }); err != nil {
		t.Errorf("after the tab was closed: %v, %d", err, len(a.VariableSnapshots()))
	}
}

func TestATabThatIsClosedDuringACaptureIsAnErrorInWords(t *testing.T) {
	w := e2etest.SharedWorld(t)
	a, p := w.OpenScript(t, `function go() { const rows = Array.from({ length: 900 }, (_, i) => ({ i, more: { i, x: [{ i }] } })); debugger; }`)
	a.Stop(p, "go()")
	done := make(chan error, 1)
	go func() {
		_, err := a.Text("snapshot_create", map[string]any{"depth": 5})
		done <- err
	}()
	p.Close()
	select {
	case err := <-done:
		t.Logf("%v", err) // either it was in time, or it says what happened
	case <-time.After(testbed.Patience):
		t.Fatal("the capture never ended")
	}
}

func TestSnapshotsAndTracepointsNameTheProjectsFiles(t *testing.T) {
	w := e2etest.SharedWorld(t)
	dir := e2etest.BundledProject(t)
	e2etest.Bundle(t, "esbuild", "url", dir)
	s := e2etest.ServeBundle(t, dir, nil)
	a := w.NewAgent(t, "--origin", s.URL, "--tools", "observe,debug")
	p := w.Open(t, s.URL)
	a.Breakpoint(map[string]any{"url": "src/App.tsx", "line": 12})
	p.Start(`document.getElementById('break').click()`)
	a.Paused()
	if snap := a.TakeVariables(nil); !strings.HasPrefix(snap.Place, "src/App.tsx:12:") {
		t.Errorf("%+v", snap)
	}
	a.Debugger("debugger_resume", nil)
	args := map[string]any{"url": "cart/index.tsx", "line": 8, "paths": []string{"this"}, "limit": 1}
	if tr := a.Trace(args); len(tr.Places) != 1 {
		t.Errorf("%+v", tr)
	}
	p.Start(`location.reload()`)
	args["wait_ms"] = 15000
	if tr := a.Trace(args); tr.Hits != 1 {
		t.Errorf("%+v", tr)
	}
}

func TestAWorkerThatIsEndedDuringAPauseLetsThePageGoOnAndKeepsSnapshots(t *testing.T) {
	w := e2etest.SharedWorld(t)
	a, p := w.OpenScript(t, `function go(n) { debugger; document.title = 'went on ' + n; }`)
	a.Stop(p, "go(1)")
	before := a.TakeVariables(map[string]any{"label": "before"})
	w.EndWorker(t)
	p.WaitForTitle("went on 1")
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		text, err := a.Text("debugger_state", nil) // an error while nobody is connected
		return err == nil && strings.Contains(text, "restarted the extension"), nil
	}); err != nil {
		t.Fatal(err)
	}
	if held := a.VariableSnapshots(); len(held) != 1 {
		t.Errorf("%+v", held)
	}
	a.Stop(p, "go(2)")
	a.TakeVariables(map[string]any{"label": "after"})
	if d := differ(a, before.ID, "after"); len(d.Modified) != 1 || d.Modified[0].Old != "1" || d.Modified[0].New != "2" {
		t.Errorf("%+v", d)
	}
	a.Debugger("debugger_resume", nil)
	p.WaitForTitle("went on 2")
}

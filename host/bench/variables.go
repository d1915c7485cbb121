package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/debugger"
	"tidemark.dev/tidemark/host/internal/variables"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// What snapshots of variables promise.
const (
	budgetCapture    = 60 * time.Millisecond
	budgetDeep       = 500 * time.Millisecond
	budgetCompare    = 2 * time.Millisecond
	budgetPaths      = 150 * time.Millisecond
	budgetHit        = time.Millisecond      // of a page's time
	budgetScope      = 15 * time.Millisecond // of a page's time
	budgetCalls      = .4                    // of reading at each point
	budgetReadTokens = .2
)

// variables measures snapshots of variables and tracepoints in real Chromium, and comparisons by themselves.
func (r *run) variables() (err error) {
	s := r.sheet("Variables of a paused page")
	compareVariables(s)
	w, err := testbed.Start(r.binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	site := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/app.js" {
			out.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(out, variablesPage())
			return
		}
		out.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(out, `<!doctype html><title>bench</title><link rel="icon" href="data:,"><script src="/app.js"></script>`)
	}))
	defer site.Close()
	agent, err := w.Agent("--origin", site.URL, "--tools", "observe,debug")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agent.Close()) }()
	tab, err := w.Open(site.URL)
	if err != nil {
		return err
	}
	defer tab.Close()
	b := &variablesBench{run: r, sheet: s, agent: agent, tab: tab, count: newCounter()}
	for i, part := range []func() error{b.capture, b.deep, b.evolution, b.traces} {
		progress("variables: part %d …", i)
		if err := part(); err != nil {
			return errors.Join(fmt.Errorf("part %d: %w", i, err), s.print())
		}
	}
	return s.print()
}

// variablesPage has a function of fifty variables, one of a graph of 5,000 fields, and one that is called often.
func variablesPage() string {
	var p strings.Builder
	p.WriteString("function fifty(order) {\n")
	for i := range 44 {
		fmt.Fprintf(&p, "  let v%d = %s;\n", i, []string{fmt.Sprint(i), fmt.Sprintf("'text %d'", i), "null", "{ a: 1, b: 'two' }", "[1, 2, 3]"}[i%5])
	}
	p.WriteString(`  let retryCount = 0, status = 'idle', last; const cache = new Map([['k', 1]]), items = [{ sku: 'a', n: 1 }, { sku: 'b', n: 2 }];
  for (;;) {
    debugger;
    retryCount++; status = retryCount < 3 ? 'busy' : 'free'; order.customer.visits = retryCount; items[0].n += 2; cache.set('k', retryCount);
    if (retryCount === 5) break;
  }
  return [`)
	for i := range 44 {
		fmt.Fprintf(&p, "v%d,", i)
	}
	p.WriteString(`last];
}
function graph() {
  const rows = Array.from({ length: 450 }, (_, i) => ({ id: i, name: 'row ' + i, price: i / 2, tags: ['a'], at: null, on: true, parent: i - 1, left: i, right: -i, kind: 'x' }));
  debugger;
  return rows;
}
function often(retryCount, job) {
  const status = retryCount % 2 ? 'busy' : 'free';
  return status + job.left;
}
function many(n) {
  const began = performance.now();
  let out = '';
  for (let i = 0; i < n; i++) out = often(i, { left: n - i });
  return (performance.now() - began) / n;
}
`)
	return p.String()
}

type variablesBench struct {
	*run
	*sheet
	agent *testbed.Agent
	tab   *testbed.Tab
	count counter
}

func (b *variablesBench) call(tool string, args map[string]any, into any) error {
	text, err := b.agent.Text(tool, args)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal([]byte(text), into)
}

// stop has the page come to a debugger statement.
func (b *variablesBench) stop(script string) error {
	if err := b.call("debugger_pause", map[string]any{"exceptions": "none"}, nil); err != nil {
		return err
	}
	if err := b.tab.JS("setTimeout(() => {" + script + "}, 0)"); err != nil {
		return err
	}
	return testbed.Eventually(context.Background(), func() (bool, error) {
		var s debugger.DebuggerState
		err := b.call("debugger_state", map[string]any{"wait_ms": 5000}, &s)
		return s.State == "paused", err
	})
}

func (b *variablesBench) on(times int) error {
	for range times {
		if err := b.call("debugger_resume", map[string]any{"wait_ms": 2000}, nil); err != nil {
			return err
		}
	}
	return nil
}

// capture: fifty variables, without their fields.
func (b *variablesBench) capture() error {
	if err := b.stop("fifty({ total: 3, customer: { name: 'Ada', visits: 0 } })"); err != nil {
		return err
	}
	var times []time.Duration
	for range b.third(90) {
		var s debugger.VariableSnapshot
		took, err := timed(func() error { return b.call("snapshot_create", nil, &s) })
		if err != nil {
			return err
		}
		if s.Count != 50 {
			return fmt.Errorf("%d variables were captured, not 50", s.Count)
		}
		times = append(times, took)
	}
	b.within("snapshot_create, 50 variables, p50", quantile(times, .5), budgetCapture, b.byLoop(), "")
	if err := b.call("snapshot_clear", nil, nil); err != nil {
		return err
	}
	return b.call("debugger_resume", nil, nil)
}

// deep: a graph of 5,000 fields.
func (b *variablesBench) deep() error {
	if err := b.finish(); err != nil {
		return err
	}
	if err := b.stop("graph()"); err != nil {
		return err
	}
	var times []time.Duration
	for range b.third(15) {
		var s debugger.VariableSnapshot
		took, err := timed(func() error { return b.call("snapshot_create", map[string]any{"depth": 2}, &s) })
		if err != nil {
			return err
		}
		for _, n := range s.Notes {
			if strings.Contains(n, "too many") || strings.Contains(n, "took more") {
				return fmt.Errorf("not all was captured: %s", n)
			}
		}
		times = append(times, took)
	}
	b.within("snapshot_create, depth 2, 4,951 fields, p50", quantile(times, .5), budgetDeep, b.byLoop(), "")
	if err := b.call("snapshot_clear", nil, nil); err != nil {
		return err
	}
	return b.on(1)
}

// finish resumes until the page runs.
func (b *variablesBench) finish() error {
	return testbed.Eventually(context.Background(), func() (bool, error) {
		var s debugger.DebuggerState
		if err := b.call("debugger_state", map[string]any{"wait_ms": 200}, &s); err != nil || s.State == "running" {
			return s.State == "running", err
		}
		_, err := b.agent.Text("debugger_resume", nil)
		return false, err
	})
}

// evolution: what changed in a frame over five points, read and by snapshots.
func (b *variablesBench) evolution() error {
	type reading struct {
		tool string
		args map[string]any
	}
	// Reading takes the frame, and each object that may have changed.
	reads := []reading{{"variables_get", nil}}
	for _, path := range []string{"order", "order.customer", "items[0]", "items[1]", "cache"} {
		reads = append(reads, reading{"variables_get", map[string]any{"path": path, "depth": 1}})
	}
	cost := func(at func(point int) []reading) (calls, tokens int, err error) {
		if err := b.stop("fifty({ total: 3, customer: { name: 'Ada', visits: 0 } })"); err != nil {
			return 0, 0, err
		}
		for point := range 5 {
			for _, r := range at(point) {
				text, err := b.agent.Text(r.tool, r.args)
				if err != nil {
					return 0, 0, err
				}
				args, err := json.Marshal(r.args)
				if err != nil {
					return 0, 0, err
				}
				calls++
				tokens += b.count.tokens(text) + b.count.tokens(r.tool+string(args))
			}
			if err := b.on(1); err != nil {
				return 0, 0, err
			}
		}
		return calls, tokens, b.finish()
	}
	calls, tokens, err := cost(func(int) []reading { return reads })
	if err != nil {
		return err
	}
	took, paid, err := cost(func(int) []reading {
		return []reading{{"snapshot_create", map[string]any{"depth": 2}}}
	})
	if err != nil {
		return err
	}
	b.row("five points: calls, of reading at each", fmt.Sprintf("%d of %d, %.0f %%", took, calls, 100*float64(took)/float64(calls)), fmt.Sprintf("at most %.0f %%", 100*budgetCalls), float64(took) <= budgetCalls*float64(calls))
	b.row("five points: tokens, of reading at each", fmt.Sprintf("%d of %d, %.0f %%", paid, tokens, 100*float64(paid)/float64(tokens)), fmt.Sprintf("at most %.0f %%", 100*budgetReadTokens), float64(paid) <= budgetReadTokens*float64(tokens))
	b.note("Reading at each point: variables_get of the frame, and of the five objects that may have changed.")
	return nil
}

// traces: what a tracepoint costs a page each time.
func (b *variablesBench) traces() error {
	line := strings.Count(variablesPage()[:strings.Index(variablesPage(), "  return status + job.left")], "\n") + 1
	plain := func(n int) (float64, error) { return b.tab.Number(fmt.Sprintf("many(%d)", n)) }
	if _, err := plain(100); err != nil {
		return err
	}
	const hits = 300
	bare, err := plain(hits)
	if err != nil {
		return err
	}
	measure := func(what string, paths []string, n int, budget time.Duration) error {
		args := map[string]any{"url": "app.js", "line": line, "paths": paths, "limit": n + 1}
		if err := b.call("snapshot_trace", args, nil); err != nil {
			return err
		}
		if _, err := plain(1); err != nil { // the first hit is where it is found out what is there
			return err
		}
		each, err := plain(n)
		if err != nil {
			return err
		}
		var tr debugger.Trace
		if err := b.call("snapshot_trace", args, &tr); err != nil {
			return err
		}
		for wait := 0; tr.State != "done" && wait < 10; wait++ {
			args["wait_ms"] = 1000
			if err := b.call("snapshot_trace", args, &tr); err != nil {
				return err
			}
		}
		if tr.Hits != n+1 {
			return fmt.Errorf("%s: %d hits were recorded, not %d: %+v", what, tr.Hits, n+1, tr.Notes)
		}
		b.within(what, time.Duration((each-bare)*float64(time.Millisecond)), budget, b.byLoop(), "")
		return nil
	}
	for _, m := range []struct {
		what   string
		paths  []string
		n      int
		budget time.Duration
	}{
		{"tracepoint, two variables, a hit", []string{"retryCount", "status"}, hits, budgetHit},
		{"tracepoint, a variable and a field, a hit", []string{"retryCount", "job.left"}, hits, budgetHit},
		{"tracepoint, the whole scope, a hit", []string{}, b.third(60), budgetScope},
	} {
		if err := measure(m.what, m.paths, m.n, m.budget); err != nil {
			return err
		}
	}
	// The task of five points: one call sets it, the next one reads it.
	b.row("five points by a tracepoint: calls", "2", "at most 2", true)
	return nil
}

// compareVariables measures comparisons by themselves.
func compareVariables(s *sheet) {
	number := func(name string, n int) variables.Value {
		return variables.Value{Key: variables.Key{Name: name}, Type: "number", Text: fmt.Sprint(n)}
	}
	wide := func(generation int) *variables.Snapshot {
		out := &variables.Snapshot{}
		for i := range 200 {
			out.Variables = append(out.Variables, variables.Variable{Scope: variables.ScopeLocal, Value: number(fmt.Sprint("v", i), i*(1+i%2*generation))})
		}
		return out
	}
	deep := func(paths, generation int) *variables.Snapshot {
		list := variables.Value{Key: variables.Key{Name: "rows"}, Type: "Array", Object: true, Open: true}
		for i := range paths / 10 {
			row := variables.Value{Key: variables.Key{Kind: variables.KeyIndex, Index: i}, Type: "Row", Object: true, Open: true, Size: 9}
			for f := range 9 {
				row.Children = append(row.Children, number(fmt.Sprint("f", f), i*f+f/8*generation))
			}
			list.Children = append(list.Children, row)
		}
		list.Size = len(list.Children)
		return &variables.Snapshot{Variables: []variables.Variable{{Scope: variables.ScopeLocal, Value: list}}}
	}
	took := func(a, b *variables.Snapshot, n int) time.Duration {
		runtime.GC()
		// The shortest: what else the machine does makes single runs longer, never shorter.
		return best(n, func() { variables.Compare(a, b) })
	}
	few := took(wide(0), wide(1), 200)
	s.within("snapshot_diff, 200 variables each", few, budgetCompare, s.r.byLoop(), "")
	all := took(deep(100_000, 0), deep(100_000, 1), 15)
	s.within("snapshot_diff, 100,000 paths each, every tenth another", all, budgetPaths, s.r.byWalk(), "")
	// Both within the processor's caches, and both beyond them: in between is the step from the ones to the others.
	for _, n := range []int{25_000, 200_000} {
		once, twice := took(deep(n, 0), deep(n, 1), 15), took(deep(2*n, 0), deep(2*n, 1), 15)
		times := float64(twice) / float64(once)
		s.row(fmt.Sprintf("%d,000 paths take, of %d,000 (%s)", 2*n/1000, n/1000, ms(once)), fmt.Sprintf("%.1f times", times), "at most 2.6 times", times <= 2.6)
	}
}

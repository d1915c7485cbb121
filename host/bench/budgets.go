package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/engine"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/window"
	"tidemark.dev/tidemark/protocol"
)

// The budgets of both specifications.
const (
	budgetResolve = time.Millisecond
	budgetCreate  = time.Millisecond
	budgetMemory  = 100 << 10 // bytes for all named checkpoints together
)

// comparisons are the computations of a report: the specification's budget, and how many times as long as [grouped]
// each may take over the same entries. Beyond grouping, messages are compared without their numbers, so that a burst is one entry,
// failed requests by their queries, and both with each other, so that a failure that a page logs and shows is one entry.
var comparisons = []struct {
	what    string
	include []capture.Section // nil is all
	has     func(protocol.Event) bool
	budget  time.Duration
	most    float64
}{
	{fmt.Sprintf("console diff of %d", newConsole), []capture.Section{capture.ConsoleSection}, is[protocol.ConsoleEvent], 10 * time.Millisecond, 1.4},
	{fmt.Sprintf("network diff of %d", newNetwork), []capture.Section{capture.NetworkSection}, is[protocol.NetworkEvent], 5 * time.Millisecond, .85},
	{fmt.Sprintf("websocket diff of %d", newSockets), []capture.Section{capture.WebSocketSection}, is[protocol.WebSocketEvent], 5 * time.Millisecond, 1.1},
	{fmt.Sprintf("actions diff of %d", newActions), []capture.Section{capture.ActionsSection}, is[protocol.ActionEvent], 2 * time.Millisecond, .25},
	{"all sections", nil, is[protocol.Event], 20 * time.Millisecond, 1.4},
}

func is[E any](e protocol.Event) bool {
	_, ok := e.(E)
	return ok
}

// budgets measures what each computation costs by itself, inside one process: of a page with a bad
// edit, and of one where everything is an error and no two are alike.
func (r *run) budgets() error {
	s := r.sheet("Each computation by itself, median where nothing but different errors is new (and of a usual page)")
	now := time.Now()
	rules := noise.Default()
	var froms [2]capture.Moment
	var views [2]*capture.View
	for i, worst := range []bool{false, true} {
		f := newFeed(now)
		froms[i] = f.store.View(now).Now()
		f.give(round(now, worst), now)
		views[i] = f.store.View(now)
	}
	specified := func(what string, usual, worst, budget time.Duration) {
		s.within(what, worst, budget, r.byLoop(), fmt.Sprintf("%s (usual %s)", ms(worst), ms(usual)))
	}
	compare := func(what string, budget time.Duration, do func(i int)) {
		specified(what, median(200, func() { do(0) }), median(200, func() { do(1) }), budget)
	}
	for _, c := range comparisons {
		o := window.Options{Include: c.include, Noise: rules}
		var entries []protocol.Event
		for _, e := range round(now, true) {
			if c.has(e) {
				entries = append(entries, e)
			}
		}
		usual := median(200, func() { diff.Compute(froms[0], views[0], o) })
		worst, reference, times := paired(400, func() { diff.Compute(froms[1], views[1], o) }, func() { grouped(entries) })
		specified(c.what, usual, worst, c.budget)
		s.row(c.what+" / grouping the same entries by their JSON", fmt.Sprintf("%.2f times (%s, %s)", times, ms(worst), ms(reference)), fmt.Sprintf("at most %s times", plain(c.most)), times <= c.most)
	}
	// Behind every entry: the farthest to go.
	compare("resolve a checkpoint by time", budgetResolve, func(i int) { views[i].MomentAt(now) })

	var named checkpoint.Registry
	for i := range checkpoint.MaxNamed {
		if _, err := named.Create(checkpoint.Checkpoint{Name: "before_" + strings.ToLower(word(i)), Moment: froms[0]}); err != nil {
			return err
		}
	}
	last := "before_" + strings.ToLower(word(checkpoint.MaxNamed-1))
	var failed error
	compare("resolve a checkpoint by name", budgetResolve, func(int) {
		if _, err := named.Get("", last); err != nil {
			failed = err
		}
	})
	client := &checkpoint.Client{}
	var engines [2]*engine.Engine
	for i, worst := range []bool{false, true} {
		f := newFeed(now)
		f.give(round(now, worst), now)
		engines[i] = engine.New(engine.Options{Store: f.store, Noise: rules, Clock: func() time.Time { return now }, Location: time.UTC})
	}
	compare("create a checkpoint, and say how things stand", budgetCreate, func(i int) {
		if _, err := engines[i].Observer.CheckpointCreate(context.Background(), client, observe.CheckpointParams{Name: "session_start"}); err != nil {
			failed = err
		}
	})
	held := checkpointMemory()
	s.row(fmt.Sprintf("memory of %d checkpoints of %d endpoints", checkpoint.MaxNamed, newNetwork), fmt.Sprintf("%.1f KB", float64(held)/1024),
		fmt.Sprintf("at most %d KB", budgetMemory>>10), held <= budgetMemory)
	if failed != nil {
		return failed
	}
	return s.print()
}

// grouped is the reference for computations over entries, measured in turn with them: it encodes each with
// encoding/json, groups those of the same text in a map, and sorts the groups by their size.
func grouped[E any](entries []E) int {
	type group struct {
		text  string
		count int
	}
	known := map[string]*group{}
	var groups []*group
	for _, e := range entries {
		data, err := json.Marshal(e)
		if err != nil {
			panic(err) // plain values
		}
		text := string(data)
		g := known[text]
		if g == nil {
			g = &group{text: text}
			known[text] = g
			groups = append(groups, g)
		}
		g.count++
	}
	slices.SortStableFunc(groups, func(a, b *group) int { return b.count - a.count })
	return len(groups)
}

// checkpointMemory is what as many checkpoints as there can be hold on to, the state of every endpoint
// changing between any two.
func checkpointMemory() int {
	now := time.Now()
	f := newFeed(now)
	var requests []protocol.Event
	for _, e := range round(now, true) {
		if n, ok := e.(protocol.NetworkEvent); ok {
			requests = append(requests, n)
		}
	}
	held := make([]capture.Moment, checkpoint.MaxNamed)
	for i := range held {
		f.give(requests, now)
		held[i] = f.store.View(now).Now()
	}
	f.give(requests, now) // so that the newest table is not the last checkpoint's
	with := heap()
	clear(held)
	without := heap()
	runtime.KeepAlive(held)
	runtime.KeepAlive(f)
	return max(0, with-without)
}

// heap is what is in use.
func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func median(n int, do func()) time.Duration {
	var list []time.Duration
	for range n {
		began := time.Now()
		do()
		list = append(list, time.Since(began))
	}
	return quantile(list, .5)
}

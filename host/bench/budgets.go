package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/engine"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/protocol"
)

// The budgets of both specifications; each computation is held to a tenth of its own.
const (
	budgetResolve = time.Millisecond
	budgetCreate  = time.Millisecond
	budgetDiff    = 20 * time.Millisecond
	budgetMemory  = 100 << 10 // bytes for all named checkpoints together
)

var sectionBudgets = []struct {
	section capture.Section
	entries int
	budget  time.Duration
}{
	{capture.ConsoleSection, newConsole, 10 * time.Millisecond},
	{capture.NetworkSection, newNetwork, 5 * time.Millisecond},
	{capture.WebSocketSection, newSockets, 5 * time.Millisecond},
	{capture.ActionsSection, newActions, 2 * time.Millisecond},
}

// budgets measures what each computation costs by itself, inside one process: of a page with a bad
// edit, and of one where everything is an error and no two are alike.
func (r *run) budgets() error {
	s := r.sheet("Each computation by itself, median where nothing but different errors is new (and of a usual page), against a tenth of its budget")
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
	compare := func(what string, budget time.Duration, do func(i int)) {
		usual, worst := median(200, func() { do(0) }), median(200, func() { do(1) })
		s.within(what, worst, budget/10, fmt.Sprintf("%s (usual %s)", ms(worst), ms(usual)))
	}
	for _, b := range sectionBudgets {
		o := diff.Options{Include: []capture.Section{b.section}, Noise: rules}
		compare(fmt.Sprintf("%s diff of %d", b.section, b.entries), b.budget, func(i int) { diff.Compute(froms[i], views[i], o) })
	}
	compare("all sections", budgetDiff, func(i int) { diff.Compute(froms[i], views[i], diff.Options{Noise: rules}) })
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

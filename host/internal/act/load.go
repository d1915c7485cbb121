package act

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/launch"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/protocol"
)

// renderGrace is how long a page without content and without requests may take to render something.
const renderGrace = time.Second

// UntilLoaded implements [launch.Loader]. It waits as for a navigation, and then for a page that has not rendered anything:
// while it has requests in flight, or for [renderGrace].
func (a *Actor) UntilLoaded(ctx context.Context, id int) launch.Loaded {
	var state launch.Loaded
	instance, browserTab, ok := a.store.BrowserTab(id)
	if !ok || a.hands == nil || a.pages.Paused(id) != nil {
		return state // the look at the page reports why
	}
	deadline := a.clock().Add(loadTimeout)
	ask := func(step protocol.ActStep, within time.Duration) (*protocol.ActResult, error) {
		return a.do(ctx, id, instance, browserTab, []protocol.ActStep{step}, action{settle: max(within, 1)}, nil, false)
	}
	result, err := ask(protocol.ActStep{Op: protocol.StepRest, Texts: []string{protocol.RestAll}}, loadTimeout)
	switch {
	case err != nil:
	case result.Dialog != nil:
		return state // the look at the page reports it
	case result.Refused == protocol.RefusedLoad:
		return launch.Loaded{Failed: result.Text}
	}
	// Another failure says nothing about the page: it may have been replaced meanwhile.
	waiting := err == nil && len(result.Waiting) > 0
	for idle := (time.Time{}); ; {
		now := a.clock()
		state = launch.Loaded{Requests: inFlight(a, id), Empty: !a.hasContent(ctx, id)}
		state.Loading = !now.Before(deadline) && (waiting || state.Empty && state.Requests > 0)
		// The time without requests counts from the first look that found none, not from their last end: a busy machine may
		// take long between two looks.
		switch {
		case state.Requests > 0:
			idle = time.Time{}
		case idle.IsZero():
			idle = a.clock().Add(renderGrace)
		case !now.Before(idle):
			return state
		}
		if !state.Empty || !now.Before(deadline) || ctx.Err() != nil || a.pages.Paused(id) != nil {
			return state
		}
		changed := a.store.Changed()
		if r, err := ask(protocol.ActStep{Op: protocol.StepChange}, min(deadline.Sub(now), lookAgain)); err != nil || r.Refused != "" {
			select {
			case <-ctx.Done():
			case <-changed:
			case <-time.After(lookAgain):
			}
		}
	}
}

// Problems implements [launch.Loader]. Those that the client was already given are left out.
func (a *Actor) Problems(ctx context.Context, client *checkpoint.Client, id int, since capture.Moment) []string {
	t := a.pages.Tab(id)
	t.Lock()
	v := a.store.View(a.clock())
	a.pages.MarkReported(t, client, v.Now())
	t.Unlock()
	answer := &Answer{Late: &Late{}}
	loaded := &finished{outcome: outcome{id: id, from: since, began: since.At.UnixMilli()}, v: v, answer: answer}
	err := give(ctx, a, client, loaded, func(caused, _ []diff.Consequence, _ *observe.Places) { answer.Broke, _ = broken(caused) })
	if err != nil {
		return nil
	}
	var lines []string
	for _, c := range answer.Broke[:min(len(answer.Broke), MaxBroke)] {
		lines = append(lines, c.Line())
	}
	if more := len(answer.Broke) - MaxBroke; more > 0 {
		lines = append(lines, fmt.Sprintf("%d more: call get_changes_since", more))
	}
	return lines
}

// Reload implements [launch.Loader].
func (a *Actor) Reload(ctx context.Context, client *checkpoint.Client, id int) error {
	instance, browserTab, ok := a.store.BrowserTab(id)
	if !ok || a.hands == nil {
		return nil // the look at the page reports why
	}
	ctx, release, err := a.take(ctx, client, id, "reload")
	if err != nil {
		return err
	}
	defer release()
	_, err = a.do(ctx, id, instance, browserTab, []protocol.ActStep{{Op: protocol.StepNavigate, Texts: []string{"reload"}}}, action{settle: time.Millisecond}, nil, false)
	return err
}

// emptyWait is how long the report may take that a page is empty whose code failed.
const emptyWait = 1300 * time.Millisecond

// untilEmpty waits until it is reported that a page is empty, if its code failed since the action began.
func untilEmpty(ctx context.Context, a *Actor, id int, began int64) {
	timer := time.NewTimer(emptyWait)
	defer timer.Stop()
	for {
		changed := a.store.Changed()
		v := a.store.View(a.clock())
		if !slices.ContainsFunc(v.Tabs, func(t capture.Tab) bool { return t.ID == id && t.DOM && t.Failed >= began }) || v.DOMState.Empty()[id] != 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-changed:
		}
	}
}

// inFlight returns how many requests of a tab have not ended.
func inFlight(a *Actor, id int) (count int) {
	for _, f := range a.store.View(a.clock()).Flights {
		if f.Tab == id && !f.Polling {
			count++
		}
	}
	return count
}

// hasContent reports whether a page was read and has content.
func (a *Actor) hasContent(ctx context.Context, id int) bool {
	t := a.pages.Tab(id)
	t.Lock()
	defer t.Unlock()
	tree, err := a.pages.Look(ctx, id, t, false)
	return err == nil && len(tree.Root.Children) > 0
}

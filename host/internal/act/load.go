package act

import (
	"context"
	"time"

	"tidemark.dev/tidemark/host/internal/launch"
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
	if err != nil || result.Refused != "" || result.Dialog != nil {
		return state
	}
	for idle := a.clock().Add(renderGrace); ; {
		now := a.clock()
		state = launch.Loaded{Requests: a.inFlight(id), Empty: a.isEmpty(ctx, id)}
		state.Loading = !now.Before(deadline) && (len(result.Waiting) > 0 || state.Empty && state.Requests > 0)
		if state.Requests > 0 {
			idle = now.Add(renderGrace)
		}
		if !state.Empty || !now.Before(deadline) || !now.Before(idle) || ctx.Err() != nil {
			return state
		}
		if _, err := ask(protocol.ActStep{Op: protocol.StepChange}, min(deadline.Sub(now), idle.Sub(now), lookAgain)); err != nil {
			return state
		}
	}
}

// inFlight returns how many requests of a tab have not ended.
func (a *Actor) inFlight(id int) (count int) {
	for _, f := range a.store.View(a.clock()).Flights {
		if f.Tab == id && !f.Polling {
			count++
		}
	}
	return count
}

// isEmpty reports whether a page was read and has no content.
func (a *Actor) isEmpty(ctx context.Context, id int) bool {
	t := a.pages.Tab(id)
	t.Lock()
	defer t.Unlock()
	tree, err := a.pages.Look(ctx, id, t, false)
	return err == nil && len(tree.Root.Children) == 0
}

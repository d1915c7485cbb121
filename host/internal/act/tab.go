package act

import (
	"context"
	"errors"
	"time"

	"tidemark.dev/tidemark/host/internal/aria"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/protocol"
)

// actingTab is a tab during an action. Its lock is held except while waiting for the browser.
type actingTab struct {
	actor      *Actor
	id         int
	instance   string
	browserTab int
	tab        *pages.Tab
	refs       *references
	action     action
	steps      []protocol.ActStep // the last ones sent
	names      []string           // of their elements, as the agent was shown them
	// before is the page before the first step; nil if it was never read.
	before *aria.Tree
	// follows is the tree on which the page of the last result is based.
	follows *aria.Tree
	// began is when the first step began to take effect, in milliseconds since the Unix epoch; 0 if none did.
	began int64
}

// resolved returns the steps of the action. If an element is not on the page, as while a dialog hides it, the page is read again: it may
// be back. A wait goes on until it is.
func (t *actingTab) resolved(ctx context.Context, client *checkpoint.Client) ([]protocol.ActStep, error) {
	steps, err := t.action.steps(t.refs)
	var away *missing
	for deadline := t.actor.clock().Add(t.action.timeout); errors.As(err, &away) && t.actor.pages.Left(client, t.id) == nil; {
		if _, err := t.actor.pages.Look(ctx, t.id, t.tab, false); err != nil {
			return nil, err
		}
		again, missed := t.action.steps(t.refs)
		if missed == nil && !t.refs.certain(again) {
			break
		}
		left := deadline.Sub(t.actor.clock())
		if steps, err = again, missed; t.action.waits == "" || left <= 0 || !errors.As(err, &away) {
			break
		}
		change := action{settle: min(left, lookAgain)}
		if result, err := t.send(ctx, []protocol.ActStep{{Op: protocol.StepChange}}, change, nil, false); err != nil {
			return nil, err
		} else if stops(result, nil) {
			break
		}
		t.action.timeout = max(deadline.Sub(t.actor.clock()), time.Millisecond)
		t.action.settle = t.action.timeout
	}
	return steps, err
}

// do sends more steps to the browser.
func (t *actingTab) do(ctx context.Context, steps []protocol.ActStep) (*protocol.ActResult, error) {
	untouched := t.began == 0
	t.steps, t.names = steps, nil
	for _, s := range steps {
		t.names = append(t.names, t.refs.named(s.Path))
	}
	t.follows = t.tab.Page.Tree()
	result, err := t.send(ctx, steps, t.action, t.look(), untouched && t.action.waits == "")
	if err != nil {
		return nil, err
	}
	if untouched && t.action.waits == "" {
		if result.Done > 0 {
			t.began = result.Began
		}
		t.before = t.follows
		if result.Before != nil {
			now, err := t.tab.Apply(t.follows, result.Before)
			if err == nil {
				t.before, t.follows = now, now
			} else {
				result.Page = nil // it is based on Before
			}
		}
	}
	return result, nil
}

// send sends steps to the browser and waits without the tab's lock.
func (t *actingTab) send(ctx context.Context, steps []protocol.ActStep, act action, look *protocol.AriaParams, before bool) (result *protocol.ActResult, err error) {
	t.tab.Unlocked(func() { result, err = t.actor.do(ctx, t.id, t.instance, t.browserTab, steps, act, look, before) })
	return result, err
}

// look is the request to read the page after the action; nil for none.
func (t *actingTab) look() *protocol.AriaParams {
	if t.action.blind {
		return nil
	}
	return &protocol.AriaParams{Tab: t.browserTab, Known: t.tab.Page.Known(), TimeoutMs: int(pages.PageTimeout.Milliseconds())}
}

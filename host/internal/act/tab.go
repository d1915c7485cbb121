package act

import (
	"context"

	"tidemark.dev/tidemark/host/internal/aria"
	"tidemark.dev/tidemark/host/internal/pages"
	"tidemark.dev/tidemark/protocol"
)

// actingTab is a tab that is being acted on. Its lock is held but for the time in which the browser is waited for.
type actingTab struct {
	actor      *Actor
	id         int
	instance   string
	browserTab int
	tab        *pages.Tab
	refs       *references
	action     action
	steps      []protocol.ActStep // the last that were done
	names      []string           // of their elements, as the agent knew them
	// before is the page as it was before anything was done; nil when nobody has looked at it.
	before *aria.Tree
	// follows is the page that the last answer's is relative to.
	follows *aria.Tree
	// began is when the first step began to have an effect, in milliseconds since the Unix epoch; 0 when none had.
	began int64
}

// do has the browser do more steps.
func (t *actingTab) do(ctx context.Context, steps []protocol.ActStep) (*protocol.ActResult, error) {
	untouched := t.began == 0
	t.steps, t.names = steps, nil
	for _, s := range steps {
		t.names = append(t.names, t.refs.named(s.Path))
	}
	t.follows = t.tab.Page.Tree()
	result, err := t.send(ctx, steps, t.action, t.look(), untouched && !t.action.waits)
	if err != nil {
		return nil, err
	}
	if untouched && !t.action.waits {
		if result.Done > 0 {
			t.began = result.Began
		}
		t.before = t.follows
		if result.Before != nil {
			now, err := t.tab.Apply(t.follows, result.Before)
			if err == nil {
				t.before, t.follows = now, now
			} else {
				result.Page = nil // it would follow on this one
			}
		}
	}
	return result, nil
}

// send has the browser do steps, and waits without the tab's lock.
func (t *actingTab) send(ctx context.Context, steps []protocol.ActStep, a action, look *protocol.AriaParams, before bool) (result *protocol.ActResult, err error) {
	t.tab.Unlocked(func() { result, err = t.actor.do(ctx, t.id, t.instance, t.browserTab, steps, a, look, before) })
	return result, err
}

// look is what the browser is to tell of the page once the action is over; nil for nothing.
func (t *actingTab) look() *protocol.AriaParams {
	if t.action.blind {
		return nil
	}
	return &protocol.AriaParams{Tab: t.browserTab, Known: t.tab.Page.Known(), TimeoutMs: int(pages.PageTimeout.Milliseconds())}
}

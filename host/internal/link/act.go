package link

import (
	"context"
	"errors"
	"time"

	"tidemark.dev/tidemark/protocol"
)

// stopTimeout bounds the stop request to a browser.
const stopTimeout = time.Second

// Act implements engine.Hands: it makes a browser act on one of its tabs.
func (h *Hub) Act(ctx context.Context, instance string, params protocol.ActParams, within time.Duration) (*protocol.ActResult, error) {
	raw, err := h.Ask(ctx, instance, protocol.MethodAct, params, within)
	if (ctx.Err() != nil || errors.Is(err, errLate)) && !params.Looks() {
		// The caller no longer waits, so stop the remaining steps. A read-only request ends without a stop, because
		// another agent may act on the tab.
		stop := protocol.ActParams{Tab: params.Tab, Steps: []protocol.ActStep{{Op: protocol.StepStop}}}
		_, _ = h.Ask(context.WithoutCancel(ctx), instance, protocol.MethodAct, stop, stopTimeout)
	}
	if err != nil {
		return nil, err
	}
	result, bad := h.decoder.Act(raw)
	if bad != nil {
		return nil, bad
	}
	return result, nil
}

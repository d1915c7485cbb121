package link

import (
	"context"
	"errors"
	"time"

	"tidemark.dev/tidemark/protocol"
)

// stopTimeout is how long a browser may take to hear that nothing more is to be done.
const stopTimeout = time.Second

// Act implements engine.Hands: it has a browser act on one of its tabs.
func (h *Hub) Act(ctx context.Context, instance string, params protocol.ActParams, within time.Duration) (*protocol.ActResult, error) {
	raw, err := h.Ask(ctx, instance, protocol.MethodAct, params, within)
	if (ctx.Err() != nil || errors.Is(err, errLate)) && !params.Looks() {
		// Nobody waits for it any longer: what is left of it is not to be done. What only looks is left to end by
		// itself, since another agent may act on the tab.
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

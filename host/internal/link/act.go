package link

import (
	"context"
	"time"

	"tidemark.dev/tidemark/protocol"
)

// Act implements engine.Hands: it has a browser act on one of its tabs.
func (h *Hub) Act(ctx context.Context, instance string, params protocol.ActParams, within time.Duration) (*protocol.ActResult, error) {
	raw, err := h.Ask(ctx, instance, protocol.MethodAct, params, within)
	if err != nil {
		return nil, err
	}
	result, bad := h.decoder.Act(raw)
	if bad != nil {
		return nil, bad
	}
	return result, nil
}

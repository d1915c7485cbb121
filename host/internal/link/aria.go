package link

import (
	"context"
	"time"

	"tidemark.dev/tidemark/protocol"
)

// Aria implements engine.Pages: it asks a browser for the accessibility tree of one of its tabs, or for
// what changed in it.
func (h *Hub) Aria(ctx context.Context, instance string, params protocol.AriaParams) (*protocol.AriaResult, error) {
	// The extension answers by itself when its time is over; a little more is for the way.
	raw, err := h.Ask(ctx, instance, protocol.MethodAria, params, time.Duration(params.TimeoutMs)*time.Millisecond+6*time.Second)
	if err != nil {
		return nil, err
	}
	result, bad := h.decoder.Aria(raw)
	if bad != nil {
		return nil, bad
	}
	return result, nil
}

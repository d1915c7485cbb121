package link

import (
	"context"
	"time"

	"tidemark.dev/tidemark/protocol"
)

// Aria implements engine.Pages: it asks a browser for the accessibility tree of one of its tabs, or for the
// changes in it.
func (h *Hub) Aria(ctx context.Context, instance string, params protocol.AriaParams) (*protocol.AriaResult, error) {
	// The extension answers at its own time limit. The extra time is for the transport.
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

package link

import (
	"context"
	"errors"
	"time"

	"tidemark.dev/tidemark/protocol"
)

// Aria implements engine.Pages: it asks a browser for the accessibility tree of one of its tabs, or for
// what changed in it.
func (h *Hub) Aria(ctx context.Context, instance string, params protocol.AriaParams) (*protocol.AriaResult, error) {
	var c *conn
	h.mu.Lock()
	for known := range h.conns {
		if known.instance == instance {
			c = known
		}
	}
	h.mu.Unlock()
	if c == nil {
		return nil, errEnded
	}
	// The extension answers by itself when its time is over; a little more is for the way.
	ctx, cancel := context.WithTimeout(ctx, time.Duration(params.TimeoutMs)*time.Millisecond+6*time.Second)
	defer cancel()
	raw, err := c.ask(ctx, protocol.MethodAria, params)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, errors.New("the browser did not answer in time")
	}
	if err != nil {
		return nil, err
	}
	result, bad := h.decoder.Aria(raw)
	if bad != nil {
		return nil, bad
	}
	return result, nil
}

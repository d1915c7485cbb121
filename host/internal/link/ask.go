package link

import (
	"context"
	"errors"
	"time"
)

var (
	errNotConnected = errors.New("its browser is not connected")
	errLate         = errors.New("the browser did not respond in time")
)

// Ask sends a request to the extension of a browser instance and returns the answer unchanged. The error is the
// extension's own, or reports that the browser is disconnected or did not respond in time.
func (h *Hub) Ask(ctx context.Context, instance, method string, params any, within time.Duration) ([]byte, error) {
	h.mu.Lock()
	c := h.conns[instance]
	h.mu.Unlock()
	if c == nil {
		return nil, errNotConnected
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	raw, err := c.ask(ctx, method, params)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, errLate
	}
	return raw, err
}

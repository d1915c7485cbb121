package link

import (
	"context"
	"errors"
	"time"
)

var (
	errNotConnected = errors.New("its browser is not connected")
	errLate         = errors.New("the browser did not answer in time")
)

// Ask puts a request to the extension of a browser (its instance) and returns the answer as it came, an
// error of the extension's own words, or one of a browser that is gone or answers too late.
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

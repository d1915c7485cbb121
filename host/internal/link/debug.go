package link

import (
	"context"
	"time"
)

// Debug implements engine.Debugger: it calls a debugging method of a browser and reads its answer.
func (h *Hub) Debug(ctx context.Context, instance, method string, params, answer any, within time.Duration) error {
	raw, err := h.Ask(ctx, instance, method, params, within)
	if err != nil {
		return err
	}
	if bad := h.decoder.Debug(raw, answer); bad != nil {
		return bad
	}
	return nil
}

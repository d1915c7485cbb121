// Package blank waits until it is known whether pages became empty because their code failed.
//
// It guarantees: a wait ends within [most], and at once if no code failed just before.
package blank

import (
	"context"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// most bounds a wait. A page reports that it is empty at most 1.3 s after an error.
const most = 1500 * time.Millisecond

// Await waits until it is known of the pages in a scope whose code failed since a time whether they are empty.
func Await(ctx context.Context, store *capture.Store, clock func() time.Time, since time.Time, inScope func(event.Subject) bool) {
	end := time.NewTimer(most)
	defer end.Stop()
	for {
		changed := store.Changed()
		now := clock()
		left := unknown(store.View(now), now, since, inScope)
		if left <= 0 {
			return
		}
		known := time.NewTimer(left)
		select {
		case <-ctx.Done():
		case <-end.C:
		case <-known.C:
			continue
		case <-changed:
			known.Stop()
			continue
		}
		known.Stop()
		return
	}
}

// unknown returns how long it may take until that is known; 0 if it is.
func unknown(v *capture.View, now, since time.Time, inScope func(event.Subject) bool) (left time.Duration) {
	for i := range v.Tabs {
		t := &v.Tabs[i]
		if inScope(t.Subject()) && t.Thrown >= since.UnixMilli() {
			left = max(left, v.EmptyKnownAt(t, now).Sub(now))
		}
	}
	return left
}

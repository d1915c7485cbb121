package sessiontree

import (
	"context"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
)

// Made is a [timeline.Made]. A change that was recorded has better bounds of its time than the snapshots around it.
func (f *Finder) Made(ctx context.Context, changes []event.FileChange) (calls, prompts []string) {
	calls, prompts = make([]string, len(changes)), make([]string, len(changes))
	if len(changes) == 0 || !f.Conversations.Any() {
		return calls, prompts
	}
	changes = slices.Clone(changes)
	from, to := changes[0].At, changes[0].At
	for _, c := range changes {
		from, to = min(from, c.At), max(to, c.At)
	}
	// The changes begin after the first time.
	f.changes(ctx, []string{changes[0].Place}, time.UnixMilli(from-1), time.UnixMilli(to), func(e *event.FileChange) {
		if i := slices.IndexFunc(changes, func(c event.FileChange) bool { return c.Snapshot == e.Snapshot && c.Path == e.Path }); i >= 0 {
			changes[i] = *e
		}
	})
	for i := range changes {
		calls[i], prompts[i] = f.Conversations.MadeBy(&changes[i])
	}
	return calls, prompts
}

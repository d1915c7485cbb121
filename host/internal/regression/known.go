package regression

import (
	"time"

	"tidemark.dev/tidemark/host/internal/cause"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/timeline"
)

// KnownIn returns what a timeline knows of changes.
func KnownIn(t *timeline.Timeline) cause.Known {
	return cause.Known{
		Elsewhere: ElsewhereIn(t),
		Hidden:    func(e *event.FileChange) bool { return timeline.Hides(t, e) },
		Reported: func(root string, from, to int64) []string {
			return timeline.Edited(t, root, time.UnixMilli(from), time.UnixMilli(to))
		},
	}
}

// knownSince is the same without what was reported before a time. The changes from before it are not read.
func knownSince(k cause.Known, began time.Time) cause.Known {
	if reported := k.Reported; reported != nil {
		k.Reported = func(root string, from, to int64) []string { return reported(root, max(from, began.UnixMilli()), to) }
	}
	return k
}

package timeline

import (
	"context"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
)

// Course returns the severity of the browser in each stretch of a session in a workspace, as a client sees it: from each time
// to the one of the same index, of which a zero one means now. It is "" where nothing bad is known of a stretch that was not
// fully observed.
type Course func(ctx context.Context, client *checkpoint.Client, workspace string, from, to []time.Time) []diff.Severity

// SetCourse has lists of moments tell the severities. It is called before the timeline is used.
func SetCourse(t *Timeline, course Course) { t.course = course }

// endsOf returns when the stretches of a session's moments end, by their numbers. The last one has none while the session
// is open.
func endsOf(moments []*Moment, s *Session) map[uint64]time.Time {
	ends := make(map[uint64]time.Time, len(moments))
	for i, m := range moments {
		if i > 0 {
			ends[moments[i-1].Number] = m.At
		}
		ends[m.Number] = s.Ended
	}
	return ends
}

// courseOf returns the severities after moments.
func courseOf(ctx context.Context, t *Timeline, client *checkpoint.Client, s *Session, moments []*Moment, ends map[uint64]time.Time) []diff.Severity {
	if t.course == nil || len(moments) == 0 {
		return make([]diff.Severity, len(moments))
	}
	from, to := make([]time.Time, len(moments)), make([]time.Time, len(moments))
	for i, m := range moments {
		from[i], to[i] = m.At, ends[m.Number]
	}
	return t.course(ctx, client, s.Workspace, from, to)
}

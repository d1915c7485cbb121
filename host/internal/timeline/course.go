package timeline

import (
	"context"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/timeline/records"
)

// Course returns the severity of the browser in each stretch of a session in a workspace, as a client sees it: from each time
// to the one of the same index, of which a zero one means now. It is "" where nothing bad is known of a stretch that was not
// fully observed.
type Course func(ctx context.Context, client *checkpoint.Client, workspace string, from, to []time.Time) []report.Severity

// SetCourse has lists of moments tell the severities. It is called before the timeline is used.
func SetCourse(t *Timeline, course Course) { t.course = course }

// courseOf returns the severities after some moments of a session, each up to the next of all, in their order. The last
// stretch has no end while the session is open. First is what [firstOf] returns of them.
func courseOf(ctx context.Context, t *Timeline, client *checkpoint.Client, s *records.Session, all, moments []*records.Moment, first map[uint64]*records.Moment) []report.Severity {
	if t.course == nil || len(moments) == 0 {
		return make([]report.Severity, len(moments))
	}
	from, to := make([]time.Time, len(moments)), make([]time.Time, len(moments))
	next := 0
	for i, m := range all {
		if next == len(moments) {
			break
		}
		if m.Number != moments[next].Number {
			continue
		}
		begin := func(i int) time.Time {
			if i == 0 {
				return all[0].At
			}
			return begins(all[i], all[i-1].At, first)
		}
		from[next], to[next] = begin(i), s.Ended
		if i+1 < len(all) {
			to[next] = begin(i + 1)
		}
		next++
	}
	return t.course(ctx, client, s.Workspace, from, to)
}

// begins returns from when on what happens may be of a moment: since the first of its files was written, which its hook reports
// later, but not before an earlier moment.
func begins(m *records.Moment, before time.Time, first map[uint64]*records.Moment) time.Time {
	if one := first[m.Snapshot]; m.Placed || one == nil || one.Number != m.Number || m.Edited.IsZero() || m.Edited.After(m.At) {
		return m.At
	}
	if m.Edited.Before(before) {
		return before
	}
	return m.Edited
}

package timeline

import (
	"context"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
)

// Stretch is how the browser did for a time.
type Stretch struct {
	// Severity is that of what the browser reported, error if the page was still broken by what had come before, and "" where
	// nothing bad is known and not everything was observed.
	Severity report.Severity
	// Since is when what was wrong first appeared, if that was before the stretch and nothing else went wrong.
	Since time.Time
}

// Course returns how the browser did in each stretch of a session in a workspace, as a client sees it: from each time to the one
// of the same index, of which a zero one means now.
type Course func(ctx context.Context, client *checkpoint.Client, workspace string, from, to []time.Time) []Stretch

// SetCourse has lists of moments tell the severities. It is called before the timeline is used.
func SetCourse(t *Timeline, course Course) { t.course = course }

// courseOf adds to the answers about some moments of a session how the browser did after each, up to the next of all, in their
// order. The last stretch has no end while the session is open. First is what [moments.First] returns of all.
func courseOf(ctx context.Context, t *Timeline, client *checkpoint.Client, s *records.Session, l *moments.Line, first map[uint64]*records.Moment, chosen []*records.Moment, shown []answers.ListMoment) {
	if t.course == nil || len(chosen) == 0 {
		return
	}
	all := l.Of(s)
	begin := func(i int) time.Time {
		if i == 0 {
			return all[0].At
		}
		return begins(all[i], all[i-1].At, first)
	}
	from, to := make([]time.Time, len(chosen)), make([]time.Time, len(chosen))
	next := 0
	for i, m := range all {
		if next == len(chosen) {
			break
		}
		if m.Number != chosen[next].Number {
			continue
		}
		from[next], to[next] = begin(i), s.Ended
		if i+1 < len(all) {
			to[next] = begin(i + 1)
		}
		next++
	}
	for i, stretch := range t.course(ctx, client, s.Workspace, from, to) {
		shown[i].Severity = stretch.Severity
		switch {
		case stretch.Since.IsZero():
		case i > 0 && shown[i-1].BrokenSince != nil && shown[i-1].BrokenSince.At.Equal(stretch.Since):
			shown[i].BrokenSince = shown[i-1].BrokenSince
		default:
			shown[i].BrokenSince = &answers.Broken{At: report.Time{Time: stretch.Since}}
			for k := range slices.Backward(all) {
				if !begin(k).After(stretch.Since) {
					shown[i].BrokenSince.Moment = all[k].ID()
					break
				}
			}
		}
	}
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

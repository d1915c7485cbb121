package timeline

import (
	"context"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// Span is a part of a session, from one moment to another.
type Span struct {
	Session *records.Session
	From    time.Time
	// To is after what the last moment caused at once.
	To time.Time
	// Places are the snapshots of the span that are there, in their order, each with its first moment, if it has one.
	Places []moments.Place
	// Note says which ends have no snapshot, "" in the usual case.
	Note string

	first, last uint64 // the numbers of the snapshots at its ends, which need not be there
}

// causes is how long after a moment an error may appear that belongs to it, if no other moment comes before.
const causes = 5 * time.Second

// SpanOf returns a part of the session that a client means. Nothing for from is the start, nothing for to is now. The
// workspace needs the grants.
func SpanOf(ctx context.Context, t *Timeline, client *checkpoint.Client, where moments.Where, from, to string, needed ...string) (*Span, error) {
	s, l, err := t.lines.RecordedBy(client, where, false, []*string{&from, &to}, needed...)
	if err != nil {
		return nil, err
	}
	if _, err := t.Sync(ctx, s.Workspace); err != nil && ctx.Err() != nil {
		return nil, err
	}
	if from == "" {
		from = "start"
	}
	if to == "" {
		to = "now"
	}
	last, err := t.lines.EndOf(ctx, client, s, l, to) // now is a snapshot, which is in the list then
	if err != nil {
		return nil, err
	}
	first, err := t.lines.EndOf(ctx, client, s, l, from)
	if err != nil {
		return nil, err
	}
	if last.Snapshot < first.Snapshot {
		return nil, usererr.Invalid("from (%s) is later than to (%s). Swap the two.", from, to)
	}
	span := &Span{Session: s, From: first.At, To: t.o.Clock(), Note: strings.TrimSpace(first.Note + " " + last.Note), first: first.Snapshot, last: last.Snapshot}
	if to != "now" {
		if end := last.At.Add(causes); end.Before(span.To) {
			span.To = end
		}
		first := moments.First(l.All())
		for _, m := range l.All() {
			if next := begins(m, last.At, first); m.At.After(last.At) && next.Before(span.To) {
				span.To = next
			}
		}
	}
	known, err := t.lines.Snapshots(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	named := moments.First(l.All())
	for _, m := range l.All() { // earlier moments of the first snapshot are not in the span
		if m.Snapshot == first.Snapshot && !m.At.After(first.At) {
			named[m.Snapshot] = m
		}
	}
	for n := first.Snapshot; n <= last.Snapshot; n++ {
		if k, ok := known[n]; ok {
			p := moments.Place{Session: s, Snapshot: k}
			if m := named[n]; m != nil && moments.Lost(m, known) == "" {
				p.Moment = m
			}
			span.Places = append(span.Places, p)
		}
	}
	return span, nil
}

// Before returns the last snapshot of the span before one, and the one itself. Each is nil if it is not there.
func (s *Span) Before(number uint64) (before, itself *moments.Place) {
	for i := range s.Places {
		switch p := &s.Places[i]; {
		case p.Snapshot.Number < number:
			before = p
		case p.Snapshot.Number == number:
			itself = p
		}
	}
	return before, itself
}

// Has reports where a change of a file was made: in the span (0), before it (-1) or after it (1). One in another workspace is
// not after it.
func (s *Span) Has(e *event.FileChange) int {
	switch own := s.Own(e); {
	case own && e.Snapshot <= s.first, !own && e.At < s.From.UnixMilli():
		return -1
	case own && e.Snapshot > s.last:
		return 1
	}
	return 0
}

// Own reports whether a change was made in the session's workspace, also before that was moved.
func (s *Span) Own(e *event.FileChange) bool {
	return e.Place == s.Session.Workspace || slices.Contains(s.Session.Formerly, e.Place)
}

// In calls do with a directory that has the files of a place, which is removed afterwards.
func (s *Span) In(ctx context.Context, t *Timeline, p *moments.Place, do func(dir string) error) error {
	w, err := t.lines.OpenRecorded(ctx, s.Session.Workspace)
	if err != nil {
		return err
	}
	return w.Temporarily(ctx, p.Snapshot.Number, do)
}

// Clean removes secrets and control characters from a text of a program.
func Clean(t *Timeline, text string) string { return t.o.Clean(text) }

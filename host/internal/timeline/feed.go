package timeline

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/signal"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// Names of a session's events.
const (
	EventMoment   = "timeline.sessionMoment"
	EventSnapshot = "timeline.fsSnapshot.created"
	EventBranch   = "timeline.sessionBranch.created"
)

// Event is an event of a session: a [ListMoment], a [ListSnapshot] or the [About] of a branch.
type Event struct {
	// ID is the place after the event, to continue from.
	ID   string
	Name string
	Data any
}

// place is a place in a session's events: the numbers of the last moment, snapshot and branch before it.
type place struct{ moment, snapshot, branch uint64 }

func (p place) String() string { return fmt.Sprintf("%d.%d.%d", p.moment, p.snapshot, p.branch) }

func parsePlace(id string) (p place, err error) {
	parts := strings.Split(id, ".")
	for i, n := range []*uint64{&p.moment, &p.snapshot, &p.branch} {
		if len(parts) == 3 && err == nil {
			*n, err = strconv.ParseUint(parts[i], 10, 63)
		}
	}
	if err != nil || len(parts) != 3 {
		return place{}, usererr.Invalid("%q is not the ID of an event of a session, such as 12.8.0", id)
	}
	return p, nil
}

// Feed reads the events of a session for one client. It is for one goroutine.
type Feed struct {
	t      *Timeline
	client *checkpoint.Client
	where  moments.Where
	at     place
	// sent are the moments after at that were sent: false where they were not complete, see [moments.Complete].
	sent map[uint64]bool
}

// NewFeed returns a feed of the events after one by its ID, or after now if that is "".
func NewFeed(t *Timeline, client *checkpoint.Client, where moments.Where, after string) (*Feed, error) {
	f := &Feed{t: t, client: client, where: where, sent: map[uint64]bool{}}
	s, l, err := t.lines.Recorded(client, where)
	if err != nil {
		return nil, err
	}
	if after != "" {
		f.at, err = parsePlace(after)
		return f, err
	}
	f.at = placeOf(t, s, l)
	return f, nil
}

// placeOf returns the place after all events of a session that are complete.
func placeOf(t *Timeline, s *records.Session, l *moments.Line) (p place) {
	for _, m := range l.All() {
		if m.Session != s.ID {
			continue
		}
		if !moments.Complete(m) {
			break
		}
		p.moment, p.snapshot = m.Number, max(p.snapshot, m.Snapshot)
	}
	for _, b := range t.sessions.BranchesOf(s) {
		p.branch = max(p.branch, b.Number())
	}
	return p
}

// Changes wakes those who wait for a change of any session.
func Changes(t *Timeline) *signal.Signal { return t.lines.Changes() }

// Changed is closed when there may be other events than a Next after this call returns.
func (f *Feed) Changed() <-chan struct{} { return f.t.lines.Changes().Changed() }

// Next returns the events since the last call, each snapshot after the moment that it was taken for. A moment that was not complete
// ([moments.Complete]) is sent again when it is.
func (f *Feed) Next(ctx context.Context) (events []Event, err error) {
	s, l, err := f.t.lines.Recorded(f.client, f.where)
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(slices.Clone(l.All()), func(m *records.Moment) bool { return m.Session != s.ID })
	known, err := f.t.lines.Snapshots(ctx, s.Workspace) // after the moments, whose snapshots are among them
	if err != nil {
		return nil, err
	}
	add := func(name string, data any) { events = append(events, Event{f.at.String(), name, data}) }
	first := moments.First(all)
	delete(first, 0) // moments without one
	numbers := slices.Sorted(maps.Keys(first))
	snapshots := func(upTo uint64) { // those of moments up to one
		for ; len(numbers) > 0 && first[numbers[0]].Number <= upTo; numbers = numbers[1:] {
			n := numbers[0]
			if k, ok := known[n]; n > f.at.snapshot && ok && moments.Lost(first[n], known) == "" {
				f.at.snapshot = n
				add(EventSnapshot, listedSnapshot(s, k, first[n].Shift, ""))
			}
		}
	}
	complete := true // all moments so far
	for _, m := range all {
		if m.Number > f.at.moment {
			settled := moments.Complete(m)
			if complete = complete && settled; complete {
				f.at.moment = m.Number
			}
			if was, sent := f.sent[m.Number]; !sent || !was && settled {
				add(EventMoment, listed(m, s, known))
			}
			if f.sent[m.Number] = settled; complete {
				delete(f.sent, m.Number)
			}
		}
		snapshots(m.Number)
	}
	snapshots(math.MaxUint64)
	for _, b := range f.t.sessions.BranchesOf(s) {
		if n := b.Number(); n > f.at.branch {
			f.at.branch = n
			add(EventBranch, f.t.lines.About(b))
		}
	}
	return events, nil
}

// Detail describes a session with the newest part of its timeline.
func (t Requests) Detail(ctx context.Context, client *checkpoint.Client, p SessionParams) (*answers.SessionDetail, error) {
	l, err := t.ListFrom(ctx, client, ListParams{Where: p.Where, Limit: maxMoments})
	if err != nil {
		return nil, err
	}
	return &answers.SessionDetail{About: l.About, Recording: l.Recording, Timeline: answers.TimelinePart{DurationSec: l.DurationSec, Moments: l.Moments, FsSnapshots: l.FsSnapshots}}, nil
}

// ListFrom is [Timeline.List] with the recordings of terminals, and the ID of the last event that it covers.
func (t Requests) ListFrom(ctx context.Context, client *checkpoint.Client, p ListParams) (*answers.List, error) {
	s, l, err := t.lines.Recorded(client, p.Where)
	if err != nil {
		return nil, err
	}
	cursor := placeOf(t.Timeline, s, l).String() // before the list is made: an event may be in both, but not in none
	list, err := t.List(ctx, client, p)
	if err != nil {
		return nil, err
	}
	list.Cursor = cursor
	if list.Recordings, err = recordingsOf(ctx, t.Timeline, l, s); err != nil {
		return nil, err
	}
	if n := len(list.Recordings); n > 0 {
		list.Recording = &list.Recordings[n-1]
	}
	return list, nil
}

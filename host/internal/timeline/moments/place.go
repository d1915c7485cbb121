package moments

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// Place is a moment as a caller named it.
type Place struct {
	// Session is that of the moment, or of the snapshot, which may be an earlier one of the workspace.
	Session *records.Session
	// Snapshot is the file snapshot, At when it was complete.
	Snapshot tracked.Snapshot
	// Moment is the moment, nil where only the snapshot or a time was named.
	Moment *records.Moment
	// Note says how the snapshot differs from what was named, "" in the usual case. Lost is why the named moment has none itself.
	Note, Lost string
}

// At is when the place was.
func (p *Place) At() time.Time {
	if p.Moment != nil {
		return p.Moment.At
	}
	return p.Snapshot.At
}

// ID names the place: by its moment, or else by its snapshot.
func (p *Place) ID() string {
	if p.Moment != nil {
		return p.Moment.ID()
	}
	return records.SnapshotID(p.Snapshot.Number)
}

// Label says what happened at the place.
func (p *Place) Label() string {
	if p.Moment != nil {
		return p.Moment.Label
	}
	return p.Snapshot.Label
}

// Locate returns the place that a moment's ID, a snapshot's ID, the name of a checkpoint, a time, seconds from the session's
// start, `start` or `now` means. A time means the last snapshot at or before it.
func (ls *Lines) Locate(ctx context.Context, client *checkpoint.Client, s *records.Session, l *Line, to string) (*Place, error) {
	if to == "now" {
		return ls.Now(ctx, client, s)
	}
	known, err := ls.Snapshots(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	moments := l.Of(s)
	if n, ok := records.Number(to, 's'); ok {
		if k, ok := known[n]; ok {
			return &Place{Session: sessionWith(ls, s, l, k), Snapshot: k}, nil
		}
		return nil, usererr.New(usererr.NotFound, "there is no snapshot %s%s", to, around(known, l, n))
	}
	var at time.Time
	var named *records.Moment
	reaches := func(m *records.Moment) bool { return !m.At.After(at) }
	parsed, byTime, isTime := s.Time(to, ls.o.Clock())
	if n, ok := records.Number(to, 'm'); ok {
		all := l.All()
		i := slices.IndexFunc(all, func(m *records.Moment) bool { return m.Number == n })
		if i < 0 {
			return nil, usererr.New(usererr.NotFound, "there is no moment %s. List the moments for their IDs.", to)
		}
		named, moments = all[i], all
	} else if to == "start" {
		if len(moments) == 0 {
			return nil, usererr.New(usererr.NotFound, "session %s has no moments", s.ID)
		}
		named = moments[0]
	} else if isTime {
		at, reaches = parsed, byTime
	} else {
		if named = checkpointOf(moments, to); named == nil {
			if to == s.ID {
				return nil, usererr.New(usererr.NotFound, "%s is the session itself. Name a moment of it too, such as m12, s12, a checkpoint, a time, start or now.", s.ID)
			}
			return nil, usererr.New(usererr.NotFound, "%q is not a moment of session %s. Use the ID of a moment (m12) or of a file snapshot (s12), or the name of a checkpoint. Times such as %s or %s, start and now are moments too.", event.Clean(to), s.ID, s.Started.Local().Format(time.TimeOnly), s.Started.UTC().Format(time.RFC3339))
		}
	}
	if named != nil {
		if Lost(named, known) == "" {
			return &Place{Session: sessionOf(ls, s, named), Snapshot: known[named.Snapshot], Moment: named}, nil
		}
		at = named.At
	}
	var late *records.Moment // its snapshot was taken after the time
	for _, m := range slices.Backward(moments) {
		if m.Placed || !reaches(m) || Lost(m, known) != "" {
			continue
		}
		if isTime && !reaches(takenOf(m)) {
			late = m
			continue
		}
		place := &Place{Session: sessionOf(ls, s, m), Snapshot: known[m.Snapshot], Moment: m}
		if late != nil {
			place.Note = fmt.Sprintf("%s of %s was taken after this time. This is the last snapshot before it. `%s` means the other one.", records.SnapshotID(late.Snapshot), late.ID(), late.ID())
		}
		if named != nil {
			place.Lost = Lost(named, known)
			place.Note = fmt.Sprintf("%s has no snapshot (%s). This is %s of %s, %s earlier.", named.ID(), place.Lost, records.SnapshotID(m.Snapshot), m.ID(), at.Sub(m.At).Round(time.Millisecond))
		}
		return place, nil
	}
	if i := slices.IndexFunc(moments, func(m *records.Moment) bool { return Lost(m, known) == "" }); i >= 0 && named == nil && at.Before(s.Started) {
		return nil, usererr.New(usererr.NotFound, "%s is before the start of session %s at %s. Its first moment with a snapshot is %s (%s).", at.UTC().Format(time.RFC3339), s.ID, s.Started.UTC().Format(time.RFC3339), moments[i].ID(), records.SnapshotID(moments[i].Snapshot))
	}
	none := "there is no snapshot at or before " + at.UTC().Format(time.RFC3339)
	if named != nil {
		none = fmt.Sprintf("%s has no snapshot (%s), and there is none before it", named.ID(), Lost(named, known))
	}
	return nil, usererr.New(usererr.NotFound, "%s%s", none, Nearest(known, func(tracked.Snapshot) bool { return false }))
}

// checkpointOf returns the last moment of a checkpoint by its name, nil if there is none.
func checkpointOf(moments []*records.Moment, name string) *records.Moment {
	for _, m := range slices.Backward(moments) {
		if m.Source == records.FromCheckpoint && m.Label == name {
			return m
		}
	}
	return nil
}

// LocateItself is [Lines.Locate] for a call that must not take the files of another moment for those of the one that is named. Of a
// moment without a snapshot, the error names the nearest ones. A time still means the last snapshot at or before it.
func (ls *Lines) LocateItself(ctx context.Context, client *checkpoint.Client, s *records.Session, l *Line, to string) (*Place, error) {
	place, err := ls.Locate(ctx, client, s, l, to)
	if err != nil || place.Lost == "" {
		return place, err
	}
	known, err := ls.Snapshots(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	m := Meant(s, l, to, ls.o.Clock())
	return nil, usererr.New(usererr.NotFound, "%s has no snapshot (%s)%s", m.ID(), place.Lost, around(known, l, max(m.Snapshot, place.Snapshot.Number)))
}

// around ends a message about a missing snapshot with the nearest ones before and after its number.
func around(known map[uint64]tracked.Snapshot, l *Line, n uint64) string {
	var before, after uint64
	for k := range known {
		if k <= n {
			before = max(before, k)
		} else if after == 0 || k < after {
			after = k
		}
	}
	if before == 0 || after == 0 {
		return Nearest(known, func(k tracked.Snapshot) bool { return k.Number < n })
	}
	first := First(l.All())
	name := func(n uint64) string {
		k := known[n]
		of := ""
		if m := first[n]; m != nil && Lost(m, known) == "" {
			of = " (" + m.ID() + ")"
		}
		return fmt.Sprintf("%s%s of %s", records.SnapshotID(n), of, k.At.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("; the nearest ones are %s before it and %s after it", name(before), name(after))
}

// End is where a part of a session begins or ends.
type End struct {
	At time.Time
	// Snapshot is the number of the last snapshot up to it, 0 if there was none. Note says why it is not there any more.
	Snapshot uint64
	Note     string
}

// EndOf returns what [Lines.Locate] finds as an end of a part of a session, for which the snapshot need not be there any more.
func (ls *Lines) EndOf(ctx context.Context, client *checkpoint.Client, s *records.Session, l *Line, to string) (*End, error) {
	known, err := ls.Snapshots(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	m := Meant(s, l, to, ls.o.Clock())
	n, isSnapshot := records.Number(to, 's')
	if _, there := known[n]; to == "now" || isSnapshot && there || m == nil || Lost(m, known) == "" {
		place, err := ls.Locate(ctx, client, s, l, to)
		if err != nil {
			return nil, err
		}
		return &End{At: place.At(), Snapshot: place.Snapshot.Number}, nil
	}
	end := &End{At: m.At, Snapshot: m.Snapshot, Note: fmt.Sprintf("%s has no snapshot (%s).", m.ID(), Lost(m, known))}
	for _, earlier := range l.All() {
		if earlier.Number < m.Number && m.Snapshot == 0 {
			end.Snapshot = max(end.Snapshot, earlier.Snapshot)
		}
	}
	return end, nil
}

// Meant returns the moment that [Lines.Locate] is asked for, with or without its snapshot: of a snapshot the first one, and of a
// time the last one at or before it. It is nil where there is none.
func Meant(s *records.Session, l *Line, to string, now time.Time) *records.Moment {
	if n, ok := records.Number(to, 's'); ok {
		return First(l.All())[n]
	}
	moments := l.Of(s)
	is := func(*records.Moment) bool { return to == "start" }
	if n, ok := records.Number(to, 'm'); ok {
		moments, is = l.All(), func(m *records.Moment) bool { return m.Number == n }
	} else if _, reaches, isTime := s.Time(to, now); isTime {
		for _, m := range slices.Backward(moments) {
			if !m.Placed && reaches(m) {
				return m
			}
		}
		return nil
	} else if to != "start" {
		return checkpointOf(moments, to)
	}
	if i := slices.IndexFunc(moments, is); i >= 0 {
		return moments[i]
	}
	return nil
}

// sessionOf returns the session of a moment, or s if that is not known.
func sessionOf(ls *Lines, s *records.Session, m *records.Moment) *records.Session {
	if of, err := ls.sessions.Find(m.Session); err == nil {
		return of
	}
	return s
}

// sessionWith returns the session that has a snapshot: s, or else the last one with a moment that has it, or else s.
func sessionWith(ls *Lines, s *records.Session, l *Line, k tracked.Snapshot) *records.Session {
	of := s
	for _, m := range l.All() {
		if m.Snapshot != k.Number || m.SnapshotAt != k.At.UnixNano() {
			continue
		}
		if m.Session == s.ID {
			return s
		}
		of = sessionOf(ls, s, m)
	}
	return of
}

// Now takes a snapshot of the present state. Of a workspace that no longer exists, it is the last snapshot.
func (ls *Lines) Now(ctx context.Context, client *checkpoint.Client, s *records.Session) (*Place, error) {
	w, err := ls.OpenRecorded(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	if w.Former {
		all, err := w.List()
		if err != nil || len(all) == 0 {
			return nil, cmp.Or(err, error(usererr.New(usererr.NotFound, "the workspace %s no longer exists, and there are no snapshots of it", w.Dir)))
		}
		last := all[len(all)-1]
		return &Place{Session: s, Snapshot: last, Note: fmt.Sprintf("%s is the last snapshot.", records.SnapshotID(last.Number))}, nil
	}
	k, _, err := w.Take(ctx, "now", "", client.User)
	if err != nil {
		return nil, fmt.Errorf("cannot take a snapshot of %s: %w", s.Workspace, err)
	}
	return &Place{Session: s, Snapshot: k}, nil
}

// takenOf returns a moment as of when its snapshot was taken, if that is worth a word.
func takenOf(m *records.Moment) *records.Moment {
	if Late(m) == 0 {
		return m
	}
	return m.With(func(m *records.Moment) { m.At = time.Unix(0, m.SnapshotAt) })
}

// Nearest ends a message with the last snapshot of which before is true, or else the first one.
func Nearest(known map[uint64]tracked.Snapshot, before func(tracked.Snapshot) bool) string {
	var best *tracked.Snapshot
	for _, k := range known {
		switch {
		case best == nil, before(k) && !before(*best):
		case before(k) != before(*best), before(k) && k.Number < best.Number, !before(k) && k.Number > best.Number:
			continue
		}
		best = &k
	}
	if best == nil {
		return ", and none in this workspace"
	}
	return fmt.Sprintf("; the nearest one is %s of %s", records.SnapshotID(best.Number), best.At.UTC().Format(time.RFC3339))
}

// Snapshots returns the snapshots of a workspace by their number.
func (ls *Lines) Snapshots(ctx context.Context, root string) (map[uint64]tracked.Snapshot, error) {
	w, err := ls.OpenRecorded(ctx, root)
	if err != nil {
		return nil, err
	}
	all, err := w.List()
	known := make(map[uint64]tracked.Snapshot, len(all))
	for _, s := range all {
		known[s.Number] = s
	}
	return known, err
}

// Lost returns why a moment's snapshot is not there, "" if it is. Without known snapshots it returns what is recorded.
func Lost(m *records.Moment, known map[uint64]tracked.Snapshot) string {
	if m.Snapshot == 0 {
		return m.Reason
	}
	k, ok := known[m.Snapshot]
	switch {
	case known == nil && !m.Pruned, ok && k.At.UnixNano() == m.SnapshotAt:
		return ""
	case m.Pruned:
		return records.SnapshotID(m.Snapshot) + " was pruned"
	case !ok:
		return records.SnapshotID(m.Snapshot) + " was lost"
	}
	return records.SnapshotID(m.Snapshot) + " was lost, and its ID was used again"
}

// noticed is how late a snapshot may be without a word about it.
const noticed = 100 * time.Millisecond

// Late returns how long after a moment its snapshot was complete, 0 if that is not worth a word.
func Late(m *records.Moment) time.Duration {
	if late := time.Unix(0, m.SnapshotAt).Sub(m.At); late > noticed {
		return late
	}
	return 0
}

// First returns the first moment of each snapshot: that after whose change it was taken. With some moments it has only
// their snapshots.
func First(moments []*records.Moment, of ...*records.Moment) map[uint64]*records.Moment {
	first := map[uint64]*records.Moment{}
	least, most := uint64(0), uint64(math.MaxUint64)
	for i, m := range of {
		if i == 0 {
			least, most = m.Snapshot, m.Snapshot
		}
		least, most = min(least, m.Snapshot), max(most, m.Snapshot)
	}
	for _, m := range moments {
		if m.Snapshot >= least && m.Snapshot <= most && first[m.Snapshot] == nil {
			first[m.Snapshot] = m
		}
	}
	return first
}

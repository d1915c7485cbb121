package moments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

const (
	// A workspace has at most burst snapshots at once, and then one each interval. Moments that are closer share the next
	// one. A moment at which nothing has changed has the snapshot before, and does not count.
	burst    = 4
	interval = 300 * time.Millisecond
)

// pending is the reason of a moment that waits for the next snapshot.
const pending = "the snapshot is being taken"

// Pending reports whether the snapshot of a moment is still being taken.
func Pending(m *records.Moment) bool { return Waits(m.Reason) }

// Waits reports whether the reason for which a moment has no snapshot is that it is still being taken.
func Waits(reason string) bool { return reason == pending }

// Complete reports whether nothing of a moment will follow: its snapshot, or its place in the recording of a terminal.
func Complete(m *records.Moment) bool { return !Pending(m) && !m.Placing }

// Record records a moment in the workspace of a directory, with a snapshot, and returns it. A moment that shares the next
// snapshot is returned before that is taken. The recording continues if ctx ends before it is done; then the moment is not
// acknowledged. Number, Session and At of m are filled in. A moment of [records.FromFiles] is recorded only if files have
// changed since the last snapshot, and a snapshot can be taken.
func (ls *Lines) Record(ctx context.Context, dir string, m records.Moment) (*records.Moment, error) {
	return RecordThen(ctx, ls, dir, m, nil)
}

// RecordThen is [Lines.Record], and calls a function with the moment once that is on disk, unless it was there before. It does not wait
// for the function, which may be nil.
func RecordThen(ctx context.Context, ls *Lines, dir string, m records.Moment, then func(*Line, *records.Moment)) (*records.Moment, error) {
	if ls.failed != nil {
		return nil, ls.failed
	}
	root, err := ls.RootAt(dir)
	if err != nil {
		return nil, err
	}
	l, err := ls.Line(root)
	if err != nil {
		return nil, err
	}
	m = ls.Stamp(m)
	m.Label, m.Kind = ls.Label(m.Label), cmp.Or(m.Kind, records.Auto)
	var recorded *records.Moment
	done := make(chan error, 1)
	if err := ls.Start(func() {
		next, known, err := ls.record(l, m)
		recorded = next
		if done <- err; err == nil && next != nil && !known && then != nil {
			then(l, next)
		}
	}); err != nil {
		return nil, err
	}
	select {
	case err := <-done:
		return recorded, err
	case <-ctx.Done():
		return nil, fmt.Errorf("the moment is still being recorded: %w", ctx.Err())
	}
}

// record adds a moment to a line. Known means that it is there already, by its event.
func (ls *Lines) record(l *Line, m records.Moment) (_ *records.Moment, known bool, _ error) {
	unlock, err := l.Lock(ls.life)
	if err != nil {
		return nil, false, err
	}
	defer unlock()
	if same := l.ofEvent(m.Event); same != nil {
		return same, true, nil
	}
	if m.Source == records.FromFiles {
		if same := take(ls, l, &m); m.Snapshot == 0 {
			return nil, false, errors.New(m.Reason)
		} else if same {
			return nil, false, nil
		}
	}
	s, began, err := sessionAt(ls, l, m.At)
	if err != nil {
		return nil, false, err
	}
	if began && m.Source != records.FromStart {
		start := records.Moment{At: s.Started, Ran: m.Ran, Label: "session started", Kind: records.Auto, Source: records.FromStart}
		if m.Snapshot != 0 { // another one would be later than that of the moment after it
			start.Snapshot, start.SnapshotAt, start.Edited, start.Notes = m.Snapshot, m.SnapshotAt, m.Edited, m.Notes
		}
		if _, err := ls.Keep(l, s, start); err != nil {
			return nil, false, err
		}
	}
	next, err := ls.Keep(l, s, m)
	if err == nil && m.Source == records.FromCheckpoint {
		err = l.renameLate(ls.db)
	}
	return next, false, err
}

// maxBehind bounds the moments among which one of the same event is searched.
const maxBehind = 10_000

// ofEvent returns the moment of a hook's event or of a request, nil if there is none: a hook that got no answer in time leaves its event to
// be read later, and a request is repeated to the next daemon. The daemon may have got it all the same.
func (l *Line) ofEvent(event string) *records.Moment {
	if event == "" {
		return nil
	}
	all := l.All()
	for _, m := range slices.Backward(all[max(0, len(all)-maxBehind):]) {
		if m.Event == event {
			return m
		}
	}
	return nil
}

// sessionAt returns the open session of a workspace at a time, and begins one if there is none, or if nothing has happened in it
// for long. The caller has the line's turn.
func sessionAt(ls *Lines, l *Line, now time.Time) (s *records.Session, began bool, err error) {
	if s = ls.sessions.Open(l.Root); s != nil {
		last := l.lastAt()
		if s.Started.After(last) {
			last = s.Started
		}
		if s.BranchOf != nil || now.Sub(last) < SessionGap {
			return s, false, nil
		}
		if err := ls.sessions.Finish(s, last, l.Shift(s)); err != nil {
			return nil, false, err
		}
	}
	s = &records.Session{Workspace: l.Root, Started: now}
	return s, true, ls.sessions.Begin(s)
}

// Keep adds a moment to a session, with a snapshot if it has none. The caller has the line's turn.
func (ls *Lines) Keep(l *Line, s *records.Session, m records.Moment) (*records.Moment, error) {
	m.Session = s.ID
	l.follow(&m)
	defer ls.changed.Notify()
	l.mu.Lock()
	wait := l.free.Sub(ls.o.Clock()) - (burst-1)*interval
	first := len(l.waiting) == 0
	l.mu.Unlock()
	exact := m.Source == records.FromUser || m.Source == records.FromCheckpoint // what is in it was asked for
	if wait > 0 && wait <= interval && !exact && m.Snapshot == 0 {
		m.Reason = pending
		next := &m
		if err := ls.db.Add(l.Space, next); err != nil {
			return nil, fmt.Errorf("cannot save the moment: %w", err)
		}
		l.mu.Lock()
		l.push(next)
		l.waiting = append(l.waiting, next)
		l.mu.Unlock()
		if first {
			return next, ls.Start(func() { takeLater(ls, l, wait) })
		}
		return next, nil
	}
	if m.Snapshot == 0 {
		take(ls, l, &m)
	}
	next := &m
	if err := ls.db.Add(l.Space, next); err != nil {
		return nil, fmt.Errorf("cannot save the moment: %w", err)
	}
	l.add(next)
	if l.degraded == l.logged {
		return next, nil
	}
	if l.logged = l.degraded; l.logged == "" {
		return next, nil
	}
	label := labelOf(ls, l.degraded, maxEvent)
	again := l.told
	if l.told = true; !again && l.lastEvent(s.ID) == label {
		return next, nil // an earlier daemon said so
	}
	event := next.With(func(m *records.Moment) {
		m.Label, m.Kind, m.Source, m.Anchor = label, records.Auto, records.FromProvider, nil
	})
	if err := ls.db.Add(l.Space, event); err != nil {
		return nil, fmt.Errorf("cannot save the moment: %w", err)
	}
	l.add(event)
	return next, nil
}

// lastEvent returns the label of the last event of a provider in a session, "" for none.
func (l *Line) lastEvent(session string) string {
	for _, m := range slices.Backward(l.All()) {
		if m.Session == session && m.Source == records.FromProvider {
			return m.Label
		}
	}
	return ""
}

// add adds a moment that is on disk.
func (l *Line) add(m *records.Moment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.push(m)
}

// push appends a moment. The caller has the lock.
func (l *Line) push(m *records.Moment) {
	l.moments = append(l.moments, m)
	of := l.ordered[m.Session]
	if len(of) > 0 && m.At.Add(m.Shift).Before(of[len(of)-1].At.Add(of[len(of)-1].Shift)) {
		delete(l.ordered, m.Session)
	} else if of != nil {
		l.ordered[m.Session] = append(of, m)
	}
}

// replace sets the moments. The caller has the lock.
func (l *Line) replace(moments []*records.Moment) {
	l.moments = moments
	clear(l.ordered)
}

// take is [Lines.snapshot], and gives the snapshot to the moments that wait for one: theirs would be later than that of a moment after
// them. Of who looks, they do not get a failure.
func take(ls *Lines, l *Line, m *records.Moment) (same bool) {
	taken := *m
	taken.Notes = ""
	same = ls.snapshot(l, &taken)
	if taken.Snapshot != 0 || m.Source != records.FromFiles {
		giveWaiting(ls, l, taken)
	}
	taken.Notes = joined(m.Notes, taken.Notes)
	*m = taken
	return same
}

// snapshot takes a snapshot for a moment, and reports whether it is the last one because nothing changed. The caller has the
// line's turn.
func (ls *Lines) snapshot(l *Line, m *records.Moment) (same bool) {
	w, err := ls.Open(ls.life, l.Root)
	if err == nil {
		err = w.Unruled()
	}
	if err != nil {
		m.Reason = err.Error()
		return false
	}
	by := ""
	if _, milestone := records.Milestone(m.Source); m.Source == records.FromEdit || m.Source == records.FromCommand || m.Source == records.FromTerminal || milestone && (m.Anchor != nil || m.Terminal != nil) {
		by = m.Label
	}
	s, same, err := w.Take(ls.life, m.Label, by, m.Source == records.FromUser)
	if err != nil {
		m.Reason = err.Error()
		return false
	}
	SetSnapshot(m, s)
	m.Edited = w.Edited(s.Number)
	l.degraded = w.Degraded()
	if same {
		return true
	}
	if m.Source == records.FromFiles {
		return false // who looks does not delay the moments of hooks
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := ls.o.Clock(); l.free.Before(now) || l.free.Sub(now) > burst*interval { // the clock was set back
		l.free = now
	}
	l.free = l.free.Add(interval)
	return false
}

// SetSnapshot gives a moment its snapshot.
func SetSnapshot(m *records.Moment, s tracked.Snapshot) {
	m.Snapshot, m.SnapshotAt, m.Reason = s.Number, s.At.UnixNano(), ""
	if len(s.Problems) > 0 {
		m.Notes = joined(m.Notes, Uncertain(s.Problems))
	}
}

// joined returns two notes of a moment as one.
func joined(note, more string) string {
	if note == "" || more == "" {
		return note + more
	}
	return note + "; " + more
}

// Uncertain says which paths of a snapshot are not certain.
func Uncertain(problems []string) string {
	if len(problems) == 1 {
		return "one path is not certain: " + event.Path(problems[0])
	}
	return fmt.Sprintf("%d paths are not certain, such as %s", len(problems), event.Path(problems[0]))
}

// takeLater takes the snapshot that the waiting moments share. When the lines are closed before, it takes none.
func takeLater(ls *Lines, l *Line, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ls.life.Done():
		return // the moments have a reason for this, see line
	}
	unlock, err := l.Lock(ls.life)
	if err != nil {
		return
	}
	defer unlock()
	Settle(ls, l)
}

// Settle takes the snapshot that moments wait for, if some do. Who is about to change the workspace calls it, with the line's turn.
func Settle(ls *Lines, l *Line) {
	var shared records.Moment
	l.mu.Lock()
	n := len(l.waiting)
	if n > 0 {
		shared.Label = l.waiting[n-1].Label
	}
	l.mu.Unlock()
	if n == 0 {
		return
	}
	ls.snapshot(l, &shared)
	giveWaiting(ls, l, shared)
}

// giveWaiting gives the moments that wait for a snapshot that of a moment. The caller has the line's turn.
func giveWaiting(ls *Lines, l *Line, shared records.Moment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting := l.waiting
	l.waiting = nil
	if len(waiting) == 0 {
		return
	}
	all := slices.Clone(l.moments)
	var changed []*records.Moment
	for _, m := range waiting {
		i := slices.IndexFunc(all, func(one *records.Moment) bool { return one.Number == m.Number }) // it may have been renamed meanwhile
		if i < 0 {
			continue
		}
		all[i] = all[i].With(func(m *records.Moment) {
			m.Snapshot, m.SnapshotAt, m.Reason, m.Notes, m.Edited = shared.Snapshot, shared.SnapshotAt, shared.Reason, joined(m.Notes, shared.Notes), shared.Edited
		})
		changed = append(changed, all[i])
	}
	if err := ls.db.Update(l.Space, changed...); err != nil {
		ls.o.Log.Error("cannot save the snapshot of moments", "workspace", l.Root, "error", err)
	}
	l.replace(all)
	ls.changed.Notify()
}

// End ends a session, with a last snapshot.
func (ls *Lines) End(ctx context.Context, s *records.Session, l *Line) error {
	unlock, err := l.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	m, err := ls.Keep(l, s, ls.Stamp(records.Moment{Label: "session ended", Kind: records.Manual, Source: records.FromUser}))
	if err != nil {
		return err
	}
	return ls.sessions.Finish(s, m.At, m.Shift)
}

// present is how long ago a time may be that means now.
const present = 100 * time.Millisecond

// AddAt adds a moment at a time of a session. It returns nil for a time that means now.
func (ls *Lines) AddAt(ctx context.Context, s *records.Session, l *Line, m records.Moment, ts float64) (*records.Moment, error) {
	lasted := ls.About(s).DurationSec
	if ts < 0 || ts > lasted+1 {
		return nil, usererr.Invalid("ts is %g; session %s has lasted %g s. Give seconds from its start.", ts, s.ID, lasted)
	}
	if s.Ended.IsZero() && ts > lasted-present.Seconds() {
		return nil, nil
	}
	known, err := ls.Snapshots(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	unlock, err := l.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if same := l.ofEvent(m.Event); same != nil {
		return same, nil
	}
	elapsed := time.Duration(ts * float64(time.Second)).Round(time.Millisecond)
	if before := l.before(s, elapsed, func(*records.Moment) bool { return true }); before != nil {
		m.Shift = before.Shift
	}
	m.Session, m.Placed, m.At = s.ID, true, s.Started.Add(elapsed-m.Shift)
	if with := l.before(s, elapsed, func(m *records.Moment) bool { return Lost(m, known) == "" && takenOf(m).Elapsed(s) <= elapsed }); with != nil {
		m.Snapshot, m.SnapshotAt = with.Snapshot, with.SnapshotAt
	} else {
		m.Reason = "there is no snapshot at or before this time" + Nearest(known, func(tracked.Snapshot) bool { return false })
	}
	if err := ls.db.Add(l.Space, &m); err != nil {
		return nil, fmt.Errorf("cannot save the moment: %w", err)
	}
	l.add(&m)
	ls.changed.Notify()
	return &m, nil
}

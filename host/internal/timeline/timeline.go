// Package timeline keeps sessions of work in workspaces: moments on one clock, with the file snapshot of each, and the
// operations that go back to a moment or branch from it.
//
// Guarantees:
//   - A moment that was returned is on disk. Its snapshot is there, or the moment has the reason why not.
//   - Nothing of a workspace is recorded, shown or changed without the user's decision for it (package grants).
//   - Moments and snapshots are never given another meaning: a number is used once, and a snapshot that was lost or deleted
//     is reported as such.
//   - An operation is in the log before it begins.
package timeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/fence"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/signal"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/timeline/sessions"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
)

const (
	// A workspace has at most burst snapshots at once, and then one each interval. Moments that are closer share the next
	// one. A moment at which nothing has changed has the snapshot before, and does not count.
	burst    = 4
	interval = 300 * time.Millisecond
	// sessionGap is how long nothing may happen until the next moment begins another session.
	sessionGap = 12 * time.Hour
	// maxLabel bounds a label in bytes.
	maxLabel = 200
)

// pending is the reason of a moment that waits for the next snapshot.
const pending = "the snapshot is being taken"

// Options configure [Open].
type Options struct {
	// Path is the file of sessions and moments.
	Path string
	// Branches is the directory in which branches are.
	Branches   string
	Workspaces *workspace.Workspaces
	// Terminals are the recordings of terminals, which TerminalPolicy bounds.
	Terminals      recording.Store
	TerminalPolicy retention.Policy
	Settings       Settings
	// Long is from which time on the copy for a branch is planned first, and confirmed by the user. 0 plans none.
	Long  time.Duration
	Clock func() time.Time
	// Elapsed returns how long this process has run. Nobody sets it back. Nil is the process's clock.
	Elapsed func() time.Duration
	Log     *slog.Logger
	// Uncommit deletes a branch of the repository in a directory, if it is at a commit. Nil leaves it.
	Uncommit func(ctx context.Context, dir, branch, commit string) error
	// Clean removes secrets and control characters from texts of agents. Nil leaves them.
	Clean func(string) string
}

// Timeline has the sessions of all workspaces. It is safe for concurrent use.
type Timeline struct {
	o  Options
	db *records.DB
	// failed is why nothing can be recorded, nil in the usual case.
	failed error
	// life ends when the timeline is closed. running are the snapshots that are being taken.
	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	sessions *sessions.Registry
	fences   *fence.Fences
	// course may be nil. It does not change after [SetCourse].
	course Course
	// made may be nil. It does not change after [SetMade].
	made Made
	// changed reports new moments, snapshots and branches.
	changed signal.Signal

	mu sync.Mutex
	// lines are those of workspaces with a request, by directory.
	lines  map[string]*line
	closed bool
}

// line has the moments of one workspace. A Moment in it is replaced, never changed.
type line struct {
	root, space string
	// turn has room for the one that records.
	turn chan struct{}
	// degraded is [workspace.Workspace.Degraded], logged what of it has a moment. Turn guards both.
	degraded, logged string
	// settled is the error of ending interrupted operations, valid after settling.
	settling sync.Once
	settled  error

	mu      sync.Mutex
	moments []*Moment
	// ordered are the moments of sessions by their time, since they were asked for.
	ordered map[string][]*Moment
	// read is when the clocks were read last, nil before the first moment.
	read *reading
	// free is when the next snapshot may be taken, minus what a burst may borrow.
	free time.Time
	// waiting are the moments that share the next snapshot.
	waiting []*Moment
}

// Open opens the file of sessions, and creates it if there is none. A damaged one is set aside, which notice says.
func Open(o Options) (_ *Timeline, notice string, err error) {
	if o.Clean == nil {
		o.Clean = func(s string) string { return s }
	}
	if o.Elapsed == nil {
		began := time.Now()
		o.Elapsed = func() time.Duration { return time.Since(began) }
	}
	system := o.Clock
	o.Clock = func() time.Time { return system().Round(0) } // times count while the machine is suspended
	t := &Timeline{o: o, lines: map[string]*line{}}
	if t.db, notice, err = records.Open(o.Path, o.Clock()); err != nil {
		return nil, notice, err
	}
	if t.sessions, err = sessions.Read(t.db); err != nil {
		return nil, notice, errors.Join(fmt.Errorf("cannot read the sessions: %w", err), t.db.Close())
	}
	for _, s := range t.sessions.All() {
		if from := t.sessions.Origin(s); from != nil && from != s {
			o.Workspaces.Branch(s.Workspace, from.Workspace)
		}
	}
	if err := settleBranches(t); err != nil {
		o.Log.Error("cannot end what was interrupted with branches", "error", err)
	}
	t.fences = fence.New(fence.Options{
		Command: o.Settings.Fence, Limit: time.Duration(o.Settings.FenceSeconds * float64(time.Second)), Clean: o.Clean, Log: o.Log,
		Allowed: func(root string) error {
			_, err := o.Workspaces.Root(root, grants.Fence)
			return err
		},
	})
	t.life, t.end = context.WithCancel(context.Background())
	o.Workspaces.OnTaken(func(root string, number uint64) {
		if t.fences.Check(root) == nil {
			t.fences.After(root, number)
		}
	})
	o.Workspaces.Refer(t.references, func(root string, numbers []uint64) {
		l, err := t.line(root)
		if err == nil {
			err = l.deleting(t.db, numbers)
		}
		if err != nil {
			o.Log.Error("cannot save which snapshots are deleted", "workspace", root, "error", err)
		}
	})
	return t, notice, nil
}

// deleting marks the moments whose snapshots will be deleted on purpose.
func (l *line) deleting(d *records.DB, numbers []uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var changed []*Moment
	all := slices.Clone(l.moments)
	for i, m := range all {
		if m.Snapshot != 0 && slices.Contains(numbers, m.Snapshot) {
			all[i] = m.With(func(m *Moment) { m.Pruned = true })
			changed = append(changed, all[i])
		}
	}
	l.replace(all)
	return d.Update(l.space, changed...)
}

// references returns the snapshots of a workspace that something refers to: checkpoints, moments that were asked for,
// branches, and the state before a recent restore.
func (t *Timeline) references(root string) map[uint64]string {
	refs := map[uint64]string{}
	l, err := t.line(root)
	if err != nil {
		return refs
	}
	for _, m := range l.all() {
		switch {
		case m.Snapshot == 0:
		case m.Source == records.FromCheckpoint:
			refs[m.Snapshot] = "checkpoint " + m.Label
		case m.Source == records.FromUser:
			refs[m.Snapshot] = m.ID() + ", " + m.Label
		}
	}
	ops, err := t.db.Operations(l.space)
	if err != nil {
		return refs
	}
	for _, o := range ops {
		switch {
		case o.Kind == records.OpBranch && o.State == records.Done:
			refs[o.Target] = "branch " + o.Branch
		case o.Safety != 0 && t.o.Clock().Sub(o.At) < provider.SafetyAge:
			refs[o.Safety] = "the state before " + o.ID()
		}
	}
	return refs
}

// Broken returns a timeline that answers every call with an error.
func Broken(err error) *Timeline { return &Timeline{failed: err} }

// Close ends the timeline, with everything on disk.
func (t *Timeline) Close() error {
	if t.failed != nil {
		return nil
	}
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.end()
	t.running.Wait()
	t.fences.Close()
	return t.db.Close()
}

// start runs a function until it ends, or does not run it because the timeline is closed.
func (t *Timeline) start(f func()) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return errors.New("the daemon is stopping")
	}
	t.running.Go(f)
	return nil
}

// line returns the moments of a workspace.
func (t *Timeline) line(root string) (*line, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[root]
	if l != nil {
		return l, nil
	}
	l = &line{root: root, space: workspace.ID(root), turn: make(chan struct{}, 1), ordered: map[string][]*Moment{}}
	var err error
	if l.moments, err = t.db.Moments(l.space); err != nil {
		return nil, fmt.Errorf("cannot read the moments of %s: %w", root, err)
	}
	for i, m := range l.moments {
		if m.Reason == pending {
			l.moments[i] = m.With(func(m *Moment) { m.Reason = "the daemon ended before the snapshot was taken" })
		}
	}
	t.lines[root] = l
	return l, nil
}

// all returns the moments.
func (l *line) all() []*Moment {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.moments[:len(l.moments):len(l.moments)]
}

// lock waits for its turn to record. The returned function ends it.
func (l *line) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case l.turn <- struct{}{}:
		return func() { <-l.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// label shortens and cleans a label.
func (o *Options) label(text string) string {
	text = strings.Join(strings.Fields(o.Clean(text)), " ")
	if len(text) > maxLabel {
		text = strings.ToValidUTF8(text[:maxLabel-len("…")], "") + "…"
	}
	return text
}

// Record records a moment in the workspace of a directory, with a snapshot, and returns it. A moment that shares the next
// snapshot is returned before that is taken. The recording continues if ctx ends before it is done; then the moment is not
// acknowledged. Number, Session and At of m are filled in. A moment of [records.FromFiles] is recorded only if files have
// changed since the last snapshot, and a snapshot can be taken.
func (t *Timeline) Record(ctx context.Context, dir string, m Moment) (*Moment, error) {
	if t.failed != nil {
		return nil, t.failed
	}
	root, err := rootAt(t, dir)
	if err != nil {
		return nil, err
	}
	l, err := t.line(root)
	if err != nil {
		return nil, err
	}
	m = t.o.stamp(m)
	m.Label, m.Kind = t.o.label(m.Label), cmp.Or(m.Kind, records.Auto)
	var recorded *Moment
	done := make(chan error, 1)
	if err := t.start(func() {
		var err error
		recorded, err = t.record(l, m)
		done <- err
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

// record adds a moment to a line.
func (t *Timeline) record(l *line, m Moment) (*Moment, error) {
	unlock, err := l.lock(t.life)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if m.Source == records.FromFiles {
		if same := t.snapshot(l, &m); m.Snapshot == 0 {
			return nil, errors.New(m.Reason)
		} else if same {
			return nil, nil
		}
	}
	s, began, err := sessionAt(t, l, m.At)
	if err != nil {
		return nil, err
	}
	if began && m.Source != records.FromStart {
		if _, err := t.keep(l, s, Moment{At: s.Started, Ran: m.Ran, Label: "session started", Kind: records.Auto, Source: records.FromStart}); err != nil {
			return nil, err
		}
	}
	return t.keep(l, s, m)
}

// keep adds a moment to a session. The caller has the line's turn.
func (t *Timeline) keep(l *line, s *Session, m Moment) (*Moment, error) {
	m.Session = s.ID
	l.follow(&m)
	defer t.changed.Notify()
	l.mu.Lock()
	wait := l.free.Sub(t.o.Clock()) - (burst-1)*interval
	first := len(l.waiting) == 0
	l.mu.Unlock()
	if wait > 0 && wait <= interval && m.Source != records.FromUser && m.Snapshot == 0 {
		m.Reason = pending
		next := &m
		if err := t.db.Add(l.space, next); err != nil {
			return nil, fmt.Errorf("cannot save the moment: %w", err)
		}
		l.mu.Lock()
		l.push(next)
		l.waiting = append(l.waiting, next)
		l.mu.Unlock()
		if first {
			return next, t.start(func() { t.takeLater(l, wait) })
		}
		return next, nil
	}
	if m.Snapshot == 0 {
		t.snapshot(l, &m)
	}
	next := &m
	if err := t.db.Add(l.space, next); err != nil {
		return nil, fmt.Errorf("cannot save the moment: %w", err)
	}
	l.add(next)
	if l.degraded == l.logged {
		return next, nil
	}
	if l.logged = l.degraded; l.logged == "" {
		return next, nil
	}
	event := next.With(func(m *Moment) {
		m.Label, m.Kind, m.Source, m.Anchor = t.o.label(l.degraded), records.Auto, records.FromProvider, nil
	})
	if err := t.db.Add(l.space, event); err != nil {
		return nil, fmt.Errorf("cannot save the moment: %w", err)
	}
	l.add(event)
	return next, nil
}

// add adds a moment that is on disk.
func (l *line) add(m *Moment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.push(m)
}

// push appends a moment. The caller has the lock.
func (l *line) push(m *Moment) {
	l.moments = append(l.moments, m)
	of := l.ordered[m.Session]
	if len(of) > 0 && m.At.Add(m.Shift).Before(of[len(of)-1].At.Add(of[len(of)-1].Shift)) {
		delete(l.ordered, m.Session)
	} else if of != nil {
		l.ordered[m.Session] = append(of, m)
	}
}

// replace sets the moments. The caller has the lock.
func (l *line) replace(moments []*Moment) {
	l.moments = moments
	clear(l.ordered)
}

// snapshot takes a snapshot for a moment, and reports whether it is the last one because nothing changed. The caller has the
// line's turn.
func (t *Timeline) snapshot(l *line, m *Moment) (same bool) {
	w, err := t.open(t.life, l.root)
	if err == nil {
		err = w.Unruled()
	}
	if err != nil {
		m.Reason = err.Error()
		return false
	}
	by := ""
	if _, milestone := records.Milestone(m.Source); m.Source == records.FromEdit || m.Source == records.FromCommand || m.Source == records.FromTerminal || milestone && m.Anchor != nil {
		by = m.Label
	}
	s, same, err := w.Take(t.life, m.Label, by, m.Source == records.FromUser)
	if err != nil {
		m.Reason = err.Error()
		return false
	}
	m.Snapshot, m.SnapshotAt, m.Reason, m.Edited = s.Number, s.At.UnixNano(), "", w.Edited(s.Number)
	l.degraded = w.Degraded()
	if len(s.Problems) > 0 {
		m.Notes = uncertain(s.Problems)
	}
	if same {
		return true
	}
	if m.Source == records.FromFiles {
		return false // who looks does not delay the moments of hooks
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := t.o.Clock(); l.free.Before(now) || l.free.Sub(now) > burst*interval { // the clock was set back
		l.free = now
	}
	l.free = l.free.Add(interval)
	return false
}

// uncertain says which paths of a snapshot are not certain.
func uncertain(problems []string) string {
	if len(problems) == 1 {
		return "one path is not certain: " + problems[0]
	}
	return fmt.Sprintf("%d paths are not certain, such as %s", len(problems), problems[0])
}

// takeLater takes the snapshot that the waiting moments share. When the timeline is closed, it takes it at once.
func (t *Timeline) takeLater(l *line, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.life.Done():
		return // the moments have a reason for this, see line
	}
	unlock, err := l.lock(t.life)
	if err != nil {
		return
	}
	defer unlock()
	l.mu.Lock()
	waiting := l.waiting
	l.waiting = nil
	l.mu.Unlock()
	var shared Moment
	shared.Label = waiting[len(waiting)-1].Label
	t.snapshot(l, &shared)
	changed := make([]*Moment, len(waiting))
	for i, m := range waiting {
		changed[i] = m.With(func(m *Moment) {
			m.Snapshot, m.SnapshotAt, m.Reason, m.Notes, m.Edited = shared.Snapshot, shared.SnapshotAt, shared.Reason, shared.Notes, shared.Edited
		})
	}
	if err := t.db.Update(l.space, changed...); err != nil {
		t.o.Log.Error("cannot save the snapshot of moments", "workspace", l.root, "error", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Clone(l.moments)
	for i, m := range waiting {
		all[slices.Index(all, m)] = changed[i]
	}
	l.replace(all)
	t.changed.Notify()
}

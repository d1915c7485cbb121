package timeline

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/protocol"
)

// AddParams are the parameters of moment_add.
type AddParams struct {
	Where
	Label string `json:"label"`
	// TS is the time in seconds from the session's start; nil is now.
	TS *float64 `json:"ts,omitempty"`
	// Kind is "" or manual, or a milestone.
	Kind string `json:"kind,omitempty"`
	// WaitFence waits until the fence command has run after the snapshot.
	WaitFence bool `json:"wait_fence,omitempty"`
}

// Add adds a moment: now with a snapshot of the present state, or at an earlier time with the last snapshot before it.
func (t *Timeline) Add(ctx context.Context, client *checkpoint.Client, p AddParams) (*Added, error) {
	m := Moment{Label: p.Label, Kind: records.Manual, Source: records.FromAgent}
	if client.User {
		m.Source = records.FromUser
	}
	if label, ok := records.Milestone(p.Kind); ok {
		m.Kind, m.Source = records.Auto, p.Kind
		if m.Label == "" {
			m.Label = label
		}
	} else if p.Kind != "" && p.Kind != records.Manual {
		return nil, usererr.Invalid("kind is %q; it must be %s or %s", p.Kind, records.Manual, strings.Join(records.Milestones(), ", "))
	}
	dir, err := p.workspaceOf(client)
	if err != nil {
		return nil, err
	}
	if m.Label = t.o.label(m.Label); m.Label == "" {
		return nil, usererr.Invalid("label is empty. Say what this moment is, in a few words.")
	}
	if p.WaitFence && p.TS != nil {
		return nil, usererr.Invalid("wait_fence is for a snapshot of now. Leave out ts.")
	}
	var recorded *Moment
	if p.Session != "" || p.TS != nil {
		s, l, err := t.sessionOf(client, p.Where)
		if err != nil {
			return nil, err
		}
		if p.TS != nil {
			recorded, err = addAt(ctx, t, s, l, m, *p.TS)
			if err != nil {
				return nil, err
			}
		}
		if recorded == nil && !s.Ended.IsZero() {
			return nil, usererr.New(usererr.NotFound, "session %s has ended, so no moment of now can be added. Name a time of the session by ts.", s.ID)
		}
		dir = s.Workspace
	} else if dir == "" {
		return nil, errNoWorkspace
	}
	if recorded == nil {
		if p.WaitFence {
			root, err := rootAt(t, dir)
			if err == nil {
				err = t.fences.Check(root)
			}
			if err != nil {
				return nil, err
			}
		}
		if recorded, err = t.Record(ctx, dir, m); err != nil {
			return nil, err
		}
	}
	s, err := t.sessions.Find(recorded.Session)
	if err != nil {
		return nil, err
	}
	if recorded.Snapshot == 0 { // it says why there is none
		return &Added{SessionID: s.ID, ListMoment: listed(recorded, s, nil)}, nil
	}
	known, err := t.snapshots(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	a := &Added{SessionID: s.ID, ListMoment: listed(recorded, s, known)}
	if p.WaitFence {
		a.Fence, err = t.fences.Wait(ctx, t.fences.After(s.Workspace, recorded.Snapshot))
	}
	return a, err
}

// present is how long ago a time may be that means now.
const present = 100 * time.Millisecond

// addAt adds a moment at a time of a session. It returns nil for a time that means now.
func addAt(ctx context.Context, t *Timeline, s *Session, l *line, m Moment, ts float64) (*Moment, error) {
	lasted := aboutOf(t, s).DurationSec
	if ts < 0 || ts > lasted+1 {
		return nil, usererr.Invalid("ts is %g; session %s has lasted %g s. Give seconds from its start.", ts, s.ID, lasted)
	}
	if s.Ended.IsZero() && ts > lasted-present.Seconds() {
		return nil, nil
	}
	known, err := t.snapshots(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	unlock, err := l.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	elapsed := time.Duration(ts * float64(time.Second)).Round(time.Millisecond)
	if before := l.before(s, elapsed, func(*Moment) bool { return true }); before != nil {
		m.Shift = before.Shift
	}
	m.Session, m.Placed, m.At = s.ID, true, s.Started.Add(elapsed-m.Shift)
	if with := l.before(s, elapsed, func(m *Moment) bool { return lost(m, known) == "" }); with != nil {
		m.Snapshot, m.SnapshotAt = with.Snapshot, with.SnapshotAt
	} else {
		m.Reason = "there is no snapshot at or before this time" + nearest(known, func(tracked.Snapshot) bool { return false })
	}
	if err := t.db.Add(l.space, &m); err != nil {
		return nil, fmt.Errorf("cannot save the moment: %w", err)
	}
	l.add(&m)
	t.changed.Notify()
	return &m, nil
}

// Requests are what the user's programs ask for, beside what agents do.
type Requests struct{ *Timeline }

// AddSnapshot adds a moment, and answers with its snapshot. Without one, it fails with the reason; the moment remains.
func (t Requests) AddSnapshot(ctx context.Context, client *checkpoint.Client, p AddParams) (*AddedSnapshot, error) {
	if p.Label == "" {
		p.Label = "file snapshot"
	}
	m, err := t.Add(ctx, client, p)
	if err != nil {
		return nil, err
	}
	id, ok := m.FsSnapshot.(string)
	if !ok {
		code := usererr.Internal
		if p.TS != nil {
			code = usererr.NotFound
		}
		return nil, usererr.New(code, "no snapshot was taken: %s. The moment %s was added without one. To try again, repeat the command.", strings.TrimRight(m.Reason, "."), m.ID)
	}
	all, err := t.FsSnapshots(ctx, client, SessionParams{Where{Session: m.SessionID}})
	if err != nil {
		return nil, err
	}
	for _, k := range all.FsSnapshots {
		if k.ID == id {
			a := &AddedSnapshot{SessionID: m.SessionID, Moment: m.ID, ListSnapshot: k.ListSnapshot, Fence: m.Fence}
			if early := m.TS - k.TS; p.TS != nil && early > 0 {
				a.Note = fmt.Sprintf("%s is the last snapshot at or before this time, %.3f s earlier", id, early)
			}
			return a, nil
		}
	}
	return nil, usererr.New(usererr.NotFound, "%s was deleted during the call", id)
}

// AddEverywhere adds a moment in all open workspaces.
func (t Requests) AddEverywhere(ctx context.Context, client *checkpoint.Client, label string) (*protocol.PopupMomentResult, error) {
	if t.failed != nil {
		return nil, t.failed
	}
	dirs := t.o.Workspaces.Dirs()
	if len(dirs) == 0 {
		return nil, usererr.New(usererr.NotFound, "no workspace is open. An agent that works in an allowed project opens one, or `tidemark session start`.")
	}
	a := &protocol.PopupMomentResult{}
	for _, dir := range dirs {
		m, err := t.Add(ctx, client, AddParams{Where: Where{Dir: dir}, Label: label})
		if err != nil {
			return nil, err
		}
		a.Moments = append(a.Moments, protocol.PopupMoment{ID: m.ID, Session: m.SessionID, Workspace: dir, Reason: m.Reason})
	}
	return a, nil
}

// FsSnapshots lists all file snapshots of a session's workspace, those of other sessions included.
func (t Requests) FsSnapshots(ctx context.Context, client *checkpoint.Client, p SessionParams) (*SnapshotList, error) {
	s, l, err := t.sessionOf(client, p.Where)
	if err != nil {
		return nil, err
	}
	w, err := t.open(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	all, err := w.List()
	if err != nil {
		return nil, err
	}
	moments := map[uint64][]*Moment{}
	for _, m := range l.all() {
		moments[m.Snapshot] = append(moments[m.Snapshot], m)
	}
	references := t.references(s.Workspace)
	shift, mounts := firstOf(l.of(s)), w.Views()
	a := &SnapshotList{SessionID: s.ID, Workspace: s.Workspace, FsSnapshots: []KeptSnapshot{}}
	for _, k := range all {
		e := KeptSnapshot{Moments: []string{}, KeptFor: references[k.Number]}
		if m := shift[k.Number]; m != nil {
			e.ListSnapshot = listedSnapshot(s, k, m.Shift, mounts[k.Number])
		} else {
			e.ListSnapshot = listedSnapshot(s, k, 0, mounts[k.Number])
		}
		for _, m := range moments[k.Number] {
			if m.SnapshotAt == k.At.UnixNano() {
				e.Moments = append(e.Moments, m.ID())
			}
		}
		a.FsSnapshots = append(a.FsSnapshots, e)
	}
	return a, nil
}

// SeekParams are the parameters of timeline_seek.
type SeekParams struct {
	Where
	To string `json:"to"`
}

// Seek makes a read-only view of a moment's files.
func (t *Timeline) Seek(ctx context.Context, client *checkpoint.Client, p SeekParams) (*Sought, error) {
	s, l, err := t.sessionBy(client, p.Where, false, []*string{&p.To})
	if err != nil {
		return nil, err
	}
	place, err := t.locate(ctx, client, s, l, p.To)
	if err != nil {
		return nil, err
	}
	w, err := t.open(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	k := place.Snapshot
	view, err := w.View(ctx, k.Number)
	if err != nil {
		return nil, fmt.Errorf("cannot make a view of %s: %w%s", snapshotID(k.Number), err, instead(ctx, t, s, k.Number))
	}
	shift := time.Duration(0)
	if m := firstOf(l.of(s))[k.Number]; m != nil {
		shift = m.Shift
	}
	a := &Sought{
		SessionID: s.ID, TS: seconds(k.At.Sub(s.Started) + shift), At: diff.Time{Time: k.At}, FsSnapshot: snapshotID(k.Number), Provider: workspace.ProviderOf(k), Mount: view,
		Note: place.Note, Notes: k.Problems,
	}
	if m := place.Moment; m != nil {
		a.Moment, a.Label = m.ID(), m.Label
	}
	return a, nil
}

// instead ends a message about a snapshot that cannot be read with the nearest one that can be.
func instead(ctx context.Context, t *Timeline, s *Session, failed uint64) string {
	known, err := t.snapshots(ctx, s.Workspace)
	if err != nil || ctx.Err() != nil {
		return ""
	}
	delete(known, failed)
	return nearest(known, func(k tracked.Snapshot) bool { return k.Number < failed })
}

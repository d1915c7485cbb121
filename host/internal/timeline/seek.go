package timeline

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/protocol"
)

// AddParams are the parameters of moment_add.
type AddParams struct {
	moments.Where
	Label string `json:"label"`
	// TS is the time in seconds from the session's start; nil is now.
	TS *float64 `json:"ts,omitempty"`
	// Kind is "" or manual, or a milestone.
	Kind string `json:"kind,omitempty"`
	// WaitFence waits until the fence command has run after the snapshot.
	WaitFence bool `json:"wait_fence,omitempty"`
}

// Add adds a moment: now with a snapshot of the present state, or at an earlier time with the last snapshot before it.
func (t *Timeline) Add(ctx context.Context, client *checkpoint.Client, p AddParams) (*answers.Added, error) {
	if t.lines.Failed() != nil {
		return nil, t.lines.Failed()
	}
	m := records.Moment{Label: p.Label, Kind: records.Manual, Source: records.FromAgent, Event: eventOf(ctx)}
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
	dir, err := p.Directory(client)
	if err != nil {
		return nil, err
	}
	if m.Label = t.lines.Label(m.Label); m.Label == "" {
		return nil, usererr.Invalid("label is empty. Say what this moment is, in a few words.")
	}
	if p.WaitFence && p.TS != nil {
		return nil, usererr.Invalid("wait_fence is for a snapshot of now. Leave out ts.")
	}
	var recorded *records.Moment
	if p.Session != "" || p.TS != nil {
		s, l, err := t.lines.SessionOf(client, p.Where)
		if err != nil {
			return nil, err
		}
		if p.TS != nil {
			recorded, err = t.lines.AddAt(ctx, s, l, m, *p.TS)
			if err != nil {
				return nil, err
			}
		}
		if recorded == nil && !s.Ended.IsZero() {
			return nil, usererr.New(usererr.SessionEnded, "session %s has ended, so no moment of now can be added to it. Name a time of the session by ts, or start a session with `tidemark session start %s`.", s.ID, grants.Printable(s.Workspace))
		}
		dir = s.Workspace
	} else if dir == "" {
		return nil, moments.NoWorkspace(client)
	}
	if recorded == nil {
		if p.WaitFence {
			root, err := t.lines.RootAt(dir)
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
		return &answers.Added{SessionID: s.ID, ListMoment: listed(recorded, s, nil)}, nil
	}
	known, err := t.lines.Snapshots(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	a := &answers.Added{SessionID: s.ID, ListMoment: listed(recorded, s, known)}
	if p.WaitFence {
		a.Fence, err = t.fences.Wait(ctx, t.fences.After(s.Workspace, recorded.Snapshot))
	}
	return a, err
}

// eventOf tells the moment that a request adds from others, "" for a request without an ID. One that is repeated adds it once.
func eventOf(ctx context.Context) string {
	if call := tool.CallOf(ctx); call != "" && len(call) <= maxEvent {
		return "call " + call
	}
	return ""
}

// Requests are what the user's programs ask for, beside what agents do.
type Requests struct{ *Timeline }

// AddSnapshot adds a moment, and answers with its snapshot. Without one, it fails with the reason; the moment remains.
func (t Requests) AddSnapshot(ctx context.Context, client *checkpoint.Client, p AddParams) (*answers.AddedSnapshot, error) {
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
	all, err := t.FsSnapshots(ctx, client, SessionParams{moments.Where{Session: m.SessionID}})
	if err != nil {
		return nil, err
	}
	for _, k := range all.FsSnapshots {
		if k.ID == id {
			a := &answers.AddedSnapshot{SessionID: m.SessionID, Moment: m.ID, ListSnapshot: k.ListSnapshot, Fence: m.Fence}
			switch early := m.TS - k.TS; {
			case p.TS != nil && early > 0:
				a.Note = fmt.Sprintf("%s is the last snapshot at or before this time, %.3f s earlier", id, early)
			case k.Label != m.Label:
				a.Note = fmt.Sprintf("No file has changed since %s, whose label is %q. The label %q is that of the moment %s.", id, k.Label, m.Label, m.ID)
			}
			return a, nil
		}
	}
	return nil, usererr.New(usererr.NotFound, "%s was deleted during the call", id)
}

// AddEverywhere adds a moment in all open workspaces.
func (t Requests) AddEverywhere(ctx context.Context, client *checkpoint.Client, label string) (*protocol.PopupMomentResult, error) {
	if t.lines.Failed() != nil {
		return nil, t.lines.Failed()
	}
	dirs := t.o.Workspaces.Dirs()
	if len(dirs) == 0 {
		return nil, usererr.New(usererr.NotFound, "no workspace is open. An agent that works in an allowed project opens one, or `tidemark session start`.")
	}
	a := &protocol.PopupMomentResult{}
	var failed []error
	var added []string
	for _, dir := range dirs {
		m, err := t.Add(ctx, client, AddParams{Where: moments.Where{Dir: dir}, Label: label})
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", grants.Printable(dir), err))
			continue
		}
		a.Moments = append(a.Moments, protocol.PopupMoment{ID: m.ID, Session: m.SessionID, Workspace: dir, Reason: m.Reason})
		added = append(added, m.ID+" in "+m.SessionID)
	}
	switch {
	case len(failed) == 0:
		return a, nil
	case len(added) == 0:
		return nil, failed[0]
	}
	return nil, usererr.New(usererr.CodeOf(failed[0]), "added %s, but no moment in %v", strings.Join(added, ", "), failed[0])
}

// FsSnapshots lists all file snapshots of a session's workspace, those of other sessions included.
func (t Requests) FsSnapshots(ctx context.Context, client *checkpoint.Client, p SessionParams) (*answers.SnapshotList, error) {
	s, l, err := t.lines.Recorded(client, p.Where)
	if err != nil {
		return nil, err
	}
	w, err := t.lines.OpenRecorded(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	all, err := w.List()
	if err != nil {
		return nil, err
	}
	having := map[uint64][]*records.Moment{}
	for _, m := range l.All() {
		having[m.Snapshot] = append(having[m.Snapshot], m)
	}
	references := t.lines.References(s.Workspace)
	shift, mounts := moments.First(l.Of(s)), w.Views()
	a := &answers.SnapshotList{SessionID: s.ID, Workspace: s.Workspace, FsSnapshots: []answers.KeptSnapshot{}}
	for _, k := range all {
		e := answers.KeptSnapshot{Moments: []string{}, KeptFor: references[k.Number]}
		if m := shift[k.Number]; m != nil {
			e.ListSnapshot = listedSnapshot(s, k, m.Shift, mounts[k.Number])
		} else {
			e.ListSnapshot = listedSnapshot(s, k, 0, mounts[k.Number])
		}
		for _, m := range having[k.Number] {
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
	moments.Where
	To string `json:"to"`
}

// Seek makes a read-only view of a moment's files.
func (t *Timeline) Seek(ctx context.Context, client *checkpoint.Client, p SeekParams) (*answers.Sought, error) {
	s, l, err := t.lines.RecordedBy(client, p.Where, false, []*string{&p.To})
	if err != nil {
		return nil, err
	}
	place, err := t.lines.Locate(ctx, client, s, l, p.To)
	if err != nil {
		return nil, err
	}
	w, err := t.lines.OpenRecorded(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	s = place.Session
	k := place.Snapshot
	view, err := w.View(ctx, k.Number)
	if err != nil {
		return nil, fmt.Errorf("cannot make a view of %s: %w%s", records.SnapshotID(k.Number), err, instead(ctx, t, s, k.Number, err))
	}
	shift := time.Duration(0)
	if m := moments.First(l.Of(s))[k.Number]; m != nil {
		shift = m.Shift
	}
	a := &answers.Sought{
		SessionID: s.ID, TS: secondsOf(s, k, shift), At: report.Time{Time: k.At}, FsSnapshot: records.SnapshotID(k.Number), Provider: workspace.ProviderOf(k), Mount: view, Form: workspace.Form(w, view, false),
		Unnamed: workspace.Unnamed(w, view), Problem: moments.Former(w), Note: place.Note, Notes: k.Problems,
	}
	if m := place.Moment; m != nil {
		a.Moment, a.Label = m.ID(), m.Label
	}
	return a, nil
}

// instead ends a message about a snapshot that cannot be read with the nearest one that can be. A full disk has no room for that
// either.
func instead(ctx context.Context, t *Timeline, s *records.Session, failed uint64, why error) string {
	known, err := t.lines.Snapshots(ctx, s.Workspace)
	if err != nil || ctx.Err() != nil || objects.NoRoom(why) {
		return ""
	}
	delete(known, failed)
	nearest := moments.Nearest(known, func(k tracked.Snapshot) bool { return k.Number < failed })
	if strings.HasSuffix(why.Error(), ".") { // it ends with what to do
		return strings.Replace(nearest, "; the nearest", " The nearest", 1)
	}
	return nearest
}

package timeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// Limits of one list.
const (
	defaultMoments = 100
	maxMoments     = 1000
)

// Where names a session in the parameters of a call.
type Where struct {
	// Session is a session's ID, "" for the current one of the workspace.
	Session string `json:"session"`
	// Dir is the directory that the user's program works in. Agents have a workspace instead.
	Dir string `json:"dir"`
}

// workspaceOf returns the directory that a call is about, "" if it names none.
func (w Where) workspaceOf(client *checkpoint.Client) (string, error) {
	if w.Dir == "" {
		return client.Scope.Workspace, nil
	}
	if !client.User {
		return "", usererr.Invalid("dir is for the user's own programs. Leave it out: this client's workspace is %s.", cmp.Or(client.Scope.Workspace, "not known"))
	}
	return w.Dir, nil
}

// ListParams are the parameters of timeline_list.
type ListParams struct {
	Where
	// Kinds are kinds and sources of moments; none means all.
	Kinds []string `json:"kinds"`
	// After is the ID of a moment: what follows it is listed. "" lists the newest.
	After string `json:"after"`
	Limit int    `json:"limit"`
}

// List is a session with its moments and file snapshots, in their order.
type List struct {
	About
	Moments     []ListMoment   `json:"moments"`
	FsSnapshots []ListSnapshot `json:"fsSnapshots"`
	// Next is the moment to pass as after for what follows, "" at the end. Omitted counts the moments before the first.
	Next    string `json:"next,omitempty"`
	Omitted int    `json:"omitted,omitempty"`
}

// ListMoment is a moment in a list.
type ListMoment struct {
	ID string `json:"id"`
	// TS is the time in seconds from the session's start, At the same in absolute time.
	TS     float64   `json:"ts"`
	At     diff.Time `json:"at"`
	Label  string    `json:"label"`
	Kind   string    `json:"kind"`
	Source string    `json:"source"`
	// FsSnapshot is the ID of the file snapshot, or false with the reason.
	FsSnapshot any `json:"fsSnapshot"`
	// LateSec is how long after the moment its snapshot was complete, where that is long enough for another edit.
	LateSec float64 `json:"lateSec,omitempty"`
	Reason  string  `json:"reason,omitempty"`
	Notes   string  `json:"notes,omitempty"`
	Anchor  *Anchor `json:"anchor,omitempty"`
}

// ListSnapshot is a file snapshot in a list.
type ListSnapshot struct {
	ID       string    `json:"id"`
	TS       float64   `json:"ts"`
	At       diff.Time `json:"at"`
	Label    string    `json:"label"`
	Provider string    `json:"provider"`
	Snapshot Reference `json:"snapshot"`
	// Files counts the entries, Changed those that changed since the snapshot before.
	Files   int `json:"files"`
	Changed int `json:"changed"`
	// Notes are the paths whose state is not certain.
	Notes []string `json:"notes,omitempty"`
}

// Reference is what a provider calls a snapshot.
type Reference struct {
	ID    string `json:"id"`
	Mount string `json:"mount,omitempty"`
}

// snapshotID names a snapshot.
func snapshotID(n uint64) string { return "s" + strconv.FormatUint(n, 10) }

// seconds returns a time in seconds from a session's start, in milliseconds' steps.
func seconds(s *Session, at time.Time) float64 {
	return float64(at.Sub(s.Started).Milliseconds()) / 1000
}

// sessionOf returns the session that a client means, and the line of its workspace. An agent reaches only sessions of its
// own workspace.
func (t *Timeline) sessionOf(client *checkpoint.Client, where Where, needed ...string) (s *Session, l *line, err error) {
	if t.failed != nil {
		return nil, nil, t.failed
	}
	dir, err := where.workspaceOf(client)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case where.Session != "":
		if s, err = t.sessions.find(where.Session); err != nil {
			return nil, nil, err
		}
		if !t.sessions.within(s, client.Scope.Workspace) {
			return nil, nil, usererr.New(usererr.NotAllowed, "session %s is not of this client's workspace %s", s.ID, client.Scope.Workspace)
		}
	case dir == "":
		return nil, nil, errNoWorkspace
	default:
		root, err := t.o.Workspaces.Root(dir, needed...)
		if err != nil {
			return nil, nil, err
		}
		if s = t.sessions.latest(root); s == nil {
			return nil, nil, usererr.New(usererr.NotFound, "nothing was recorded in %s yet. The first moment begins a session: an agent's hook, a checkpoint, or `tidemark timeline fs-snapshot add`.", root)
		}
	}
	if _, err := t.o.Workspaces.Root(s.Workspace, needed...); err != nil {
		if _, missing := os.Stat(s.Workspace); errors.Is(missing, fs.ErrNotExist) {
			return nil, nil, usererr.New(usererr.NotFound, "the workspace %s no longer exists. Its snapshots are still there. Create the directory again, then restore a moment of session %s. If it was moved, run `tidemark project allow --moved-from` with this path in its new place.", s.Workspace, s.ID)
		}
		return nil, nil, err
	}
	l, err = t.line(s.Workspace)
	return s, l, err
}

var errNoWorkspace = usererr.Invalid("name a session: this client has no workspace")

// moments returns the moments of a session.
func (l *line) of(s *Session) (list []*Moment) {
	for _, m := range l.all() {
		if m.Session == s.ID {
			list = append(list, m)
		}
	}
	return list
}

// List returns a session with its moments and snapshots.
func (t *Timeline) List(ctx context.Context, client *checkpoint.Client, p ListParams) (*List, error) {
	if p.Limit < 0 || p.Limit > maxMoments {
		return nil, usererr.Invalid("limit is %d; it must be from 1 to %d", p.Limit, maxMoments)
	}
	if p.Limit == 0 {
		p.Limit = defaultMoments
	}
	s, l, err := t.sessionOf(client, p.Where)
	if err != nil {
		return nil, err
	}
	moments := l.of(s)
	list := &List{About: s.about(t.o.Clock()), Moments: []ListMoment{}, FsSnapshots: []ListSnapshot{}}
	if len(p.Kinds) > 0 {
		moments = slices.DeleteFunc(moments, func(m *Moment) bool {
			return !slices.Contains(p.Kinds, m.Kind) && !slices.Contains(p.Kinds, m.Source)
		})
	}
	if p.After != "" {
		n, ok := number(p.After, 'm')
		at, isTime := s.time(p.After, t.o.Clock())
		if !ok && !isTime && p.After != "m0" {
			return nil, usererr.Invalid("after is %q; it must be the ID of a moment, such as m12, or a time", p.After)
		}
		moments = slices.DeleteFunc(moments, func(m *Moment) bool { return m.Number <= n || isTime && !m.At.After(at) })
		if len(moments) > p.Limit {
			moments = moments[:p.Limit]
			list.Next = moments[len(moments)-1].ID()
		}
	} else if len(moments) > p.Limit {
		list.Omitted = len(moments) - p.Limit
		moments = moments[list.Omitted:]
	}
	known, err := t.snapshots(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	for _, m := range moments {
		list.Moments = append(list.Moments, m.listed(s, known))
		if k, ok := known[m.Snapshot]; ok && k.At.UnixNano() == m.SnapshotAt {
			if n := len(list.FsSnapshots); n == 0 || list.FsSnapshots[n-1].ID != snapshotID(m.Snapshot) {
				list.FsSnapshots = append(list.FsSnapshots, listedSnapshot(s, k))
			}
		}
	}
	return list, nil
}

// snapshots returns the snapshots of a workspace by their number.
func (t *Timeline) snapshots(ctx context.Context, root string) (map[uint64]tracked.Snapshot, error) {
	w, err := t.open(ctx, root)
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

// lost returns why a moment's snapshot is not there, "" if it is.
func (m *Moment) lost(known map[uint64]tracked.Snapshot) string {
	if m.Snapshot == 0 {
		return m.Reason
	}
	k, ok := known[m.Snapshot]
	switch {
	case ok && k.At.UnixNano() == m.SnapshotAt:
		return ""
	case m.Pruned:
		return snapshotID(m.Snapshot) + " was pruned"
	case !ok:
		return snapshotID(m.Snapshot) + " was lost"
	}
	return snapshotID(m.Snapshot) + " was lost when the machine ended"
}

// noticed is how late a snapshot may be without a word about it: an agent's hook waits as long.
const noticed = hookPatience

func (m *Moment) listed(s *Session, known map[uint64]tracked.Snapshot) ListMoment {
	e := ListMoment{ID: m.ID(), TS: seconds(s, m.At), At: diff.Time{Time: m.At}, Label: m.Label, Kind: m.Kind, Source: m.Source, Notes: m.Notes, Anchor: m.Anchor}
	if e.Reason = m.lost(known); e.Reason != "" {
		e.FsSnapshot = false
	} else {
		e.FsSnapshot = snapshotID(m.Snapshot)
		if late := time.Unix(0, m.SnapshotAt).Sub(m.At); late > noticed {
			e.LateSec = float64(late.Milliseconds()) / 1000
		}
	}
	return e
}

func listedSnapshot(s *Session, k tracked.Snapshot) ListSnapshot {
	return ListSnapshot{
		ID: snapshotID(k.Number), TS: seconds(s, k.At), At: diff.Time{Time: k.At}, Label: k.Label, Provider: workspace.Provider,
		Snapshot: Reference{ID: fmt.Sprintf("%s@%d", s.Space, k.Number)}, Files: k.Files, Changed: k.Changed, Notes: k.Problems,
	}
}

// number returns the number of an ID such as m12.
func number(id string, letter byte) (uint64, bool) {
	rest, ok := strings.CutPrefix(id, string(letter))
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(rest, 10, 63)
	return n, err == nil && n > 0
}

// Place is a moment as a caller named it.
type Place struct {
	Session *Session
	// Snapshot is the file snapshot, At when it was complete.
	Snapshot tracked.Snapshot
	// Moment is the moment, nil where only the snapshot or a time was named.
	Moment *Moment
	// Note says how the snapshot differs from what was named, "" in the usual case.
	Note string
}

// locate returns the place that a moment's ID, a snapshot's ID, the name of a checkpoint, a time, seconds from the session's
// start, `start` or `now` means. A time means the last snapshot at or before it.
func (t *Timeline) locate(ctx context.Context, client *checkpoint.Client, s *Session, l *line, to string) (*Place, error) {
	if to == "now" {
		return now(ctx, t, client, s)
	}
	known, err := t.snapshots(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	moments := l.of(s)
	if n, ok := number(to, 's'); ok {
		if k, ok := known[n]; ok {
			return &Place{Session: s, Snapshot: k}, nil
		}
		return nil, usererr.New(usererr.NotFound, "there is no snapshot %s%s", to, nearest(known, func(k tracked.Snapshot) bool { return k.Number < n }))
	}
	var at time.Time
	var named *Moment
	parsed, isTime := s.time(to, t.o.Clock())
	if n, ok := number(to, 'm'); ok {
		all := l.all()
		i := slices.IndexFunc(all, func(m *Moment) bool { return m.Number == n })
		if i < 0 {
			return nil, usererr.New(usererr.NotFound, "there is no moment %s. `timeline_list` lists them.", to)
		}
		named, moments = all[i], all
	} else if to == "start" {
		if len(moments) == 0 {
			return nil, usererr.New(usererr.NotFound, "session %s has no moments", s.ID)
		}
		named = moments[0]
	} else if isTime {
		at = parsed
	} else {
		for _, m := range slices.Backward(moments) {
			if m.Source == FromCheckpoint && m.Label == to {
				named = m
				break
			}
		}
		if named == nil {
			return nil, usererr.New(usererr.NotFound, "%q is not a moment of session %s. Use the ID of a moment (m12) or of a file snapshot (s12), or the name of a checkpoint. Times such as %s or %s, start and now are moments too.", event.Clean(to), s.ID, s.Started.Local().Format(time.TimeOnly), s.Started.UTC().Format(time.RFC3339))
		}
	}
	if named != nil {
		if named.lost(known) == "" {
			return &Place{Session: s, Snapshot: known[named.Snapshot], Moment: named}, nil
		}
		at = named.At
	}
	for _, m := range slices.Backward(moments) {
		if m.At.After(at) || m.lost(known) != "" {
			continue
		}
		place := &Place{Session: s, Snapshot: known[m.Snapshot], Moment: m}
		if named != nil {
			place.Note = fmt.Sprintf("%s has no snapshot (%s). This is %s of %s, %s earlier.", named.ID(), named.lost(known), snapshotID(m.Snapshot), m.ID(), at.Sub(m.At).Round(time.Millisecond))
		}
		return place, nil
	}
	return nil, usererr.New(usererr.NotFound, "there is no snapshot at or before %s%s", at.UTC().Format(time.RFC3339), nearest(known, func(tracked.Snapshot) bool { return false }))
}

// nearest ends a message with the last snapshot of which before is true, or else the first one.
func nearest(known map[uint64]tracked.Snapshot, before func(tracked.Snapshot) bool) string {
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
	return fmt.Sprintf("; the nearest one is %s of %s", snapshotID(best.Number), best.At.UTC().Format(time.RFC3339))
}

// now takes a snapshot of the present state.
func now(ctx context.Context, t *Timeline, client *checkpoint.Client, s *Session) (*Place, error) {
	w, err := t.open(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	k, _, err := w.Take(ctx, "now", "", client.User)
	if err != nil {
		return nil, fmt.Errorf("cannot take a snapshot of %s: %w", s.Workspace, err)
	}
	return &Place{Session: s, Snapshot: k}, nil
}

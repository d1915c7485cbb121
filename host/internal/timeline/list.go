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
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/timeline/records"
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
	// After is the ID of a moment, or a time: what follows it is listed. "" lists the newest.
	After string `json:"after"`
	// Before is one too: the newest of what precedes it is listed. After and Before exclude each other.
	Before string `json:"before"`
	Limit  int    `json:"limit"`
}

// snapshotID names a snapshot.
func snapshotID(n uint64) string { return "s" + strconv.FormatUint(n, 10) }

// rootOf returns the workspace that a client means, which its user must have allowed.
func rootOf(t *Timeline, client *checkpoint.Client, where Where) (string, error) {
	dir, err := where.workspaceOf(client)
	if err != nil {
		return "", err
	}
	if dir == "" {
		return "", errNoWorkspace
	}
	return rootAt(t, dir)
}

// rootAt returns the workspace that a directory is in, which its user must have allowed. Of one that no longer exists, the error says
// what to do.
func rootAt(t *Timeline, dir string, needed ...string) (string, error) {
	root, err := t.o.Workspaces.Root(dir, needed...)
	if !errors.Is(err, fs.ErrNotExist) {
		return root, err
	}
	if path, err := grants.Former(dir); err == nil {
		dir = path
	}
	s := t.sessions.Last(func(s *Session) bool { return grants.Within(dir, s.Workspace) })
	if s == nil {
		return "", usererr.New(usererr.NotFound, "%v", err)
	}
	if _, missing := os.Stat(s.Workspace); !errors.Is(missing, fs.ErrNotExist) {
		return "", usererr.New(usererr.NotFound, "%v", err) // it is the directory in it that does not exist
	}
	return "", usererr.New(usererr.NotFound, "the workspace %s no longer exists. Its snapshots are still there. Create the directory again, then restore a moment of session %s. If it was moved, run `tidemark project allow --moved-from` with this path in its new place.", s.Workspace, s.ID)
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
		if s, err = t.sessions.Find(where.Session); err != nil {
			return nil, nil, err
		}
		if !t.sessions.Within(s, client.Scope.Workspace) {
			return nil, nil, usererr.New(usererr.NotAllowed, "session %s is not of this client's workspace %s", s.ID, client.Scope.Workspace)
		}
	case dir == "":
		return nil, nil, errNoWorkspace
	default:
		root, err := rootAt(t, dir, needed...)
		if err != nil {
			return nil, nil, err
		}
		if s = t.sessions.Latest(root); s == nil {
			return nil, nil, usererr.New(usererr.NotFound, "nothing was recorded in %s yet. The first moment begins a session: an agent's hook, a checkpoint, or `tidemark timeline fs-snapshot add`.", root)
		}
	}
	if _, err := rootAt(t, s.Workspace, needed...); err != nil {
		return nil, nil, err
	}
	l, err = t.line(s.Workspace)
	return s, l, err
}

// sessionBy is [Timeline.sessionOf] for a call with moments, which may name a session, as in m3@shop-1. It cuts that off. With
// here, the moments must be of the workspace that the client is in.
func (t *Timeline) sessionBy(client *checkpoint.Client, where Where, here bool, moments []*string, needed ...string) (*Session, *line, error) {
	if t.failed != nil {
		return nil, nil, t.failed
	}
	named, err := t.sessions.Named(where.Session, moments...)
	if err != nil {
		return nil, nil, err
	}
	if here && named != where.Session {
		s, err := t.sessions.Find(named)
		if err != nil {
			return nil, nil, err
		}
		dir, err := rootOf(t, client, where)
		switch {
		case client.User && usererr.CodeOf(err) == usererr.NotAllowed: // the user is in no workspace, so the session is meant
		case err != nil:
			return nil, nil, err
		case dir != s.Workspace:
			return nil, nil, usererr.Invalid("session %s is of %s, and this call is about %s. Name a moment of that, or pass the session.", s.ID, s.Workspace, dir)
		}
	}
	where.Session = named
	return t.sessionOf(client, where, needed...)
}

var errNoWorkspace = usererr.Invalid("name a session: this client has no workspace")

// of returns the moments of a session by their time. The caller does not change the list.
func (l *line) of(s *Session) []*Moment {
	l.mu.Lock()
	defer l.mu.Unlock()
	list, known := l.ordered[s.ID]
	if !known {
		list = []*Moment{}
		for _, m := range l.moments {
			if m.Session == s.ID {
				list = append(list, m)
			}
		}
		slices.SortStableFunc(list, func(a, b *Moment) int { return cmp.Compare(a.Elapsed(s), b.Elapsed(s)) })
		l.ordered[s.ID] = list
	}
	return list[:len(list):len(list)]
}

// lastAt returns when the last moment was recorded, zero if there is none.
func (l *line) lastAt() time.Time {
	for _, m := range slices.Backward(l.all()) {
		if !m.Placed {
			return m.At
		}
	}
	return time.Time{}
}

// List returns a session with its moments and snapshots.
func (t *Timeline) List(ctx context.Context, client *checkpoint.Client, p ListParams) (*List, error) {
	if p.Limit < 0 || p.Limit > maxMoments {
		return nil, usererr.Invalid("limit is %d; it must be from 1 to %d", p.Limit, maxMoments)
	}
	if p.After != "" && p.Before != "" {
		return nil, usererr.Invalid("pass after or before, not both")
	}
	if p.Limit == 0 {
		p.Limit = defaultMoments
	}
	s, l, err := t.sessionBy(client, p.Where, false, []*string{&p.After, &p.Before})
	if err != nil {
		return nil, err
	}
	all := l.of(s)
	moments := all
	list := &List{About: aboutOf(t, s), Moments: []ListMoment{}, FsSnapshots: []ListSnapshot{}}
	if len(p.Kinds) > 0 {
		moments = nil
		for _, m := range all {
			if slices.Contains(p.Kinds, m.Kind) || slices.Contains(p.Kinds, m.Source) {
				moments = append(moments, m)
			}
		}
	}
	for _, id := range []string{p.After, p.Before} {
		if n, ok := number(id, 'm'); ok && !slices.ContainsFunc(l.all(), func(m *Moment) bool { return m.Number >= n }) {
			return nil, usererr.New(usererr.NotFound, "there is no moment %s. `timeline_list` lists them.", id)
		}
	}
	for _, kind := range p.Kinds {
		if !slices.Contains(records.Kinds(), kind) {
			return nil, usererr.Invalid("there is no kind %q of moments. Kinds are %s.", event.Clean(kind), strings.Join(records.Kinds(), ", "))
		}
	}
	if p.After != "" {
		if moments, err = following(moments, p.After, s, t.o.Clock()); err != nil {
			return nil, err
		}
		if len(moments) > p.Limit {
			moments = moments[:p.Limit]
			list.Next = moments[len(moments)-1].ID()
		}
	} else {
		if p.Before != "" {
			if moments, err = preceding(moments, p.Before, s, t.o.Clock()); err != nil {
				return nil, err
			}
		}
		list.Omitted = max(0, len(moments)-p.Limit)
		moments = moments[list.Omitted:]
	}
	known, err := t.snapshots(ctx, s.Workspace)
	if err != nil { // the moments are known all the same
		known, list.Problem = nil, "the snapshots cannot be read: "+err.Error()
	}
	first, mounts := firstOf(all), views(ctx, t, s.Workspace)
	course := courseOf(ctx, t, client, s, all, moments, first)
	seen := map[uint64]bool{}
	for i, m := range moments {
		one := listed(m, s, known)
		one.Severity = course[i]
		list.Moments = append(list.Moments, one)
		if k, ok := known[m.Snapshot]; ok && k.At.UnixNano() == m.SnapshotAt {
			if !seen[m.Snapshot] {
				seen[m.Snapshot] = true
				list.FsSnapshots = append(list.FsSnapshots, listedSnapshot(s, k, first[m.Snapshot].Shift, mounts[m.Snapshot]))
			}
		}
	}
	slices.SortStableFunc(list.FsSnapshots, func(a, b ListSnapshot) int { return cmp.Compare(a.TS, b.TS) })
	return list, nil
}

// following returns the moments after one by its ID. After m0, or after one that is not among them, are those with a larger
// number and all that follow them. After a time are those that it does not reach.
func following(moments []*Moment, after string, s *Session, now time.Time) ([]*Moment, error) {
	at, found, err := positionOf(moments, "after", after, s, now)
	if found {
		at++
	}
	return moments[at:], err
}

// preceding returns the moments before one by its ID, or before a time.
func preceding(moments []*Moment, before string, s *Session, now time.Time) ([]*Moment, error) {
	at, _, err := positionOf(moments, "before", before, s, now)
	return moments[:at], err
}

// positionOf returns how many moments are before one by its ID, or reached by a time, and whether the moment is among them. Of
// one that is not, those are before it that precede the first one with a larger number.
func positionOf(moments []*Moment, name, id string, s *Session, now time.Time) (at int, found bool, err error) {
	n, isMoment := number(id, 'm')
	later := func(m *Moment) bool { return m.Number > n && !m.Placed }
	if _, reaches, isTime := s.Time(id, now); isTime {
		later = func(m *Moment) bool { return !reaches(m) }
	} else if at = slices.IndexFunc(moments, func(m *Moment) bool {
		return m.Snapshot != 0 && snapshotID(m.Snapshot) == id || m.Source == records.FromCheckpoint && m.Label == id
	}); at >= 0 {
		return at, true, nil
	} else if !isMoment && id != "m0" {
		return 0, false, usererr.Invalid("%s is %q; it must be the ID of a moment (m12) or of a file snapshot (s12), a checkpoint, or a time", name, event.Clean(id))
	} else if at = slices.IndexFunc(moments, func(m *Moment) bool { return m.Number == n }); at >= 0 {
		return at, true, nil
	}
	if at = slices.IndexFunc(moments, later); at < 0 {
		at = len(moments)
	}
	return at, false, nil
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

// lost returns why a moment's snapshot is not there, "" if it is. Without known snapshots it returns what is recorded.
func lost(m *Moment, known map[uint64]tracked.Snapshot) string {
	if m.Snapshot == 0 {
		return m.Reason
	}
	k, ok := known[m.Snapshot]
	switch {
	case known == nil && !m.Pruned, ok && k.At.UnixNano() == m.SnapshotAt:
		return ""
	case m.Pruned:
		return snapshotID(m.Snapshot) + " was pruned"
	case !ok:
		return snapshotID(m.Snapshot) + " was lost"
	}
	return snapshotID(m.Snapshot) + " was lost when the machine ended"
}

// noticed is how late a snapshot may be without a word about it.
const noticed = 100 * time.Millisecond

func listed(m *Moment, s *Session, known map[uint64]tracked.Snapshot) ListMoment {
	e := ListMoment{ID: m.ID(), TS: seconds(m.Elapsed(s)), At: diff.Time{Time: m.At}, Label: m.Label, Kind: m.Kind, Source: m.Source, Notes: m.Notes, Exit: m.Exit, Terminal: (*Terminal)(m.Terminal)}
	if m.Anchor != nil {
		anchor := Anchor(*m.Anchor)
		anchor.Transcript = "" // agents pay for each word
		e.Anchor = &anchor
	}
	if e.Reason = lost(m, known); e.Reason != "" {
		e.FsSnapshot = false
	} else {
		e.FsSnapshot = snapshotID(m.Snapshot)
		if late := time.Unix(0, m.SnapshotAt).Sub(m.At); late > noticed && !m.Placed && m.Source != records.FromFiles {
			e.LateSec = float64(late.Milliseconds()) / 1000
		}
	}
	return e
}

// views returns the directories of a workspace's views by their snapshots.
func views(ctx context.Context, t *Timeline, root string) map[uint64]string {
	w, err := t.open(ctx, root)
	if err != nil {
		return nil
	}
	return w.Views()
}

// listedSnapshot describes a snapshot. View is the directory of its view, "" if there is none.
func listedSnapshot(s *Session, k tracked.Snapshot, shift time.Duration, view string) ListSnapshot {
	return ListSnapshot{
		ID: snapshotID(k.Number), TS: seconds(k.At.Sub(s.Started) + shift), At: diff.Time{Time: k.At}, Label: k.Label, Provider: workspace.ProviderOf(k),
		Snapshot: Reference{ID: fmt.Sprintf("%s@%d", s.Space, k.Number), Mount: view}, Files: k.Files, Changed: k.Changed, Notes: k.Problems,
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
	// Note says how the snapshot differs from what was named, "" in the usual case. Lost is why the named moment has none itself.
	Note, Lost string
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
	reaches := func(m *Moment) bool { return !m.At.After(at) }
	parsed, byTime, isTime := s.Time(to, t.o.Clock())
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
		at, reaches = parsed, byTime
	} else {
		for _, m := range slices.Backward(moments) {
			if m.Source == records.FromCheckpoint && m.Label == to {
				named = m
				break
			}
		}
		if named == nil {
			return nil, usererr.New(usererr.NotFound, "%q is not a moment of session %s. Use the ID of a moment (m12) or of a file snapshot (s12), or the name of a checkpoint. Times such as %s or %s, start and now are moments too.", event.Clean(to), s.ID, s.Started.Local().Format(time.TimeOnly), s.Started.UTC().Format(time.RFC3339))
		}
	}
	if named != nil {
		if lost(named, known) == "" {
			return &Place{Session: s, Snapshot: known[named.Snapshot], Moment: named}, nil
		}
		at = named.At
	}
	for _, m := range slices.Backward(moments) {
		if m.Placed || !reaches(m) || lost(m, known) != "" {
			continue
		}
		place := &Place{Session: s, Snapshot: known[m.Snapshot], Moment: m}
		if named != nil {
			place.Lost = lost(named, known)
			place.Note = fmt.Sprintf("%s has no snapshot (%s). This is %s of %s, %s earlier.", named.ID(), place.Lost, snapshotID(m.Snapshot), m.ID(), at.Sub(m.At).Round(time.Millisecond))
		}
		return place, nil
	}
	none := "there is no snapshot at or before " + at.UTC().Format(time.RFC3339)
	if named != nil {
		none = fmt.Sprintf("%s has no snapshot (%s), and there is none before it", named.ID(), lost(named, known))
	}
	return nil, usererr.New(usererr.NotFound, "%s%s", none, nearest(known, func(tracked.Snapshot) bool { return false }))
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

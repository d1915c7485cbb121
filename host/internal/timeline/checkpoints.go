package timeline

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/timeline/sessions"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// Moments is what checkpoints and reports need of a timeline. It implements [observe.Moments].
type Moments struct{ *Timeline }

// Checkpoint adds a moment for a checkpoint at its time: in the workspace of the client that created it, or for the user in
// all that are open.
func (t Moments) Checkpoint(ctx context.Context, client *checkpoint.Client, name string, at time.Time) {
	if t.lines.Failed() != nil {
		return
	}
	dirs := []string{client.Scope.Workspace}
	if dirs[0] == "" {
		dirs = t.o.Workspaces.Dirs()
	}
	ctx, cancel := context.WithTimeout(ctx, hookPatience)
	defer cancel()
	for _, dir := range dirs {
		err := t.checkpoint(ctx, client, dir, name, at)
		if err != nil && usererr.CodeOf(err) != usererr.NotAllowed && ctx.Err() == nil {
			t.o.Log.Warn("cannot record the moment of a checkpoint", "directory", dir, "error", err)
		}
	}
}

func (t Moments) checkpoint(ctx context.Context, client *checkpoint.Client, dir, name string, at time.Time) error {
	m := records.Moment{Label: name, Source: records.FromCheckpoint, Event: eventOf(ctx)}
	if t.o.Clock().Sub(at) > moments.NamedWithin { // it was imported
		if s, l, err := t.lines.SessionOf(client, moments.Where{}); client.Scope.Workspace != "" && err == nil && !at.Before(s.Started) {
			m.Label, m.Kind = t.lines.Label(name), records.Auto
			if added, err := t.lines.AddAt(ctx, s, l, m, records.Seconds(at.Sub(s.Started)+l.Shift(s))); err != nil || added != nil {
				return err
			}
		}
	}
	_, err := t.Record(ctx, dir, m)
	return err
}

// Renamed gives the moments of a checkpoint its new name: those with its old name that were recorded with it.
func (t Moments) Renamed(from, to string, at time.Time) {
	if t.lines.Failed() != nil {
		return
	}
	for _, s := range t.sessions.All() {
		if t.o.Workspaces.Watched(s.Workspace) {
			if err := t.lines.Rename(s.Workspace, from, to, at); err != nil {
				t.o.Log.Warn("cannot rename the moment of a checkpoint", "workspace", s.Workspace)
			}
		}
	}
	t.lines.Changes().Notify()
}

// When returns the time of a moment or a file snapshot by its ID, in the workspace of a client or, with "@" and a session
// after it, in that of the session. A moment whose snapshot was taken a little later begins with that snapshot. ok is false for what is no such ID.
func (t Moments) When(client *checkpoint.Client, id string) (at time.Time, ok bool, err error) {
	bare, _, _ := strings.Cut(id, "@")
	n, isMoment := records.Number(bare, 'm')
	if !isMoment {
		if n, ok = records.Number(bare, 's'); !ok {
			return t.printed(client, id)
		}
	}
	s, l, err := t.named(client, id)
	if err != nil {
		return at, true, err
	}
	for _, m := range l.All() {
		switch {
		case isMoment && m.Number == n:
			if taken := time.Unix(0, m.SnapshotAt); m.Snapshot != 0 && !m.Placed && taken.After(m.At) {
				return taken, true, nil
			}
			return m.At, true, nil
		case !isMoment && m.Snapshot == n && m.SnapshotAt != 0:
			return time.Unix(0, m.SnapshotAt), true, nil
		}
	}
	return at, true, usererr.New(usererr.NotFound, "there is no moment %s in %s. List the moments for their IDs.", bare, s.Workspace)
}

// printed returns the time that commands print of a session as a time of day, or as hours, minutes and seconds from its start. A
// report since then has all of that second. ok is false for another text.
func (t Moments) printed(client *checkpoint.Client, text string) (at time.Time, ok bool, err error) {
	if !strings.Contains(text, ":") || t.lines.Failed() != nil {
		return at, false, nil
	}
	bare, session := sessions.Cut(text)
	s := &records.Session{}
	if at, _, ok = s.Time(bare, t.o.Clock()); !ok {
		return at, false, nil
	}
	if strings.HasPrefix(bare, "+") || session != "" {
		if s, _, err = t.named(client, text); err != nil {
			return at, true, err
		}
		at, _, _ = s.Time(bare, t.o.Clock())
	}
	return at.Add(time.Nanosecond - time.Second), true, nil
}

// Workspace returns the workspace of a moment or a file snapshot by its ID, as [Moments.When] finds it. It is "" for what is no
// such ID.
func (t Moments) Workspace(client *checkpoint.Client, id string) string {
	if _, ok, err := t.When(client, id); !ok || err != nil {
		return ""
	}
	s, _, err := t.named(client, id)
	if err != nil {
		return ""
	}
	return s.Workspace
}

// named returns the session that the ID of a moment names, or the one of the client's workspace. For a program of the user without a
// workspace, that is a session of the only workspace that has it.
func (t Moments) named(client *checkpoint.Client, id string) (*records.Session, *moments.Line, error) {
	bare, session, _ := strings.Cut(id, "@")
	if t.lines.Failed() != nil {
		return nil, nil, t.lines.Failed()
	}
	if session == "" && client.User && client.Scope.Workspace == "" {
		var err error
		if session, err = t.only(bare); err != nil {
			return nil, nil, err
		}
	}
	return t.lines.Recorded(client, moments.Where{Session: session})
}

// only returns a session of the only workspace that has a moment or a file snapshot by its ID. Of another text, it is that of the only
// workspace with sessions.
func (t Moments) only(id string) (session string, err error) {
	found := map[string]string{} // of each workspace, the last session that has it
	recorded := false
	for _, s := range t.sessions.All() {
		if !t.Allows(s.Workspace) {
			continue
		}
		recorded = true
		if has, err := t.has(s, id); err != nil {
			return "", err
		} else if has {
			found[s.Workspace] = s.ID
		}
	}
	switch names := slices.Sorted(maps.Values(found)); {
	case len(names) == 1:
		return names[0], nil
	case len(names) > 1:
		return "", usererr.New(usererr.Ambiguous, "%s exists in several workspaces. Name a session of the one that you mean: %s.", id, id+"@"+strings.Join(names, ", "+id+"@"))
	case recorded:
		return "", usererr.New(usererr.NotFound, "there is no moment %s. List the moments for their IDs.", id)
	}
	return "", t.lines.Nothing("there is no moment %s, because nothing was recorded yet.", id)
}

// has reports whether a session has a moment or a file snapshot by its ID. Each has every time.
func (t Moments) has(s *records.Session, id string) (bool, error) {
	m, isMoment := records.Number(id, 'm')
	k, isSnapshot := records.Number(id, 's')
	if !isMoment && !isSnapshot {
		return true, nil
	}
	l, err := t.lines.Line(s.Workspace)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(l.Of(s), func(one *records.Moment) bool {
		return isMoment && one.Number == m || isSnapshot && one.Snapshot == k && one.SnapshotAt != 0
	}), nil
}

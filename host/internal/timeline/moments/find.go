package moments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/timeline/sessions"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// Argument describes an argument of a tool that [Lines.Locate] reads.
const Argument = `moment (m12), snapshot (s12), checkpoint, time, start or now`

// Where names a session in the parameters of a call.
type Where struct {
	// Session is a session's ID, "" for the current one of the workspace.
	Session string `json:"session"`
	// Dir is the directory that the user's program works in. Agents have a workspace instead.
	Dir string `json:"dir"`
}

// Directory returns the directory that a call is about, "" if it names none.
func (w Where) Directory(client *checkpoint.Client) (string, error) {
	if w.Dir == "" {
		return client.Scope.Workspace, nil
	}
	if !client.User {
		return "", usererr.Invalid("dir is for the user's own programs. Leave it out: this client's workspace is %s.", cmp.Or(client.Scope.Workspace, "not known"))
	}
	return w.Dir, nil
}

// RootOf returns the workspace that a client means, which its user must have allowed.
func (ls *Lines) RootOf(client *checkpoint.Client, where Where) (string, error) {
	return rootOf(client, where, ls.RootAt)
}

// RecordedIn is [Lines.RootOf] for a call that only reads what is recorded: the workspace need not exist any more.
func RecordedIn(ls *Lines, client *checkpoint.Client, where Where, needed ...string) (string, error) {
	return rootOf(client, where, func(dir string, _ ...string) (string, error) { return ls.rootToRead(dir, needed...) })
}

func rootOf(client *checkpoint.Client, where Where, rootAt rooting) (string, error) {
	dir, err := where.Directory(client)
	if err != nil {
		return "", err
	}
	if dir == "" {
		return "", NoWorkspace(client)
	}
	return rootAt(dir)
}

// RootAt returns the workspace that a directory is in, which its user must have allowed. Of one that no longer exists, the error says
// what to do.
func (ls *Lines) RootAt(dir string, needed ...string) (string, error) {
	root, err := ls.o.Workspaces.Root(dir, needed...)
	if !errors.Is(err, fs.ErrNotExist) {
		return root, err
	}
	if path, err := grants.Former(dir); err == nil {
		dir = path
	}
	s := ls.sessions.Last(func(s *records.Session) bool { return grants.Within(dir, s.Workspace) })
	if s == nil {
		return "", usererr.New(usererr.NotFound, "%v", err)
	}
	if _, missing := os.Stat(s.Workspace); !errors.Is(missing, fs.ErrNotExist) {
		return "", usererr.New(usererr.NotFound, "%v", err) // it is the directory in it that does not exist
	}
	if l, err := ls.Line(s.Workspace); err == nil && l.discarded() {
		return "", usererr.New(usererr.NotFound, "the workspace %s no longer exists, and its snapshots were deleted. If it was moved, run `tidemark project allow --moved-from` with this path in its new place.", s.Workspace)
	}
	return "", &Missing{Workspace: s.Workspace, Session: s.ID}
}

// Missing is the error of a call about a workspace that no longer exists and has snapshots.
type Missing struct {
	Workspace string
	// Session is the ID of its last session.
	Session string
}

func (e *Missing) Error() string {
	return fmt.Sprintf("the workspace %s no longer exists. Its snapshots are still there. Create the directory again, then restore a moment of session %s. Or run `tidemark timeline session-branch %s --moment now --name NAME`, which copies the last files into another directory. If it was moved, run `tidemark project allow --moved-from` with this path in its new place.", e.Workspace, e.Session, e.Session)
}

// Former is what an answer about a workspace says, "" where that exists.
func Former(w *workspace.Workspace) string {
	if !w.Former {
		return ""
	}
	return fmt.Sprintf("the workspace %s no longer exists.", w.Dir)
}

// Code returns the code of the error.
func (e *Missing) Code() usererr.Code { return usererr.NotFound }

// rooting finds the workspace of a directory, as [Lines.RootAt] does.
type rooting func(dir string, needed ...string) (string, error)

// rootToRead is [Lines.RootAt] for a call that only reads what is recorded. It finds a workspace that no longer exists too.
func (ls *Lines) rootToRead(dir string, needed ...string) (string, error) {
	root, err := ls.RootAt(dir, needed...)
	if missing, ok := errors.AsType[*Missing](err); ok {
		return missing.Workspace, workspace.AllowedFormer(ls.o.Workspaces, missing.Workspace, needed...)
	}
	return root, err
}

// discarded reports whether all snapshots of moments were deleted on purpose. It is false where there was none.
func (l *Line) discarded() (deleted bool) {
	for _, m := range l.All() {
		if m.Snapshot != 0 && !m.Pruned {
			return false
		}
		deleted = deleted || m.Pruned
	}
	return deleted
}

// SessionOf returns the session that a client means, and the line of its workspace. An agent reaches only sessions of its
// own workspace.
func (ls *Lines) SessionOf(client *checkpoint.Client, where Where, needed ...string) (*records.Session, *Line, error) {
	return ls.sessionOf(client, where, ls.RootAt, needed...)
}

// WorkspaceOf returns the workspace of the session that a client means, or of its directory, in which nothing need be recorded yet.
func WorkspaceOf(ls *Lines, client *checkpoint.Client, where Where) (string, error) {
	if where.Session == "" && ls.failed == nil {
		return ls.RootOf(client, where)
	}
	s, _, err := ls.SessionOf(client, where)
	if err != nil {
		return "", err
	}
	return s.Workspace, nil
}

// OpenRecorded is [Lines.Open] for a call that only reads what is recorded: the workspace need not exist any more. What was
// interrupted there is not ended then.
func (ls *Lines) OpenRecorded(ctx context.Context, root string) (*workspace.Workspace, error) {
	w, err := ls.Open(ctx, root)
	if err == nil {
		return w, nil
	}
	if _, why := ls.RootAt(root); why != nil {
		if _, missing := errors.AsType[*Missing](why); missing {
			return workspace.OpenFormer(ctx, ls.o.Workspaces, root)
		}
	}
	return nil, err
}

// Recorded is [Lines.SessionOf] for a call that only reads what is recorded: the workspace need not exist any more.
func (ls *Lines) Recorded(client *checkpoint.Client, where Where, needed ...string) (*records.Session, *Line, error) {
	return ls.sessionOf(client, where, ls.rootToRead, needed...)
}

func (ls *Lines) sessionOf(client *checkpoint.Client, where Where, rootAt rooting, needed ...string) (s *records.Session, l *Line, err error) {
	if ls.failed != nil {
		return nil, nil, ls.failed
	}
	dir, err := where.Directory(client)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case where.Session != "":
		if s, err = find(ls, client, where.Session); err != nil {
			return nil, nil, err
		}
	case dir == "":
		return nil, nil, NoWorkspace(client)
	default:
		root, err := rootAt(dir, needed...)
		if err != nil {
			return nil, nil, err
		}
		if s = ls.sessions.Latest(root); s == nil {
			if left := ls.left(root); len(left) > 0 {
				return nil, nil, ls.Nothing("the list of moments of %s is missing. Snapshots that are there: %s. `tidemark timeline seek`, `diff` and `restore` take them by ID.", root, spanned(left))
			}
			return nil, nil, ls.Nothing("nothing was recorded in %s yet. The first moment begins a session: an agent's hook, a checkpoint, or `tidemark timeline fs-snapshot add`.", root)
		}
	}
	if _, err := rootAt(s.Workspace, needed...); err != nil {
		return nil, nil, err
	}
	l, err = ls.Line(s.Workspace)
	return s, l, err
}

// left returns the snapshots of a workspace without sessions: the file of these was removed, or is damaged.
func (ls *Lines) left(root string) []tracked.Snapshot {
	if !ls.o.Workspaces.Keeps(root) {
		return nil
	}
	w, err := ls.Open(ls.life, root)
	if err != nil {
		return nil
	}
	left, err := w.List()
	if err != nil {
		return nil
	}
	return left
}

// spanned says how many snapshots there are, and which.
func spanned(list []tracked.Snapshot) string {
	first, last := records.SnapshotID(list[0].Number), records.SnapshotID(list[len(list)-1].Number)
	if len(list) == 1 {
		return first
	}
	return fmt.Sprintf("%d (%s–%s)", len(list), first, last)
}

// beginIn begins a session in a workspace without sessions, so that its snapshots can be named.
func (ls *Lines) beginIn(client *checkpoint.Client, where Where) error {
	root, err := ls.RootOf(client, where)
	if err != nil || ls.sessions.Latest(root) != nil || len(ls.left(root)) == 0 {
		return nil //nolint:nilerr // who asks for the session says so
	}
	l, err := ls.Line(root)
	if err == nil {
		_, _, err = ls.record(l, ls.Stamp(records.Moment{Label: "session started", Kind: records.Auto, Source: records.FromStart}))
	}
	return err
}

// SessionBy is [Lines.SessionOf] for a call with moments, which may name a session, as in m3@shop-1. It cuts that off. With
// here, the moments must be of the workspace that the client is in.
func (ls *Lines) SessionBy(client *checkpoint.Client, where Where, here bool, moments []*string, needed ...string) (*records.Session, *Line, error) {
	return ls.sessionBy(client, where, here, moments, ls.RootAt, needed...)
}

// RecordedBy is [Lines.Recorded] for a call with moments, as [Lines.SessionBy] is.
func (ls *Lines) RecordedBy(client *checkpoint.Client, where Where, here bool, moments []*string, needed ...string) (*records.Session, *Line, error) {
	return ls.sessionBy(client, where, here, moments, ls.rootToRead, needed...)
}

func (ls *Lines) sessionBy(client *checkpoint.Client, where Where, here bool, moments []*string, rootAt rooting, needed ...string) (*records.Session, *Line, error) {
	if ls.failed != nil {
		return nil, nil, ls.failed
	}
	of := func(id string) (*records.Session, error) { return find(ls, client, id) }
	named, err := sessions.Named(of, where.Session, moments...)
	if err != nil {
		return nil, nil, err
	}
	if here && named != where.Session {
		s, err := of(named)
		if err != nil {
			return nil, nil, err
		}
		dir, err := rootOf(client, where, rootAt)
		switch {
		case client.User && usererr.CodeOf(err) == usererr.NotAllowed: // the user is in no workspace, so the session is meant
		case err != nil:
			return nil, nil, err
		case dir != s.Workspace:
			return nil, nil, usererr.Invalid("session %s is of %s, and this call is about %s. Name a moment of that, or pass the session.", s.ID, s.Workspace, dir)
		}
	}
	where.Session = named
	if named == "" && slices.ContainsFunc(moments, func(m *string) bool { _, is := records.Number(*m, 's'); return is }) {
		if err := ls.beginIn(client, where); err != nil {
			return nil, nil, err
		}
	}
	return ls.sessionOf(client, where, rootAt, needed...)
}

// find returns a session that a client may use: a program of the user any, an agent those of its workspace and their branches.
// An error names no other session, and no other directory.
func find(ls *Lines, client *checkpoint.Client, id string) (*records.Session, error) {
	if client.Scope.Workspace == "" {
		if !client.User {
			return nil, NoWorkspace(client)
		}
		return ls.sessions.Find(id)
	}
	own := func(s *records.Session) bool { return ls.sessions.Within(s, client.Scope.Workspace) }
	s, err := ls.sessions.FindAmong(id, own)
	if err == nil && !own(s) {
		return nil, usererr.New(usererr.NotAllowed, "session %s is not of this client's workspace %s", s.ID, client.Scope.Workspace)
	}
	return s, err
}

// NoWorkspace is the error of a call by a client without a workspace. A program of the user may name a session instead.
func NoWorkspace(client *checkpoint.Client) error {
	if client.User {
		return usererr.Invalid("name a session: this client has no workspace")
	}
	return usererr.Invalid("this client has no workspace, so it has no timeline. Start it in the project, or with `tidemark mcp --workspace DIR`.")
}

// Of returns the moments of a session by their time. The caller does not change the list.
func (l *Line) Of(s *records.Session) []*records.Moment {
	l.mu.Lock()
	defer l.mu.Unlock()
	list, known := l.ordered[s.ID]
	if !known {
		list = []*records.Moment{}
		for _, m := range l.moments {
			if m.Session == s.ID {
				list = append(list, m)
			}
		}
		slices.SortStableFunc(list, func(a, b *records.Moment) int { return cmp.Compare(a.Elapsed(s), b.Elapsed(s)) })
		l.ordered[s.ID] = list
	}
	return list[:len(list):len(list)]
}

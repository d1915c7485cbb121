package timeline

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// DirParams name a directory that need not be a workspace.
type DirParams struct {
	Dir string `json:"dir"`
}

// Origin is where a directory comes from that may have no decision of its own.
type Origin struct {
	// Branch is the branch that the directory is in, Session its session, and Of the directory whose decision it has. They
	// are "" outside of branches.
	Branch  string `json:"branch,omitempty"`
	Session string `json:"sessionId,omitempty"`
	Of      string `json:"of,omitempty"`
	// Moved is the workspace, at the directory or above it, that was moved there from MovedFrom; "" for none.
	Moved     string `json:"moved,omitempty"`
	MovedFrom string `json:"movedFrom,omitempty"`
}

// originOf returns where a directory comes from.
func originOf(t *Timeline, dir string) (*Origin, error) {
	if t.lines.Failed() != nil {
		return nil, t.lines.Failed()
	}
	dir, err := grants.Resolve(dir)
	if err != nil {
		return nil, err
	}
	o := &Origin{}
	if o.Branch, o.Of = t.o.Workspaces.BranchOf(dir); o.Branch != "" {
		if s := t.sessions.Latest(o.Branch); s != nil {
			o.Session = s.ID
		}
		return o, nil
	}
	o.Moved, o.MovedFrom = t.o.Workspaces.MovedFrom(dir)
	return o, nil
}

// MoveParams are the parameters of workspace_move.
type MoveParams struct {
	// From is where the workspace was, To where it is now. From is absolute.
	From string `json:"from"`
	To   string `json:"to"`
}

// Moved is a workspace that has the snapshots of another place.
type Moved struct {
	Workspace string `json:"workspace"`
	// Sessions counts those that are of the new place now, with those of branches and of workspaces inside of it.
	Sessions int `json:"sessions"`
}

// move makes the sessions and the snapshots of a workspace that was moved those of its new directory. So it does with the
// workspaces inside of it, and with its branches that were moved along. A call that was interrupted can be repeated.
func move(ctx context.Context, t *Timeline, p MoveParams) (*Moved, error) {
	if t.lines.Failed() != nil {
		return nil, t.lines.Failed()
	}
	to, err := grants.Resolve(p.To)
	if err != nil {
		return nil, err
	}
	known, err := places(t)
	if err != nil {
		return nil, err
	}
	moves := movedWith(t, known, p.From, to)
	if len(moves) == 0 || slices.Contains(known, p.From) || slices.Contains(known, to) {
		moves = append([]relocation{{p.From, to}}, moves...)
	}
	for _, m := range moves {
		if t.sessions.Latest(m.to) != nil && t.sessions.Latest(m.from) != nil {
			return nil, usererr.New(usererr.AlreadyExists, "%s has sessions of its own already. Those of %s stay where they are.", m.to, m.from)
		}
	}
	moved := &Moved{Workspace: to}
	for _, m := range moves {
		n, err := t.lines.Move(ctx, m.from, m.to)
		if err != nil {
			return nil, err
		}
		moved.Sessions += n
	}
	return moved, nil
}

// relocation is where a workspace was and is.
type relocation struct{ from, to string }

// places returns the directories of which there are snapshots or sessions, sorted.
func places(t *Timeline) (dirs []string, err error) {
	stored, err := t.o.Workspaces.Stored()
	for _, s := range stored {
		dirs = append(dirs, s.Workspace)
	}
	for _, s := range t.sessions.All() {
		dirs = append(dirs, s.Workspace)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs), err
}

// movedWith returns the known workspaces that were moved together with a directory: those inside of it, and its branches that were
// beside it. They are the ones that are missing in the old place and exist in the new one.
func movedWith(t *Timeline, known []string, from, to string) (moves []relocation) {
	for _, dir := range known {
		above, below := from, to
		if _, of := t.o.Workspaces.BranchOf(dir); !grants.Within(dir, from) && of != "" && grants.Within(of, from) {
			above, below = filepath.Dir(from), filepath.Dir(to)
		}
		rel, err := filepath.Rel(above, dir)
		if err != nil || dir == from || !filepath.IsLocal(rel) {
			continue
		}
		m := relocation{dir, filepath.Join(below, rel)}
		if _, err := os.Lstat(m.from); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if info, err := os.Lstat(m.to); err == nil && info.IsDir() {
			moves = append(moves, m)
		}
	}
	return moves
}

// Formerly returns the directories in which sessions of a directory began that were moved into it.
func Formerly(t *Timeline, dir string) (dirs []string) {
	if t.lines.Failed() != nil {
		return nil
	}
	for _, s := range t.sessions.All() {
		if grants.Within(s.Workspace, dir) {
			dirs = append(dirs, s.Formerly...)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// Now returns where a workspace is now that was at a directory when something was recorded: the directory itself, unless it was moved
// and nothing else was recorded there.
func Now(t *Timeline, dir string) string {
	if t.lines.Failed() != nil || t.sessions.Latest(dir) != nil {
		return dir
	}
	if s := t.sessions.Last(func(s *records.Session) bool { return slices.Contains(s.Formerly, dir) }); s != nil {
		return s.Workspace
	}
	return dir
}

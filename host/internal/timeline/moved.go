package timeline

import (
	"context"

	"tidemark.dev/tidemark/host/internal/grants"
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
	if t.failed != nil {
		return nil, t.failed
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
	// Sessions counts those that are of the new place now.
	Sessions int `json:"sessions"`
}

// move makes the sessions and the snapshots of a workspace that was moved those of its new directory. A call that was
// interrupted can be repeated.
func move(ctx context.Context, t *Timeline, p MoveParams) (*Moved, error) {
	if t.failed != nil {
		return nil, t.failed
	}
	to, err := grants.Resolve(p.To)
	if err != nil {
		return nil, err
	}
	if t.sessions.Latest(to) != nil && t.sessions.Latest(p.From) != nil {
		return nil, usererr.New(usererr.AlreadyExists, "%s has sessions of its own already. Those of %s stay where they are.", to, p.From)
	}
	l, err := t.line(p.From)
	if err != nil {
		return nil, err
	}
	unlock, err := l.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := t.o.Workspaces.Move(p.From, to); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.lines, p.From)
	delete(t.lines, to)
	n, err := t.sessions.Move(p.From, to)
	return &Moved{Workspace: to, Sessions: n}, err
}

package operations

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/lacking"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
)

// Require returns an error where the user's decision about a directory lacks a grant.
func (ops *Operations) Require(dir, grant string) error {
	_, err := moments.RecordedIn(ops.lines, &checkpoint.Client{User: true}, moments.Where{Dir: dir}, grant)
	return err
}

// Present returns an error if the workspace of a session no longer exists.
func (ops *Operations) Present(s *records.Session) error {
	_, err := ops.lines.RootAt(s.Workspace)
	return err
}

// Session returns a session by its ID.
func Session(ops *Operations, id string) (*records.Session, error) { return ops.sessions.Find(id) }

// UpdateAgent changes what is known of the agent of a branch, and keeps it. An error of change keeps nothing.
func (ops *Operations) UpdateAgent(id string, change func(*records.Agent) error) error {
	s, err := ops.sessions.Find(id)
	if err != nil {
		return err
	}
	if s.Agent == nil {
		return usererr.New(usererr.NotFound, "branch %s has no agent", id)
	}
	agent := *s.Agent
	if err := change(&agent); err != nil {
		return err
	}
	return ops.sessions.Update(id, func(s *records.Session) { s.Agent = &agent })
}

// FindBranch returns a branch by its name, its directory or the ID of its session, with the session that it comes from. It is one of
// the workspace that a client means, or of the original of the branch that it is in.
func (ops *Operations) FindBranch(client *checkpoint.Client, where moments.Where, name string) (branch, of *records.Session, err error) {
	if ops.lines.Failed() != nil {
		return nil, nil, ops.lines.Failed()
	}
	all, err := ops.BranchesIn(client, where)
	if err != nil {
		return nil, nil, err
	}
	list := make([]answers.About, len(all))
	for i, s := range all {
		list[i] = answers.About{ID: s.ID, Name: s.Name, Workspace: s.Workspace}
	}
	i, err := answers.Named(list, name)
	if err != nil {
		return nil, nil, err
	}
	if err := ops.o.Workspaces.Present(ops.lines.Life(), all[i].Workspace); err != nil {
		return nil, nil, err
	}
	of, err = ops.sessions.Find(all[i].BranchOf.Session)
	return all[i], of, err
}

// BranchesIn returns the branches of the workspace that a client means, the newest first: of all its sessions, and of those
// branches. In a branch it returns the branches of the original.
func (ops *Operations) BranchesIn(client *checkpoint.Client, where moments.Where) (list []*records.Session, err error) {
	root, err := originalOf(ops, client, where)
	if err != nil {
		return nil, err
	}
	for _, s := range slices.Backward(ops.sessions.All()) {
		if from := ops.sessions.Origin(s); s.BranchOf != nil && !s.Removed && from != nil && from.Workspace == root {
			list = append(list, s)
		}
	}
	return list, nil
}

// originalOf returns the workspace that a client means, or the original of the branch that it means.
func originalOf(ops *Operations, client *checkpoint.Client, where moments.Where) (root string, err error) {
	if ops.lines.Failed() != nil {
		return "", ops.lines.Failed()
	}
	if where.Session != "" {
		s, _, err := ops.lines.Recorded(client, where)
		if err != nil {
			return "", err
		}
		root = s.Workspace
	} else if root, err = moments.RecordedIn(ops.lines, client, where); err != nil {
		return "", err
	}
	if _, of := ops.o.Workspaces.BranchOf(root); of != "" {
		root = of
	}
	return root, nil
}

// DoneBefore returns the newest operation that was done in the workspace that a client means or in its branches, and that fits. It was
// one of the session of. Nil is none.
func DoneBefore(ops *Operations, client *checkpoint.Client, where moments.Where, fits func(*records.Operation) bool) (op *records.Operation, of *records.Session, err error) {
	root, err := originalOf(ops, client, where)
	if err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	for _, s := range ops.sessions.All() {
		if from := ops.sessions.Origin(s); from == nil || from.Workspace != root || seen[s.Space] {
			continue
		}
		seen[s.Space] = true
		all, err := ops.db.Operations(s.Space)
		if err != nil {
			return nil, nil, err
		}
		for _, o := range all {
			if o.State == records.Done && (op == nil || !o.At.Before(op.At)) && fits(o) {
				op = o
			}
		}
	}
	if op == nil {
		return nil, nil, nil
	}
	of, err = ops.sessions.Find(op.Session)
	return op, of, err
}

// OriginOf returns the session that a branch comes from in the end, nil if it is not known.
func (ops *Operations) OriginOf(s *records.Session) *records.Session { return ops.sessions.Origin(s) }

// LeftOut returns what a branch lacks of its original, because its snapshot does not have it.
func LeftOut(ctx context.Context, ops *Operations, branch, of *records.Session) (func(path string) bool, error) {
	w, err := ops.lines.OpenRecorded(ctx, of.Workspace)
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseUint(strings.TrimPrefix(branch.BranchOf.FsSnapshot, "s"), 10, 64)
	if err != nil {
		return nil, err
	}
	left, err := lacking.LeftOut(workspace.Recorded(w), number)
	if unknown := (*provider.UnknownError)(nil); !errors.As(err, &unknown) {
		return left, err
	}
	if w, err = ops.lines.OpenRecorded(ctx, branch.Workspace); err != nil { // it shares the snapshot, which the original has no more
		return nil, err
	}
	return lacking.LeftOut(workspace.Recorded(w), number)
}

// RecordOf returns the path of the record of the agent that worked last in a session, "" where none is known.
func (ops *Operations) RecordOf(s *records.Session) string {
	l, err := ops.lines.Line(s.Workspace)
	if err != nil {
		return ""
	}
	for _, m := range slices.Backward(l.Of(s)) {
		if m.Anchor != nil && m.Anchor.Transcript != "" {
			return m.Anchor.Transcript
		}
	}
	return ""
}

// TimeOf returns when a moment of a session's workspace was.
func (ops *Operations) TimeOf(s *records.Session, id string) (time.Time, error) {
	l, err := ops.lines.Line(s.Workspace)
	if err != nil {
		return time.Time{}, err
	}
	for _, m := range l.All() {
		if m.ID() == id {
			return m.At, nil
		}
	}
	return time.Time{}, usererr.New(usererr.NotFound, "there is no moment %s in session %s", id, s.ID)
}

// About describes a branch, with its newest moment.
func (ops *Operations) About(s *records.Session) answers.About {
	a := ops.lines.About(s)
	a.Latest = moments.Latest(ops.lines, s)
	return a
}

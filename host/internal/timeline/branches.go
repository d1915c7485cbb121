package timeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/compare"
	"tidemark.dev/tidemark/host/internal/workspace/edit"
)

// FindBranch returns a branch by its name or by the ID of its session, with the session that it comes from. The name is one of
// the workspace that a client means, or of the original of the branch that it is in.
func FindBranch(t *Timeline, client *checkpoint.Client, where Where, name string) (branch, of *Session, err error) {
	if t.failed != nil {
		return nil, nil, t.failed
	}
	all, err := BranchesIn(t, client, where)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range all {
		if s.Name == name || s.ID == name {
			of, err := t.sessions.Find(s.BranchOf.Session)
			return s, of, err
		}
	}
	return nil, nil, usererr.New(usererr.NotFound, "there is no branch %q of this workspace. `tidemark branch list` lists them.", name)
}

// BranchesIn returns the branches of the workspace that a client means, the newest first: of all its sessions, and of those
// branches. In a branch it returns the branches of the original.
func BranchesIn(t *Timeline, client *checkpoint.Client, where Where) (list []*Session, err error) {
	if t.failed != nil {
		return nil, t.failed
	}
	var root string
	if where.Session != "" {
		s, _, err := t.sessionOf(client, where)
		if err != nil {
			return nil, err
		}
		root = s.Workspace
	} else if root, err = rootOf(t, client, where); err != nil {
		return nil, err
	}
	if _, of := t.o.Workspaces.BranchOf(root); of != "" {
		root = of
	}
	for _, s := range slices.Backward(t.sessions.All()) {
		if from := t.sessions.Origin(s); s.BranchOf != nil && from != nil && from.Workspace == root {
			list = append(list, s)
		}
	}
	return list, nil
}

// OriginOf returns the session that a branch comes from in the end, nil if it is not known.
func OriginOf(t *Timeline, s *Session) *Session { return t.sessions.Origin(s) }

// PortsOf returns what is added to the ports in a branch, 0 in another workspace.
func PortsOf(t *Timeline, workspace string) int {
	if t.failed != nil {
		return 0
	}
	if s := t.sessions.Latest(workspace); s != nil && s.Agent != nil {
		return s.Agent.Ports
	}
	return 0
}

// RecordOf returns the path of the record of the agent that worked last in a session, "" where none is known.
func RecordOf(t *Timeline, s *Session) string {
	l, err := t.line(s.Workspace)
	if err != nil {
		return ""
	}
	for _, m := range slices.Backward(l.of(s)) {
		if m.Anchor != nil && m.Anchor.Transcript != "" {
			return m.Anchor.Transcript
		}
	}
	return ""
}

// TimeOf returns when a moment of a session's workspace was.
func TimeOf(t *Timeline, s *Session, id string) (time.Time, error) {
	l, err := t.line(s.Workspace)
	if err != nil {
		return time.Time{}, err
	}
	for _, m := range l.all() {
		if m.ID() == id {
			return m.At, nil
		}
	}
	return time.Time{}, usererr.New(usererr.NotFound, "there is no moment %s in session %s", id, s.ID)
}

// AboutBranch describes a branch.
func AboutBranch(t *Timeline, s *Session) About { return aboutOf(t, s) }

// RemoveBranch removes a branch with its files, as an operation of the session that it comes from. Without force it is refused
// while processes run in the branch.
func RemoveBranch(ctx context.Context, t *Timeline, branch, of *Session, force bool) (*Restored, error) {
	l, err := t.line(of.Workspace)
	if err != nil {
		return nil, err
	}
	ops, err := t.db.Operations(l.space)
	if err != nil {
		return nil, err
	}
	for _, o := range slices.Backward(ops) {
		if o.Kind == records.OpBranch && o.Branch == branch.ID && o.State == records.Done {
			return t.removeBranch(ctx, of, l, o, force)
		}
	}
	return nil, usererr.New(usererr.NotFound, "the operation that made branch %s is not known. Remove its directory %s.", branch.ID, branch.Workspace)
}

// Changed is how the files of a session's workspace differ from a snapshot.
type Changed struct {
	// Root is the workspace, Base a read-only directory with the files of the snapshot.
	Root, Base string
	// Paths are those that differ, sorted.
	Paths []string
	// Added and Removed count lines.
	Added, Removed int
}

// ChangedSince returns how the files of a session's workspace differ from a moment.
func ChangedSince(ctx context.Context, t *Timeline, client *checkpoint.Client, s *Session, from string) (*Changed, error) {
	s, l, err := t.sessionOf(client, Where{Session: s.ID})
	if err != nil {
		return nil, err
	}
	place, err := t.locate(ctx, client, s, l, from)
	if err != nil {
		return nil, err
	}
	present, err := now(ctx, t, client, s)
	if err != nil {
		return nil, err
	}
	w, err := t.open(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	d, err := w.Diff(ctx, place.Snapshot.Number, present.Snapshot.Number, compare.Options{Secrets: true, Exact: true, MaxFiles: -1})
	if err != nil {
		return nil, err
	}
	c := &Changed{Root: s.Workspace, Added: d.Added, Removed: d.Removed}
	for _, f := range d.Files {
		c.Paths = append(c.Paths, f.Path)
		if f.OldPath != "" {
			c.Paths = append(c.Paths, f.OldPath)
		}
	}
	slices.Sort(c.Paths)
	c.Paths = slices.Compact(c.Paths)
	c.Base, err = w.View(ctx, place.Snapshot.Number)
	return c, err
}

// Alter changes files of a session's workspace as an operation of its own, which can be undone: all of them, or none. The state
// before is a snapshot.
func Alter(ctx context.Context, t *Timeline, s *Session, kind, what string, steps []edit.Step) (*Operation, error) {
	l, err := t.line(s.Workspace)
	if err != nil {
		return nil, err
	}
	w, err := t.open(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	unlock, err := l.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	before, _, err := w.Take(ctx, "before: "+what, "", true)
	if err != nil {
		return nil, fmt.Errorf("cannot take a snapshot of the state before: %w", err)
	}
	root, err := os.OpenRoot(s.Workspace)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	if steps, err = edit.Complete(root, steps); err != nil {
		return nil, err
	}
	op := &Operation{At: t.o.Clock(), Session: s.ID, Kind: kind, State: records.Begun, What: what, Safety: before.Number, Wrote: edit.Wrote(steps)}
	for _, step := range steps {
		op.Paths = append(op.Paths, step.Path)
	}
	if err := t.db.Log(l.space, op); err != nil {
		return nil, fmt.Errorf("cannot save the operation: %w", err)
	}
	if err := edit.Do(root, steps); err != nil {
		if ended := endAlter(t.life, w, op); ended != nil {
			return nil, fmt.Errorf("%w, and what was changed could not be set back: %w. The state before is %s.", err, ended, snapshotID(op.Safety))
		}
		return nil, errors.Join(err, t.db.Log(l.space, op))
	}
	op.State = records.Done
	if err := t.db.Log(l.space, op); err != nil {
		return nil, fmt.Errorf("the files were changed, but the operation could not be saved: %w. Their state before is %s.", err, snapshotID(op.Safety))
	}
	_, err = t.keep(l, s, t.o.stamp(Moment{Label: t.o.label(what), Kind: records.Auto, Source: records.FromRestore}))
	return op, err
}

// endAlter ends the changes of an operation that failed or was interrupted: all are there, or none.
func endAlter(ctx context.Context, w *workspace.Workspace, op *Operation) error {
	all, err := edit.Recover(ctx, w, w.Dir, op.Safety, op.Wrote)
	if op.State = records.Failed; all {
		op.State = records.Done
	}
	return err
}

// LogCommit keeps that a branch was committed to Git.
func LogCommit(t *Timeline, s *Session, op *Operation) (id string, err error) {
	l, err := t.line(s.Workspace)
	if err != nil {
		return "", err
	}
	op.At, op.Session, op.Kind, op.State = t.o.Clock(), s.ID, records.OpCommit, records.Done
	err = t.db.Log(l.space, op)
	return op.ID(), err
}

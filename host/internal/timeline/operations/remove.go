package operations

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/subprocess"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/compare"
	"tidemark.dev/tidemark/host/internal/workspace/dataset"
	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// Removal is how a branch is removed.
type Removal struct {
	// Force removes a branch in which processes run.
	Force bool
	// NoUndo keeps no snapshot of the files: it needs no room for them, and the branch cannot come back.
	NoUndo bool
}

// RemoveBranch removes a branch with its files, as an operation of the session that it comes from. Without force it is refused
// while processes run in the branch.
func (ops *Operations) RemoveBranch(ctx context.Context, branch, of *records.Session, how Removal) (*answers.Restored, error) {
	l, err := ops.lines.Line(of.Workspace)
	if err != nil {
		return nil, err
	}
	all, err := ops.db.Operations(l.Space)
	if err != nil {
		return nil, err
	}
	for _, o := range slices.Backward(all) {
		if o.Kind == records.OpBranch && o.Branch == branch.ID && o.State == records.Done {
			return ops.removeBranch(ctx, of, l, o, records.Operation{Kind: records.OpRemove, What: "remove branch " + branch.Name}, how)
		}
	}
	return nil, usererr.New(usererr.NotFound, "the operation that made branch %s is not known. Remove its directory %s.", branch.ID, branch.Workspace)
}

// removeBranch removes the directory and the session of a branch, which undoes the operation that made it. A snapshot of its
// files remains, unless it is to have no undo. Without force it is refused while processes run there; with it, the agent that Tidemark started is ended.
func (ops *Operations) removeBranch(ctx context.Context, of *records.Session, l *moments.Line, op *records.Operation, as records.Operation, how Removal) (*answers.Restored, error) {
	s, err := ops.sessions.Find(op.Branch)
	if err != nil {
		return nil, err
	}
	undo := &as
	undo.At, undo.Session, undo.Of, undo.Dir, undo.Was = ops.o.Clock(), of.ID, op.Number, s.Workspace, s
	var running []subprocess.Process
	if Successor(ops, s) != nil {
		return forget(ctx, ops, s, of, l, op, undo)
	}
	if undo.Kept, running, err = ops.keepBranch(ctx, s, how); err != nil {
		undo.State, undo.Dir, undo.Was = records.Failed, "", nil
		return nil, errors.Join(err, ops.db.Log(l.Space, undo))
	}
	if err := ops.db.Freeing(func() error { return begin(ctx, ops, l.Space, undo) }); err != nil {
		return nil, err
	}
	ops.o.Workspaces.CloseDir(s.Workspace)
	remove := tracked.RemoveAll
	if how.Force {
		remove = tracked.RemoveUsed
	}
	if err := remove(s.Workspace); err != nil {
		err = fmt.Errorf("cannot remove the branch: %w", err)
		if used := (*tracked.UsedError)(nil); !how.Force && errors.As(err, &used) {
			err = usererr.New(usererr.ActionRefused, "%v. `tidemark branch rm --force` removes it all the same.", err)
		}
		if !how.NoUndo && isWhole(ctx, ops, s, undo.Kept) { // else the next start removes the rest
			undo.State, undo.Dir, undo.Was = records.Failed, "", nil
			err = errors.Join(err, ops.db.Log(l.Space, undo))
		}
		return nil, err
	}
	workspace.RemoveViewsOf(ops.o.Workspaces, s.Workspace)
	if err := ops.db.Freeing(func() error { return ops.sessions.Remove(s, ops.o.Clock()) }); err != nil {
		return nil, err
	}
	undo.State, op.State = records.Done, records.Undone
	a := &answers.Restored{SessionID: of.ID, Changes: map[string]int{}, Steps: []answers.RestoreStep{}, Done: true, Operation: undo.ID()}
	if len(running) > 0 {
		a.Note = fmt.Sprintf("Programs still run that worked in the branch: %s. What they write there from now on is lost.", named(running))
	}
	if err := ops.db.Freeing(func() error {
		return errors.Join(Answer(undo, a), ops.db.Log(l.Space, op), ops.db.Log(l.Space, undo))
	}); err != nil {
		return nil, err
	}
	ops.db.KeepReserve()
	return a, nil
}

// Successor returns the newest branch of which the directory is that of an earlier one, nil for none. Earlier builds kept both where the
// directory of the first was removed by hand.
func Successor(ops *Operations, s *records.Session) *records.Session {
	return ops.sessions.Last(func(o *records.Session) bool {
		return o.Workspace == s.Workspace && o.BranchOf != nil && !o.Removed && o.Number() > s.Number()
	})
}

// forget removes the session of a branch whose directory is that of another one, and no files.
func forget(ctx context.Context, ops *Operations, s, of *records.Session, l *moments.Line, op, undo *records.Operation) (*answers.Restored, error) {
	if err := begin(ctx, ops, l.Space, undo); err != nil {
		return nil, err
	}
	if err := ops.sessions.Remove(s, ops.o.Clock()); err != nil {
		return nil, err
	}
	undo.State, op.State = records.Done, records.Undone
	return &answers.Restored{
		SessionID: of.ID, Changes: map[string]int{}, Steps: []answers.RestoreStep{}, Done: true, Operation: undo.ID(),
		Note: fmt.Sprintf("No files were removed: the directory is that of a later branch, %s.", Successor(ops, s).ID),
	}, errors.Join(ops.db.Log(l.Space, op), ops.db.Log(l.Space, undo))
}

// endRemoval ends the removal of a branch that a kill interrupted. One that a program uses stays whole.
func endRemoval(ops *Operations, space string, o *records.Operation) error {
	o.State = records.Done
	if Successor(ops, o.Was) == nil {
		err := tracked.RemoveAll(o.Dir)
		if used := (*tracked.UsedError)(nil); errors.As(err, &used) {
			o.State, o.Dir, o.Was = records.Failed, "", nil
			return nil
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(ops.removed(o.Was.ID), ops.undone(space, o.Of, records.Undone))
}

// isWhole reports whether nothing of a branch is known to be removed since a snapshot, though something else may have changed in it.
// Where that cannot be found out, such as on a filesystem that is read-only now, it is true: what is not removed is the user's.
func isWhole(ctx context.Context, ops *Operations, s *records.Session, kept uint64) bool {
	if _, err := os.Lstat(s.Workspace); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	w, err := ops.lines.Open(ctx, s.Workspace)
	if err != nil {
		return true
	}
	now, _, err := w.Take(ctx, "the branch was not removed", "", true)
	if err != nil {
		return true
	}
	d, err := w.Diff(ctx, kept, now.Number, compare.Options{Secrets: true, Exact: true, MaxFiles: -1})
	return err != nil || !slices.ContainsFunc(d.Files, func(f compare.File) bool { return f.After == nil })
}

// named names processes.
func named(running []subprocess.Process) string {
	var names []string
	for _, p := range running {
		names = append(names, fmt.Sprintf("%s (process %d)", event.OneLine(p.Name), p.PID))
	}
	if more := len(names) - maxRunning; more > 0 {
		return strings.Join(names[:maxRunning], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// keepBranch takes a snapshot of a branch that will be removed, and ends its agent with force. It returns the programs that run in the
// branch all the same.
func (ops *Operations) keepBranch(ctx context.Context, s *records.Session, how Removal) (kept uint64, running []subprocess.Process, err error) {
	running, known := subprocess.Within(s.Workspace)
	if known && len(running) > 0 && !how.Force {
		return 0, nil, usererr.New(usererr.ActionRefused, "the branch was not removed, because programs run in it: %s. End them, or use `tidemark branch rm --force`.", named(running))
	}
	if _, err := os.Stat(filepath.Join(s.Workspace, ".git", "objects")); err == nil && !how.Force { // that of a worktree is a file
		return 0, nil, usererr.New(usererr.ActionRefused, "the branch was not removed, because a Git repository was made in it, which no snapshot has: what was committed there would be lost. Push it or copy %s, or use `tidemark branch rm --force`.", filepath.Join(s.Workspace, ".git"))
	}
	if s.Agent != nil && slices.ContainsFunc(running, func(p subprocess.Process) bool { return p.PID == s.Agent.PID }) {
		if err := endAgent(ctx, s); err != nil {
			return 0, nil, fmt.Errorf("cannot end the agent of the branch: %w", err)
		}
		running, _ = subprocess.Within(s.Workspace)
	}
	if _, err := os.Lstat(s.Workspace); errors.Is(err, fs.ErrNotExist) || how.NoUndo {
		return 0, running, nil
	}
	w, err := ops.lines.Open(ctx, s.Workspace)
	if err != nil {
		return 0, nil, fmt.Errorf("cannot keep a snapshot of the branch, so it was not removed: %w", err)
	}
	k, _, err := w.Take(ctx, "before the branch is removed", "", true)
	if full := (*provider.FullError)(nil); objects.NoRoom(err) || errors.As(err, &full) {
		return 0, nil, fmt.Errorf("cannot keep a snapshot of the branch, so it was not removed: %w `tidemark branch rm --no-undo %s` removes it without one. It cannot be brought back then.", err, s.Name)
	}
	if err != nil {
		return 0, nil, fmt.Errorf("cannot keep a snapshot of the branch, so it was not removed: %w", err)
	}
	return k.Number, running, nil
}

// bringBack makes a branch again that an operation removed, with the files that it had.
func (ops *Operations) bringBack(ctx context.Context, of *records.Session, l *moments.Line, op *records.Operation) (*answers.Restored, error) {
	was, dir := op.Was, op.Dir
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return nil, usererr.New(usererr.AlreadyExists, "%s exists, so the branch %s cannot come back", dir, was.ID)
	}
	if op.Kept == 0 {
		return nil, usererr.New(usererr.NotFound, "no snapshot of the files of branch %s was kept when it was removed", was.ID)
	}
	undo := &records.Operation{At: ops.o.Clock(), Session: of.ID, Kind: records.OpUndo, What: undoing + op.ID() + ", " + op.What, Of: op.Number, Dir: dir}
	a := &answers.Restored{SessionID: was.ID, Changes: map[string]int{}, Steps: []answers.RestoreStep{}, Done: true}
	if err := errors.Join(Answer(undo, a), begin(ctx, ops, l.Space, undo)); err != nil {
		return nil, err
	}
	note, err := ops.cloneAgain(ctx, of, was, op.Kept)
	if err != nil {
		undo.State = records.Failed
		return nil, errors.Join(err, tracked.RemoveAll(dir), tracked.RemoveAll(dir+makingSuffix), ops.db.Log(l.Space, undo))
	}
	undo.State, a.Operation, a.Note = records.Done, undo.ID(), note
	return a, errors.Join(ops.back(l.Space, op.Number), Answer(undo, a), ops.db.Log(l.Space, undo))
}

// cloneAgain makes the directory and the session of a branch that was removed. Note says which files it lacks, because they could not
// be read, and that it has other ports than before. It is "" for none of both.
func (ops *Operations) cloneAgain(ctx context.Context, of, was *records.Session, kept uint64) (note string, err error) {
	dir := was.Workspace
	if err := os.Mkdir(dir, 0o700); err != nil { // its snapshots are those of a directory
		return "", err
	}
	if from := ops.sessions.Origin(of); from != nil {
		ops.o.Workspaces.Branch(dir, from.Workspace)
	}
	w, err := ops.lines.Open(ctx, dir)
	if err == nil {
		err = w.Clone(ctx, kept, dir+makingSuffix)
	}
	var notes []string
	if err == nil {
		for _, left := range workspace.Unnamed(w, dir+makingSuffix) {
			notes = append(notes, "Left out: "+event.OneLine(left)+".")
		}
	}
	ops.o.Workspaces.CloseDir(dir)
	if err == nil {
		err = os.Remove(dir)
	}
	if err == nil {
		err = dataset.Rename(dir+makingSuffix, dir)
	}
	if err != nil {
		return "", fmt.Errorf("cannot bring back the files of branch %s: %w", was.ID, err)
	}
	again := *was
	if was.Agent != nil {
		agent := *was.Agent // that of the removal keeps its ports
		again.Agent = &agent
	}
	err = withPorts(ops, of, &again, ops.sessions.Again)
	if err == nil && was.Agent != nil && again.Agent.Ports != was.Agent.Ports {
		notes = append(notes, fmt.Sprintf("The port offset of branch %s is now %d, because another branch has %d. Start its servers on these ports.", was.Name, again.Agent.Ports, was.Agent.Ports))
	}
	return strings.Join(notes, " "), err
}

// maxRunning bounds the processes that an error names.
const maxRunning = 5

// endPatience is how long the agent of a branch may take to end, before it is killed and after that.
const endPatience = 3 * time.Second

// endAgent ends the agent of a branch, with what it started. One that does not end when it is asked to is killed.
func endAgent(ctx context.Context, s *records.Session) error {
	if err := subprocess.End(s.Agent.PID); err != nil {
		return err
	}
	if awaitEnd(ctx, s) == nil {
		return nil
	}
	if err := errors.Join(ctx.Err(), subprocess.Kill(s.Agent.PID)); err != nil {
		return err
	}
	return awaitEnd(ctx, s)
}

// awaitEnd waits until the agent of a branch has ended.
func awaitEnd(ctx context.Context, s *records.Session) error {
	ctx, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	for {
		running, _ := subprocess.Within(s.Workspace)
		if !slices.ContainsFunc(running, func(p subprocess.Process) bool { return p.PID == s.Agent.PID }) {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("process %d does not end", s.Agent.PID)
		}
	}
}

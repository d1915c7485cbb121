package operations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/compare"
	"tidemark.dev/tidemark/host/internal/workspace/edit"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// Changed is how the files of a session's workspace differ from a snapshot.
type Changed struct {
	// Root is the workspace, Base a read-only directory with the files of the snapshot.
	Root, Base string
	// Paths are those that differ, sorted. Modes are the permissions of regular files among them in the snapshot.
	Paths []string
	Modes map[string]fs.FileMode
	// Added and Removed count lines.
	Added, Removed int
	// Snapshot is that of the present files.
	Snapshot uint64
}

// ChangedSince returns how the files of a session's workspace differ from a moment. Of one that no longer exists, the last snapshot
// has them.
func (ops *Operations) ChangedSince(ctx context.Context, client *checkpoint.Client, s *records.Session, from string) (*Changed, error) {
	s, l, err := ops.lines.Recorded(client, moments.Where{Session: s.ID})
	if err != nil {
		return nil, err
	}
	place, err := ops.lines.LocateItself(ctx, client, s, l, from)
	if err != nil {
		return nil, err
	}
	present, err := ops.lines.Now(ctx, client, s)
	if err != nil {
		return nil, err
	}
	w, err := ops.lines.OpenRecorded(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	d, err := w.Diff(ctx, place.Snapshot.Number, present.Snapshot.Number, compare.Options{Secrets: true, Exact: true, MaxFiles: -1})
	if err != nil {
		return nil, err
	}
	c := &Changed{Root: s.Workspace, Added: d.Added, Removed: d.Removed, Snapshot: present.Snapshot.Number, Modes: map[string]fs.FileMode{}}
	for _, f := range d.Files {
		if f.Before != nil && f.Before.Kind == tree.File {
			c.Modes[cmp.Or(f.OldPath, f.Path)] = fs.FileMode(f.Before.Mode).Perm()
		}
		c.Paths = append(c.Paths, f.Path)
		if f.OldPath != "" {
			c.Paths = append(c.Paths, f.OldPath)
		}
	}
	slices.Sort(c.Paths)
	c.Paths = slices.Compact(c.Paths)
	if w.Former {
		if c.Root, err = w.View(ctx, present.Snapshot.Number); err != nil {
			return nil, err
		}
	}
	c.Base, err = w.View(ctx, place.Snapshot.Number)
	return c, err
}

// AppliedBefore returns a read-only directory with the files of a branch as they were when it was last applied to its original, "" where
// it was not, where its snapshot is missing, or where files of the original were brought back since.
func (ops *Operations) AppliedBefore(ctx context.Context, branch, of *records.Session) (dir string, err error) {
	l, err := ops.lines.Line(of.Workspace)
	if err != nil {
		return "", err
	}
	all, err := ops.db.Operations(l.Space)
	if err != nil {
		return "", err
	}
	for _, o := range slices.Backward(all) {
		switch {
		case o.State != records.Done:
		case o.Kind == records.OpRestore || o.Kind == records.OpUndo:
			return "", nil
		case o.Kind == records.OpApply && o.Branch == branch.ID && o.Kept != 0:
			w, err := ops.lines.OpenRecorded(ctx, branch.Workspace)
			if err != nil {
				return "", err
			}
			if dir, err = w.View(ctx, o.Kept); err != nil { // it was deleted
				ops.o.Log.Debug("cannot show a branch as it was applied", "branch", branch.ID, "error", err)
				return "", nil
			}
			return dir, nil
		}
	}
	return "", nil
}

// Alter changes files of a session's workspace as an operation of its own, which can be undone: all of them, or none. The state
// before is a snapshot.
func (ops *Operations) Alter(ctx context.Context, s *records.Session, op *records.Operation, steps []edit.Step) error {
	l, err := ops.lines.Line(s.Workspace)
	if err != nil {
		return err
	}
	w, err := ops.lines.Open(ctx, s.Workspace)
	if err != nil {
		return err
	}
	unlock, err := l.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	moments.Settle(ops.lines, l)
	before, _, err := w.Take(ctx, "before: "+op.What, "", true)
	if err != nil {
		return fmt.Errorf("cannot take a snapshot of the state before: %w", err)
	}
	root, err := os.OpenRoot(s.Workspace)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if steps, err = edit.Complete(root, steps); err != nil {
		return err
	}
	op.At, op.Session, op.Safety, op.Wrote = ops.o.Clock(), s.ID, before.Number, edit.Wrote(steps)
	for _, step := range steps {
		op.Paths = append(op.Paths, step.Path)
	}
	if err := begin(ctx, ops, l.Space, op); err != nil {
		return err
	}
	if err := edit.Do(root, steps); err != nil {
		if ended := ops.endAlter(w, op); ended != nil {
			return fmt.Errorf("%w, and what was changed could not be set back: %w. The state before is %s.", err, ended, records.SnapshotID(op.Safety))
		}
		return errors.Join(err, ops.db.Log(l.Space, op))
	}
	op.State = records.Done
	if err := ops.db.Log(l.Space, op); err != nil {
		return fmt.Errorf("the files were changed, but the operation could not be saved: %w. Their state before is %s.", err, records.SnapshotID(op.Safety))
	}
	_, err = ops.lines.Keep(l, s, ops.lines.Stamp(records.Moment{Label: ops.lines.Label(op.What), Kind: records.Auto, Source: records.FromRestore}))
	return err
}

// endAlter ends the changes of an operation that failed or was interrupted: all are there, or none.
func (ops *Operations) endAlter(w *workspace.Workspace, op *records.Operation) error {
	all, differs, err := edit.Recover(ops.lines.Life(), w, w.Dir, op.Safety, op.Wrote)
	op.Differs = ops.problems(differs)
	if op.State = records.Failed; all {
		op.State = records.Done
	}
	return err
}

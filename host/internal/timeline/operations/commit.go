package operations

import (
	"context"
	"errors"
	"slices"

	"tidemark.dev/tidemark/host/internal/timeline/records"
)

// Commit has a function make the branch in Git that an operation of a session describes.
func (ops *Operations) Commit(ctx context.Context, s *records.Session, op *records.Operation, make func() error) error {
	l, err := ops.lines.Line(s.Workspace)
	if err != nil {
		return err
	}
	op.At, op.Session, op.Kind = ops.o.Clock(), s.ID, records.OpCommit
	return logged(ctx, ops, l.Space, op, make)
}

// logged does what changes a repository as an operation. A kill between the two entries in the log is ended by [endCommit].
func logged(ctx context.Context, ops *Operations, space string, op *records.Operation, do func() error) error {
	if err := begin(ctx, ops, space, op); err != nil {
		return err
	}
	err := do()
	if op.State = records.Done; err != nil {
		op.State = records.Failed
	}
	return errors.Join(err, ops.db.Log(space, op))
}

// Repository is the directory of the repository to which an operation committed, where it is now.
func Repository(ops *Operations, op *records.Operation) string {
	of, err := ops.sessions.Find(op.Session)
	if err != nil {
		return op.Dir
	}
	for _, s := range []*records.Session{of, ops.sessions.Origin(of)} {
		if s != nil && slices.Contains(s.Formerly, op.Dir) {
			return s.Workspace
		}
	}
	return op.Dir
}

// undoneIn returns the operation that an undo undid in the end, where that undid an undo, too. Holds reports whether it holds after
// the undo. For another operation it returns that.
func undoneIn(all []*records.Operation, op *records.Operation) (first *records.Operation, holds bool) {
	first, holds = op, true
	for range all {
		i := slices.IndexFunc(all, func(o *records.Operation) bool { return o.Number == first.Of })
		if first.Kind != records.OpUndo && first.Kind != records.OpRemove || i < 0 {
			break
		}
		first, holds = all[i], !holds
	}
	return first, holds
}

// endCommit ends a commit to Git, or the undo of one, that was interrupted: the repository says whether it was done. It returns false
// for other operations.
func endCommit(ctx context.Context, ops *Operations, space string, op *records.Operation) (bool, error) {
	all, err := ops.db.Operations(space)
	if err != nil {
		return false, err
	}
	made, there := undoneIn(all, op)
	if made.Kind != records.OpCommit {
		return false, nil
	}
	op.State = records.Failed
	if ops.o.Committed == nil {
		return true, nil
	}
	is, err := ops.o.Committed(ctx, Repository(ops, made), made.Ref, made.Commit)
	if err != nil { // the repository may be gone for good
		ops.o.Log.Warn("cannot ask Git about an operation that was interrupted", "operation", op.ID(), "error", err)
	} else if is == there {
		op.State = records.Done
	}
	return true, nil
}

package operations

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/compare"
	"tidemark.dev/tidemark/host/internal/workspace/restore"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// settle ends operations that were interrupted. Opening the workspace has set a restore back, or finished it.
func (ops *Operations) settle(l *moments.Line, w *workspace.Workspace) error {
	recovered := w.Recovered()
	if err := ops.keepDiffers(l.Space, recovered); err != nil {
		return err
	}
	err := ops.settleEach(l.Space, func(o *records.Operation) (bool, error) {
		if ended, err := endCommit(ops.lines.Life(), ops, l.Space, o); ended || err != nil {
			return ended, err
		}
		switch {
		case o.Dir != "": // of a branch, which [Operations.settleBranches] ended
			return false, nil
		case o.Kind == records.OpApply:
			return true, ops.endAlter(w, o)
		case recovered != nil && recovered.Safety == o.Safety:
			if o.State = records.Failed; recovered.Finished {
				o.State = records.Done
			}
		default: // it had not begun, or it was at its end
			if o.State = records.Failed; isAt(ops.lines.Life(), w, o.Target, o.Paths) {
				o.State = records.Done
			}
		}
		return true, nil
	})
	return errors.Join(err, ops.settleUndone(l.Space))
}

// keepDiffers keeps with an operation what a recovery of its restore did not set back.
func (ops *Operations) keepDiffers(space string, r *restore.Recovery) error {
	if r == nil || len(r.Differs) == 0 {
		return nil
	}
	all, err := ops.db.Operations(space)
	if err != nil {
		return err
	}
	for _, o := range slices.Backward(all) {
		if o.Safety == r.Safety {
			o.Differs = ops.problems(r.Differs)
			return ops.db.Log(space, o)
		}
	}
	return nil
}

// Unsettled says what the last restore did not set back when it failed or was interrupted, "" where nothing is left of that.
// Known are the snapshots that exist.
func (ops *Operations) Unsettled(space string, known map[uint64]tracked.Snapshot) (string, error) {
	all, err := ops.db.Operations(space)
	if err != nil {
		return "", err
	}
	for _, o := range slices.Backward(all) {
		switch {
		case o.Safety == 0: // it restored nothing
		case o.State != records.Failed:
			return "", nil
		case known[o.Safety].Number == 0: // it cannot be brought back
			return "", nil
		case len(o.Differs) > 0:
			more := ""
			if len(o.Differs) > 1 {
				more = " `tidemark timeline op log` lists the others."
			}
			return fmt.Sprintf("%s failed, and not everything was set back: %s.%s `%s` brings back the state before it.", o.ID(), o.Differs[0], more, restoring(o)), nil
		}
	}
	return "", nil
}

// maxRestoring bounds the paths that a command names.
const maxRestoring = 5

// restoring is the command that brings back the state before an operation.
func restoring(o *records.Operation) string {
	command := "tidemark timeline restore " + records.SnapshotID(o.Safety)
	if len(o.Paths) > maxRestoring {
		return command + " PATH…"
	}
	for _, path := range o.Paths {
		command += " " + shown(path)
	}
	return command
}

// isAt reports whether paths are as a snapshot has them.
func isAt(ctx context.Context, w *workspace.Workspace, snapshot uint64, paths []string) bool {
	present, _, err := w.Take(ctx, "after an interruption", "", true)
	if err != nil {
		return false
	}
	d, err := w.Diff(ctx, snapshot, present.Number, compare.Options{Paths: paths, Secrets: true, Exact: true, MaxFiles: -1})
	return err == nil && len(d.Files) == 0
}

// settleUndone marks what was undone before a kill, and was not marked yet.
func (ops *Operations) settleUndone(space string) error {
	all, err := ops.db.Operations(space)
	if err != nil {
		return err
	}
	for _, o := range all {
		i := slices.IndexFunc(all, func(of *records.Operation) bool { return of.Number == o.Of })
		if i < 0 || o.Kind != records.OpUndo && o.Kind != records.OpRemove || o.State != records.Done || all[i].State != records.Done {
			continue
		}
		err = errors.Join(err, markUndone(ops, space, all, all[i]))
	}
	return err
}

// settleEach changes the operations of a workspace that were begun and not ended, and keeps those of which change is true.
func (ops *Operations) settleEach(space string, change func(*records.Operation) (bool, error)) error {
	all, err := ops.db.Operations(space)
	if err != nil {
		return err
	}
	for _, o := range all {
		if o.State != records.Begun {
			continue
		}
		if changed, err := change(o); err != nil {
			return err
		} else if changed {
			o.What += " (interrupted)"
			if err := ops.db.Log(space, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// settleBranches ends what a daemon that was killed did with branches: each is whole afterwards, or removed.
func (ops *Operations) settleBranches() error {
	settled := map[string]bool{}
	for _, s := range ops.sessions.All() {
		if settled[s.Space] {
			continue
		}
		settled[s.Space] = true
		if err := ops.settleEach(s.Space, func(o *records.Operation) (bool, error) {
			switch {
			case o.Dir == "" || o.Kind != records.OpBranch && o.Kind != records.OpUndo && o.Kind != records.OpRemove:
				return false, nil
			case o.Was != nil: // its removal had begun
				return true, endRemoval(ops, s.Space, o)
			}
			return true, ops.settleBranch(s.Space, o)
		}); err != nil {
			return err
		}
	}
	return nil
}

// settleBranch removes what there is of a branch, unless its session has begun: then it is whole.
func (ops *Operations) settleBranch(space string, o *records.Operation) error {
	s := ops.sessions.Last(func(s *records.Session) bool { return s.Workspace == o.Dir && !s.Removed })
	if s != nil {
		l, err := ops.lines.Line(o.Dir)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(l.All(), func(m *records.Moment) bool { return m.Session == s.ID }) {
			if o.State = records.Done; o.Kind == records.OpBranch {
				o.Branch = s.ID
				return nil
			}
			return ops.back(space, o.Of)
		}
		if err := ops.sessions.Remove(s, ops.o.Clock()); err != nil {
			return err
		}
	}
	o.State = records.Failed
	return errors.Join(ops.dropCopy(o.Dir), tracked.RemoveAll(o.Dir+makingSuffix), removeCopy(o.Copy))
}

// removed removes a session that may be removed already.
func (ops *Operations) removed(id string) error {
	if s, err := ops.sessions.Find(id); err == nil {
		return ops.sessions.Remove(s, ops.o.Clock())
	}
	return nil
}

// undone sets the state of an operation that was undone, or of which the undo was undone.
func (ops *Operations) undone(space string, number uint64, state string) error {
	all, err := ops.db.Operations(space)
	if err != nil {
		return err
	}
	for _, o := range all {
		if o.Number == number {
			o.State = state
			return ops.db.Log(space, o)
		}
	}
	return nil
}

// back sets the states of operations whose branch is there again: of its removal, and of the one that made it.
func (ops *Operations) back(space string, removal uint64) error {
	all, err := ops.db.Operations(space)
	if err != nil {
		return err
	}
	for _, o := range all {
		if o.Number == removal {
			return errors.Join(ops.undone(space, o.Of, records.Done), ops.undone(space, removal, records.Undone))
		}
	}
	return nil
}

// removeCopy removes the file of a branch's conversation, and its directory where that has nothing else. "" is none.
func removeCopy(path string) error {
	if path == "" {
		return nil
	}
	for _, name := range []string{path, path + ".tmp"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	_ = os.Remove(filepath.Dir(path)) // it has conversations of others
	return nil
}

package timeline

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
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/compare"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// settle ends operations that were interrupted. Opening the workspace has set a restore back, or finished it.
func settle(t *Timeline, l *line, w *workspace.Workspace) error {
	recovered := w.Recovered()
	err := settleEach(t, l.space, func(o *Operation) (bool, error) {
		switch {
		case o.Dir != "" && o.Kind != records.OpCommit: // of a branch, which [settleBranches] ended
			return false, nil
		case o.Kind == records.OpApply:
			return true, endAlter(t.life, w, o)
		case recovered != nil && recovered.Safety == o.Safety:
			if o.State = records.Failed; recovered.Finished {
				o.State = records.Done
			}
		default: // it had not begun, or it was at its end
			if o.State = records.Failed; isAt(t.life, w, o.Target, o.Paths) {
				o.State = records.Done
			}
		}
		return true, nil
	})
	return errors.Join(err, settleUndone(t, l.space))
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
func settleUndone(t *Timeline, space string) error {
	all, err := t.db.Operations(space)
	if err != nil {
		return err
	}
	for _, o := range all {
		i := slices.IndexFunc(all, func(of *Operation) bool { return of.Number == o.Of })
		if i < 0 || o.Kind != records.OpUndo || o.State != records.Done || all[i].State != records.Done {
			continue
		}
		if all[i].State = records.Undone; err == nil {
			err = t.db.Log(space, all[i])
		}
	}
	return err
}

// settleEach changes the operations of a workspace that were begun and not ended, and keeps those of which change is true.
func settleEach(t *Timeline, space string, change func(*Operation) (bool, error)) error {
	all, err := t.db.Operations(space)
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
			if err := t.db.Log(space, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// settleBranches ends what a daemon that was killed did with branches: each is whole afterwards, or removed.
func settleBranches(t *Timeline) error {
	settled := map[string]bool{}
	for _, s := range t.sessions.All() {
		if settled[s.Space] {
			continue
		}
		settled[s.Space] = true
		if err := settleEach(t, s.Space, func(o *Operation) (bool, error) {
			switch {
			case o.Dir == "" || o.Kind != records.OpBranch && o.Kind != records.OpUndo:
				return false, nil
			case o.Was != nil: // its removal had begun
				o.State = records.Done
				return true, errors.Join(tracked.RemoveAll(o.Dir), removed(t, o.Was.ID), undone(t, s.Space, o.Of, records.Undone))
			}
			return true, settleBranch(t, s.Space, o)
		}); err != nil {
			return err
		}
	}
	return nil
}

// settleBranch removes what there is of a branch, unless its session has begun: then it is whole.
func settleBranch(t *Timeline, space string, o *Operation) error {
	s := t.sessions.Latest(o.Dir)
	if s != nil {
		l, err := t.line(o.Dir)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(l.all(), func(m *Moment) bool { return m.Session == s.ID }) {
			if o.State = records.Done; o.Kind == records.OpBranch {
				o.Branch = s.ID
				return nil
			}
			return back(t, space, o.Of)
		}
		if err := t.sessions.Remove(s); err != nil {
			return err
		}
	}
	o.State = records.Failed
	return errors.Join(tracked.RemoveAll(o.Dir), tracked.RemoveAll(o.Dir+makingSuffix), removeCopy(o.Copy))
}

// removed removes a session that may be removed already.
func removed(t *Timeline, id string) error {
	if s, err := t.sessions.Find(id); err == nil {
		return t.sessions.Remove(s)
	}
	return nil
}

// undone sets the state of an operation that was undone, or of which the undo was undone.
func undone(t *Timeline, space string, number uint64, state string) error {
	all, err := t.db.Operations(space)
	if err != nil {
		return err
	}
	for _, o := range all {
		if o.Number == number {
			o.State = state
			return t.db.Log(space, o)
		}
	}
	return nil
}

// back sets the states of operations whose branch is there again: of its removal, and of the one that made it.
func back(t *Timeline, space string, removal uint64) error {
	all, err := t.db.Operations(space)
	if err != nil {
		return err
	}
	for _, o := range all {
		if o.Number == removal {
			return errors.Join(undone(t, space, o.Of, records.Done), undone(t, space, removal, records.Undone))
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

// removeBranch removes the directory and the session of a branch, as an undo of the operation that made it. A snapshot of its
// files remains. Without force it is refused while processes run there; with it, the agent that Tidemark started is ended.
func (t *Timeline) removeBranch(ctx context.Context, of *Session, l *line, op *Operation, force bool) (*Restored, error) {
	s, err := t.sessions.Find(op.Branch)
	if err != nil {
		return nil, err
	}
	undo := &Operation{At: t.o.Clock(), Session: of.ID, Kind: records.OpUndo, What: "undo " + op.ID() + ", " + op.What, Of: op.Number, Dir: s.Workspace, Was: s}
	if undo.Kept, err = keepBranch(ctx, t, s, force); err != nil {
		undo.State, undo.Dir, undo.Was = records.Failed, "", nil
		return nil, errors.Join(err, t.db.Log(l.space, undo))
	}
	undo.State = records.Begun
	if err := t.db.Log(l.space, undo); err != nil {
		return nil, fmt.Errorf("cannot save the operation: %w", err)
	}
	t.o.Workspaces.CloseDir(s.Workspace)
	if err := tracked.RemoveAll(s.Workspace); err != nil {
		return nil, fmt.Errorf("cannot remove the branch: %w", err)
	}
	if err := t.sessions.Remove(s); err != nil {
		return nil, err
	}
	undo.State, op.State = records.Done, records.Undone
	if err := errors.Join(t.db.Log(l.space, op), t.db.Log(l.space, undo)); err != nil {
		return nil, err
	}
	return &Restored{SessionID: of.ID, Changes: map[string]int{}, Steps: []RestoreStep{}, Done: true, Operation: undo.ID()}, nil
}

// keepBranch takes a snapshot of a branch that will be removed, and ends its agent with force.
func keepBranch(ctx context.Context, t *Timeline, s *Session, force bool) (uint64, error) {
	running, known := subprocess.Within(s.Workspace)
	if known && len(running) > 0 && !force {
		var names []string
		for _, p := range running {
			names = append(names, fmt.Sprintf("%s (process %d)", event.OneLine(p.Name), p.PID))
		}
		return 0, usererr.New(usererr.ActionRefused, "the branch was not removed, because programs run in it: %s. End them, or use `tidemark branch rm --force`.", strings.Join(names[:min(len(names), maxRunning)], ", "))
	}
	if s.Agent != nil && slices.ContainsFunc(running, func(p subprocess.Process) bool { return p.PID == s.Agent.PID }) {
		if err := endAgent(ctx, s); err != nil {
			return 0, fmt.Errorf("cannot end the agent of the branch: %w", err)
		}
	}
	if _, err := os.Lstat(s.Workspace); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	w, err := t.open(ctx, s.Workspace)
	if err != nil {
		return 0, fmt.Errorf("cannot keep a snapshot of the branch, so it was not removed: %w", err)
	}
	k, _, err := w.Take(ctx, "before the branch is removed", "", true)
	if err != nil {
		return 0, fmt.Errorf("cannot keep a snapshot of the branch, so it was not removed: %w", err)
	}
	return k.Number, nil
}

// bringBack makes a branch again that an operation removed, with the files that it had.
func bringBack(ctx context.Context, t *Timeline, of *Session, l *line, op *Operation) (*Restored, error) {
	was, dir := op.Was, op.Dir
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return nil, usererr.New(usererr.AlreadyExists, "%s exists, so the branch %s cannot come back", dir, was.ID)
	}
	if op.Kept == 0 {
		return nil, usererr.New(usererr.NotFound, "the files of branch %s no longer existed when it was removed", was.ID)
	}
	undo := &Operation{At: t.o.Clock(), Session: of.ID, Kind: records.OpUndo, State: records.Begun, What: "undo " + op.ID() + ", " + op.What, Of: op.Number, Dir: dir}
	if err := t.db.Log(l.space, undo); err != nil {
		return nil, fmt.Errorf("cannot save the operation: %w", err)
	}
	err := cloneAgain(ctx, t, of, was, op.Kept)
	if err != nil {
		undo.State = records.Failed
		return nil, errors.Join(err, tracked.RemoveAll(dir), tracked.RemoveAll(dir+makingSuffix), t.db.Log(l.space, undo))
	}
	undo.State = records.Done
	err = errors.Join(back(t, l.space, op.Number), t.db.Log(l.space, undo))
	return &Restored{SessionID: was.ID, Changes: map[string]int{}, Steps: []RestoreStep{}, Done: true, Operation: undo.ID()}, err
}

// cloneAgain makes the directory and the session of a branch that was removed.
func cloneAgain(ctx context.Context, t *Timeline, of, was *Session, kept uint64) error {
	dir := was.Workspace
	if err := os.Mkdir(dir, 0o700); err != nil { // its snapshots are those of a directory
		return err
	}
	if from := t.sessions.Origin(of); from != nil {
		t.o.Workspaces.Branch(dir, from.Workspace)
	}
	w, err := t.open(ctx, dir)
	if err == nil {
		err = w.Clone(ctx, kept, dir+makingSuffix)
	}
	t.o.Workspaces.CloseDir(dir)
	if err == nil {
		err = os.Remove(dir)
	}
	if err == nil {
		err = os.Rename(dir+makingSuffix, dir)
	}
	if err != nil {
		return fmt.Errorf("cannot bring back the files of branch %s: %w", was.ID, err)
	}
	return t.sessions.Again(was)
}

// maxRunning bounds the processes that an error names.
const maxRunning = 5

// endPatience is how long the agent of a branch may take to end.
const endPatience = 3 * time.Second

// endAgent ends the agent of a branch, with what it started.
func endAgent(ctx context.Context, s *Session) error {
	if err := subprocess.End(s.Agent.PID); err != nil {
		return err
	}
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

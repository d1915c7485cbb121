// Package operations does what goes back to a moment or branches from it: restore, branch, undo, and what changes a workspace
// from a branch. It has the log of that.
//
// Guarantees:
//   - An operation is in the log before it begins. One that changes files of a workspace has the turn of its line.
//   - What a kill interrupted is ended when its workspace is opened. A branch is whole when the operations are opened, or nothing
//     of it is left.
//   - The state before a change is a snapshot, so that each operation can be undone.
package operations

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/timeline/sessions"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
)

// Options configure [New].
type Options struct {
	Lines      *moments.Lines
	DB         *records.DB
	Sessions   *sessions.Registry
	Workspaces *workspace.Workspaces
	// Clean removes secrets and control characters from texts.
	Clean func(string) string
	// Branches is the directory in which branches are.
	Branches string
	// Long is from which time on the copy for a branch is planned first, and confirmed by the user. 0 plans none.
	Long  time.Duration
	Clock func() time.Time
	Log   *slog.Logger
	// Uncommit deletes a branch of the repository in a directory, if it is at a commit. Nil leaves it.
	Uncommit func(ctx context.Context, dir, branch, commit string) error
	// Committed reports whether a branch of the repository in a directory is at a commit.
	Committed func(ctx context.Context, dir, branch, commit string) (bool, error)
	// Recommit makes a branch at a commit again in the repository in a directory. Nil makes none.
	Recommit func(ctx context.Context, dir, branch, commit string) error
}

// Operations are those of all workspaces. It is safe for concurrent use.
type Operations struct {
	o        Options
	lines    *moments.Lines
	db       *records.DB
	sessions *sessions.Registry
	// ports is held while a branch gets its ports.
	ports sync.Mutex
}

// New returns the operations in a file. It ends what a daemon that was killed did with branches.
func New(o Options) *Operations {
	ops := &Operations{o: o, lines: o.Lines, db: o.DB, sessions: o.Sessions}
	o.Lines.OnOpen(ops.settle)
	if err := errors.Join(removeSamples(o.Branches), ops.settleBranches()); err != nil {
		o.Log.Error("cannot end what was interrupted with branches", "error", err)
	}
	return ops
}

// Broken returns operations that answer every call with an error.
func Broken(err error) *Operations { return &Operations{lines: moments.Broken(err)} }

// Tools are those of agents.
var Tools = []*tool.Tool[*Operations]{
	tool.New(tool.Definition{
		Name: "timeline_restore", Title: "Restore files", Effect: tool.Destroys,
		Description: "Restore files to a moment. Without confirm it returns the plan. The state before stays in a snapshot, for undo.",
		Arguments: `"to":{"type":"string","description":"` + moments.Argument + `"},
			"paths":{"type":"array","items":{"type":"string"},"description":"files or directories; none: all"},
			"confirm":{"type":"boolean"},
			"plan":{"type":"string","description":"with confirm: plan of the answer without confirm"},
			"leave":{"type":"boolean","description":"leave paths that cannot be restored"}`,
		Required: []string{"to"},
	}, (*Operations).Restore),
}

// UserTools are those of the user's own programs, beside those of agents.
var UserTools = []*tool.Tool[*Operations]{
	tool.New(tool.Definition{Name: "timeline_operations"}, (*Operations).Log),
	tool.New(tool.Definition{Name: "timeline_undo"}, (*Operations).Undo),
}

// LogParams are the parameters of the log of operations.
type LogParams struct{ moments.Where }

// Log is the operations of a workspace, the newest first.
type Log struct {
	SessionID  string  `json:"sessionId"`
	Operations []Entry `json:"operations"`
}

// Entry is an operation in the log.
type Entry struct {
	ID     string      `json:"id"`
	At     report.Time `json:"at"`
	Kind   string      `json:"kind"`
	State  string      `json:"state"`
	What   string      `json:"what"`
	Safety string      `json:"safety,omitempty"`
	Branch string      `json:"branch,omitempty"`
	// Differs are the paths that were not set back when it failed or was interrupted. Restore brings back the state before it,
	// "" where nothing failed.
	Differs []string `json:"differs,omitempty"`
	Restore string   `json:"restore,omitempty"`
}

// Log returns the log of operations.
func (ops *Operations) Log(ctx context.Context, client *checkpoint.Client, p LogParams) (*Log, error) {
	s, l, err := ops.lines.Recorded(client, p.Where)
	if err != nil {
		return nil, err
	}
	if _, err := ops.lines.OpenRecorded(ctx, s.Workspace); err != nil {
		return nil, err
	}
	all, err := ops.db.Operations(l.Space)
	if err != nil {
		return nil, err
	}
	a := &Log{SessionID: s.ID, Operations: []Entry{}}
	for _, o := range slices.Backward(all) {
		e := Entry{ID: o.ID(), At: report.Time{Time: o.At}, Kind: o.Kind, State: o.State, What: o.What, Branch: o.Branch, Differs: o.Differs}
		if len(o.Differs) > 0 {
			e.Restore = restoring(o)
		}
		if o.Safety != 0 {
			e.Safety = records.SnapshotID(o.Safety)
		}
		a.Operations = append(a.Operations, e)
	}
	return a, nil
}

// UndoParams are the parameters of an undo.
type UndoParams struct {
	moments.Where
	// Operation is an operation's ID, "" for the last one that can be undone.
	Operation string `json:"operation"`
	// Confirm undoes. Without it the answer is the plan.
	Confirm bool `json:"confirm"`
	// Plan is that of [RestoreParams], of an operation that restored files.
	Plan string `json:"plan,omitempty"`
	// Leave is that of [RestoreParams].
	Leave bool `json:"leave,omitempty"`
	// Force removes a branch in which processes run.
	Force bool `json:"force"`
}

// Undo undoes an operation: it restores the state before a restore, or removes a branch.
func (ops *Operations) Undo(ctx context.Context, client *checkpoint.Client, p UndoParams) (*answers.Restored, error) {
	s, l, err := ops.lines.Recorded(client, p.Where, needs(client, grants.AgentsRestore)...)
	if err != nil {
		return nil, err
	}
	if _, err := ops.lines.OpenRecorded(ctx, s.Workspace); err != nil {
		return nil, err
	}
	if a, err := restoredBefore(ctx, ops, client, s, records.OpUndo); a != nil || err != nil {
		return a, err
	}
	all, err := ops.db.Operations(l.Space)
	if err != nil {
		return nil, err
	}
	var op *records.Operation
	for _, o := range slices.Backward(all) {
		if o.State == records.Done && (p.Operation == o.ID() || p.Operation == "" && o.Kind != records.OpUndo) {
			op = o
			break
		}
	}
	if op == nil && p.Operation != "" {
		for _, o := range all {
			if o.ID() == p.Operation {
				if o.State == records.Failed && o.Safety != 0 {
					return nil, usererr.New(usererr.NotFound, "%s cannot be undone: it is failed. `%s` brings back the state before it.", p.Operation, restoring(o))
				}
				return nil, usererr.New(usererr.NotFound, "%s cannot be undone: it is %s", p.Operation, o.State)
			}
		}
		return nil, usererr.New(usererr.NotFound, "there is no operation %s. `tidemark timeline op log` lists them.", event.Clean(p.Operation))
	}
	if op == nil {
		for _, o := range slices.Backward(all) {
			if o.State == records.Done {
				return nil, usererr.New(usererr.NotFound, "all operations are undone. To undo the last undo, run `tidemark timeline undo %s`.", o.ID())
			}
		}
		return nil, usererr.New(usererr.NotFound, "there is no operation to undo. `tidemark timeline op log` lists them.")
	}
	a, err := undo(ctx, ops, client, s, l, all, op, p)
	if a != nil && !a.Done {
		a.Undoes = op.ID()
	}
	return a, err
}

// undoing is before the operation that an undo undoes, in what describes it.
const undoing = "undo "

func undo(ctx context.Context, ops *Operations, client *checkpoint.Client, s *records.Session, l *moments.Line, all []*records.Operation, op *records.Operation, p UndoParams) (_ *answers.Restored, err error) {
	undo := &records.Operation{Kind: records.OpUndo, What: undoing + op.ID() + ", " + op.What, Of: op.Number}
	first, holds := undoneIn(all, op)
	a := &answers.Restored{SessionID: s.ID, Changes: map[string]int{}, Steps: []answers.RestoreStep{}}
	switch {
	case op.Kind == records.OpBranch:
		a.Note = "removes the branch " + op.Branch + " with all of its files"
		if !p.Confirm {
			return a, nil
		}
		a, err = ops.removeBranch(ctx, s, l, op, *undo, Removal{Force: p.Force})
		return undid(a, op), err
	case op.Was != nil:
		a.Note = "brings back the branch " + op.Was.ID + " with its files"
		if g := op.Was.Agent; g != nil {
			if other := portsIn(ops, s, g.Ports); other != nil {
				a.Note += fmt.Sprintf(", and with another port offset, because branch %s has %d", other.Name, g.Ports)
			}
		}
		if !p.Confirm {
			return a, nil
		}
		a, err = ops.bringBack(ctx, s, l, op)
		return undid(a, op), err
	case first.Kind == records.OpCommit && first.Commit != "" && ops.o.Uncommit != nil && ops.o.Recommit != nil:
		a.Note = fmt.Sprintf("deletes the branch %s in Git, unless it has other commits", first.Ref)
		change, state := ops.o.Uncommit, records.Undone
		if !holds {
			a.Note = fmt.Sprintf("makes the branch %s in Git again", first.Ref)
			change, state = ops.o.Recommit, records.Done
		}
		if !p.Confirm {
			return a, nil
		}
		undo.At, undo.Session = ops.o.Clock(), s.ID
		if err := logged(ctx, ops, l.Space, undo, func() error { return change(ctx, Repository(ops, first), first.Ref, first.Commit) }); err != nil {
			return nil, err
		}
		if err := ops.undone(l.Space, first.Number, state); err != nil {
			return nil, err
		}
		a.Done, a.Operation, a.Note = true, undo.ID(), ""
	case op.Kind == records.OpUndo && op.Safety == 0 && first.Kind == records.OpBranch && holds: // op brought it back
		a.Note = "removes the branch " + first.Branch + " with all of its files"
		if !p.Confirm {
			return a, nil
		}
		if a, err = ops.removeBranch(ctx, s, l, first, *undo, Removal{Force: p.Force}); err != nil {
			return nil, err
		}
	case op.Safety == 0:
		return nil, usererr.New(usererr.NotFound, "%s cannot be undone: an earlier version of Tidemark made it", op.ID())
	default:
		if err := ops.Present(s); err != nil { // it need not exist to undo what was done with a branch
			return nil, err
		}
		place, err := ops.lines.Locate(ctx, client, s, l, records.SnapshotID(op.Safety))
		if err != nil {
			return nil, fmt.Errorf("cannot undo %s: %w", op.ID(), err)
		}
		a, err = ops.restore(ctx, client, s, l, place, RestoreParams{Paths: op.Paths, Confirm: p.Confirm, Plan: p.Plan, Leave: p.Leave}, undo)
		if err != nil || !a.Done {
			return a, err
		}
	}
	return undid(a, op), markUndone(ops, l.Space, all, op)
}

// markUndone marks an operation that was undone. Where it was the undo of a restore or an apply, that holds again.
func markUndone(ops *Operations, space string, all []*records.Operation, op *records.Operation) error {
	first, holds := undoneIn(all, op)
	if op.State = records.Undone; op.Kind != records.OpUndo || op.Safety == 0 {
		return ops.db.Log(space, op)
	}
	if first.State = records.Done; holds {
		first.State = records.Undone
	}
	return errors.Join(ops.db.Log(space, first), ops.db.Log(space, op))
}

// undid names in the answer what was undone. A is nil after an error.
func undid(a *answers.Restored, op *records.Operation) *answers.Restored {
	if a != nil {
		a.Undid = op.ID() + ", " + op.What
	}
	return a
}

package timeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/compare"
	"tidemark.dev/tidemark/host/internal/workspace/restore"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// maxSteps bounds the steps that an answer lists.
const maxSteps = 50

// RestoreParams are the parameters of timeline_restore.
type RestoreParams struct {
	Where
	To    string   `json:"to"`
	Paths []string `json:"paths"`
	// Confirm restores. Without it the answer is the plan.
	Confirm bool `json:"confirm"`
	// Plan names the plan that is confirmed. If the workspace has changed so that it is another one, that is the answer. An
	// agent confirms no plan without its name.
	Plan string `json:"plan,omitempty"`
	// Leave leaves out the paths that cannot be restored. Without it they prevent the restore.
	Leave bool `json:"leave"`
}

// Restore sets the workspace of a session back to a moment, wholly or some paths, or answers with the plan.
func (t *Timeline) Restore(ctx context.Context, client *checkpoint.Client, p RestoreParams) (*Restored, error) {
	s, l, err := t.sessionBy(client, p.Where, true, []*string{&p.To}, needs(client, grants.AgentsRestore)...)
	if err != nil {
		return nil, err
	}
	place, err := t.locate(ctx, client, s, l, p.To)
	if err != nil {
		return nil, err
	}
	return t.restore(ctx, client, s, l, place, p, &Operation{Kind: records.OpRestore, What: "restore " + snapshotID(place.Snapshot.Number)})
}

func (t *Timeline) restore(ctx context.Context, client *checkpoint.Client, s *Session, l *line, place *Place, p RestoreParams, op *Operation) (*Restored, error) {
	w, err := t.open(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	unlock, err := l.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	plan, err := w.PrepareRestore(ctx, place.Snapshot.Number, p.Paths)
	if err != nil {
		return nil, err
	}
	a := answerOf(s, plan, place)
	if p.Leave {
		plan.Leave()
		a = answerOf(s, plan, place)
	}
	if a.Exclusions, err = w.Exclusions(plan); err != nil || !p.Confirm {
		return a, err
	}
	if len(plan.Steps) == 0 && len(plan.Problems) == 0 {
		a.Done = true
		return a, nil
	}
	if p.Plan != a.Plan && (p.Plan != "" || !client.User) {
		a.Note = strings.TrimSpace(a.Note + " " + otherPlan(p.Plan))
		return a, nil
	}
	op.At, op.Session, op.State, op.Target, op.Safety, op.Paths = t.o.Clock(), s.ID, records.Begun, plan.Target, plan.Safety, p.Paths
	if err := t.db.Log(l.space, op); err != nil {
		return nil, fmt.Errorf("cannot save the operation: %w", err)
	}
	result, err := w.Restore(ctx, plan)
	if err != nil {
		op.State = records.Failed
		if blocked := (*restore.BlockedError)(nil); errors.As(err, &blocked) {
			err = usererr.New(usererr.ActionRefused, "%s", err.Error())
		}
		return nil, errors.Join(err, t.db.Log(l.space, op))
	}
	op.State, op.After = records.Done, result.After
	a.Done, a.Operation, a.Kept, a.Differs = true, op.ID(), result.Kept, problems(result.Differs)
	if err := t.db.Log(l.space, op); err != nil {
		return nil, fmt.Errorf("the files were restored, but the operation could not be saved: %w. Their state before is %s.", err, snapshotID(plan.Safety))
	}
	_, err = t.keep(l, s, t.o.stamp(Moment{Label: op.What, Kind: records.Auto, Source: records.FromRestore}))
	return a, err
}

// otherPlan says why a plan is the answer to a confirmation.
func otherPlan(confirmed string) string {
	if confirmed == "" {
		return "Nothing was restored: name this plan to confirm it."
	}
	return "Nothing was restored: the files changed since the plan that was confirmed. This is the present plan."
}

func answerOf(s *Session, plan *restore.Plan, place *Place) *Restored {
	a := &Restored{
		SessionID: s.ID, FsSnapshot: snapshotID(plan.Target), Safety: snapshotID(plan.Safety), Changes: map[string]int{}, Steps: []RestoreStep{},
		Blocked: problems(plan.Problems), Differs: problems(plan.Left), Note: place.Note, Plan: plan.ID(),
	}
	for _, step := range plan.Steps {
		a.Changes[step.Kind.String()]++
		if len(a.Steps) < maxSteps {
			a.Steps = append(a.Steps, RestoreStep{Path: shown(step.Path), Change: step.Kind.String()})
		} else {
			a.Omitted++
		}
	}
	return a
}

// shown is a path in an answer, in quotes where it would not be read as it is. The root is ".".
func shown(path string) string {
	quoted := compare.Quote(path)
	if quoted == path && strings.TrimSpace(path) != path {
		quoted = `"` + path + `"`
	}
	return cmp.Or(quoted, ".")
}

// problems lists paths with their reasons, one line each.
func problems(list []tree.Problem) (lines []string) {
	for i, p := range list {
		if i == maxSteps {
			return append(lines, fmt.Sprintf("and %d more", len(list)-i))
		}
		lines = append(lines, shown(p.Path)+": "+event.OneLine(p.Reason))
	}
	return lines
}

// OperationsParams are the parameters of the log of operations.
type OperationsParams struct{ Where }

// Operations are the operations of a workspace, the newest first.
type Operations struct {
	SessionID  string           `json:"sessionId"`
	Operations []OperationEntry `json:"operations"`
}

// OperationEntry is an operation in the log.
type OperationEntry struct {
	ID     string    `json:"id"`
	At     diff.Time `json:"at"`
	Kind   string    `json:"kind"`
	State  string    `json:"state"`
	What   string    `json:"what"`
	Safety string    `json:"safety,omitempty"`
	Branch string    `json:"branch,omitempty"`
}

// Operations returns the log of operations.
func (t *Timeline) Operations(ctx context.Context, client *checkpoint.Client, p OperationsParams) (*Operations, error) {
	s, l, err := t.sessionOf(client, p.Where)
	if err != nil {
		return nil, err
	}
	if _, err := t.open(ctx, s.Workspace); err != nil {
		return nil, err
	}
	all, err := t.db.Operations(l.space)
	if err != nil {
		return nil, err
	}
	a := &Operations{SessionID: s.ID, Operations: []OperationEntry{}}
	for _, o := range slices.Backward(all) {
		e := OperationEntry{ID: o.ID(), At: diff.Time{Time: o.At}, Kind: o.Kind, State: o.State, What: o.What, Branch: o.Branch}
		if o.Safety != 0 {
			e.Safety = snapshotID(o.Safety)
		}
		a.Operations = append(a.Operations, e)
	}
	return a, nil
}

// UndoParams are the parameters of an undo.
type UndoParams struct {
	Where
	// Operation is an operation's ID, "" for the last one that can be undone.
	Operation string `json:"operation"`
	// Confirm undoes. Without it the answer is the plan.
	Confirm bool `json:"confirm"`
	// Plan is that of [RestoreParams], of an operation that restored files.
	Plan string `json:"plan,omitempty"`
	// Force removes a branch in which processes run.
	Force bool `json:"force"`
}

// Undo undoes an operation: it restores the state before a restore, or removes a branch.
func (t *Timeline) Undo(ctx context.Context, client *checkpoint.Client, p UndoParams) (*Restored, error) {
	s, l, err := t.sessionOf(client, p.Where, needs(client, grants.AgentsRestore)...)
	if err != nil {
		return nil, err
	}
	if _, err := t.open(ctx, s.Workspace); err != nil {
		return nil, err
	}
	all, err := t.db.Operations(l.space)
	if err != nil {
		return nil, err
	}
	var op *Operation
	for _, o := range slices.Backward(all) {
		if o.State == records.Done && (p.Operation == o.ID() || p.Operation == "" && o.Kind != records.OpUndo) {
			op = o
			break
		}
	}
	if op == nil && p.Operation != "" {
		for _, o := range all {
			if o.ID() == p.Operation {
				return nil, usererr.New(usererr.NotFound, "%s cannot be undone: it is %s", p.Operation, o.State)
			}
		}
		return nil, usererr.New(usererr.NotFound, "there is no operation %s. `tidemark timeline op log` lists them.", event.Clean(p.Operation))
	}
	if op == nil {
		return nil, usererr.New(usererr.NotFound, "there is no operation to undo. `tidemark timeline op log` lists them.")
	}
	undo := &Operation{Kind: records.OpUndo, What: "undo " + op.ID() + ", " + op.What, Of: op.Number}
	a := &Restored{SessionID: s.ID, Changes: map[string]int{}, Steps: []RestoreStep{}}
	switch {
	case op.Kind == records.OpBranch:
		a.Note = "removes the branch " + op.Branch + " with all of its files"
		if !p.Confirm {
			return a, nil
		}
		return t.removeBranch(ctx, s, l, op, p.Force)
	case op.Was != nil:
		a.Note = "brings back the branch " + op.Was.ID + " with its files"
		if !p.Confirm {
			return a, nil
		}
		return bringBack(ctx, t, s, l, op)
	case op.Kind == records.OpCommit && op.Commit != "" && t.o.Uncommit != nil:
		a.Note = fmt.Sprintf("deletes the branch %s in Git, unless it has other commits", op.Ref)
		if !p.Confirm {
			return a, nil
		}
		if err := t.o.Uncommit(ctx, op.Dir, op.Ref, op.Commit); err != nil {
			return nil, err
		}
		undo.At, undo.Session, undo.State = t.o.Clock(), s.ID, records.Done
		if err := t.db.Log(l.space, undo); err != nil {
			return nil, err
		}
		a.Done, a.Operation = true, undo.ID()
	case op.Safety == 0:
		return nil, usererr.New(usererr.NotFound, "%s cannot be undone: an earlier version of Tidemark made it", op.ID())
	default:
		place, err := t.locate(ctx, client, s, l, snapshotID(op.Safety))
		if err != nil {
			return nil, fmt.Errorf("cannot undo %s: %w", op.ID(), err)
		}
		a, err = t.restore(ctx, client, s, l, place, RestoreParams{Paths: op.Paths, Confirm: p.Confirm, Plan: p.Plan}, undo)
		if err != nil || !a.Done {
			return a, err
		}
	}
	op.State = records.Undone
	return a, t.db.Log(l.space, op)
}

// open opens the workspace of a session. The first time, it ends the operations that a daemon which was killed left begun.
func (t *Timeline) open(ctx context.Context, root string) (*workspace.Workspace, error) {
	w, err := t.o.Workspaces.Open(ctx, root)
	if err != nil {
		return nil, err
	}
	l, err := t.line(root)
	if err != nil {
		return nil, err
	}
	l.settling.Do(func() { l.settled = settle(t, l, w) })
	return w, l.settled
}

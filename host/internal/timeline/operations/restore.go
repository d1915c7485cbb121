package operations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/compare"
	"tidemark.dev/tidemark/host/internal/workspace/edit"
	"tidemark.dev/tidemark/host/internal/workspace/restore"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// maxSteps bounds the steps that an answer lists.
const maxSteps = 50

// RestoreParams are the parameters of timeline_restore.
type RestoreParams struct {
	moments.Where
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
func (ops *Operations) Restore(ctx context.Context, client *checkpoint.Client, p RestoreParams) (*answers.Restored, error) {
	s, l, err := ops.lines.SessionBy(client, p.Where, true, []*string{&p.To}, needs(client, grants.AgentsRestore)...)
	if err != nil {
		return nil, err
	}
	place, err := ops.lines.LocateItself(ctx, client, s, l, p.To)
	if err != nil {
		return nil, err
	}
	return ops.restore(ctx, client, s, l, place, p, &records.Operation{Kind: records.OpRestore, What: "restore " + records.SnapshotID(place.Snapshot.Number)})
}

func (ops *Operations) restore(ctx context.Context, client *checkpoint.Client, s *records.Session, l *moments.Line, place *moments.Place, p RestoreParams, op *records.Operation) (*answers.Restored, error) {
	w, err := ops.lines.Open(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	unlock, err := l.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	moments.Settle(ops.lines, l)
	if a, err := restoredBefore(ctx, ops, client, s, op.Kind); a != nil || err != nil {
		return a, err
	}
	prepare := w.PrepareRestore
	var undone *records.Operation
	renew := false // files that an apply changed are new to make, so those of its undo must be, too
	if op.Kind == records.OpUndo {
		all, err := ops.db.Operations(l.Space)
		if err != nil {
			return nil, err
		}
		first, _ := undoneIn(all, op)
		renew = first.Kind == records.OpApply
		if i := slices.IndexFunc(all, func(o *records.Operation) bool { return o.Number == op.Of }); i >= 0 {
			undone = all[i]
		}
		prepare = func(ctx context.Context, number uint64, paths []string) (*restore.Plan, error) {
			return workspace.PrepareUndo(ctx, w, number, paths)
		}
	}
	plan, err := prepare(ctx, place.Snapshot.Number, p.Paths)
	if plan != nil {
		err = errors.Join(err, ops.keepDiffers(l.Space, plan.Recovered))
	}
	if err != nil {
		return nil, err
	}
	if renew {
		plan.Renew()
	}
	known, err := ops.lines.Snapshots(ctx, s.Workspace)
	if err != nil {
		return nil, err
	}
	left, err := ops.Unsettled(l.Space, known)
	if err != nil {
		return nil, err
	}
	if later := changedAfter(ctx, ops, w, undone, plan); len(later) > 0 {
		left = strings.TrimSpace(left + fmt.Sprintf(" Files were changed after %s, and that is undone, too: %s.", undone.ID(), strings.Join(later, ", ")))
	}
	place.Note = strings.TrimSpace(place.Note + " " + left)
	a := answerOf(ops, s, plan, place)
	if p.Leave {
		plan.Leave()
		a = answerOf(ops, s, plan, place)
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
	op.At, op.Session, op.Target, op.Safety, op.Paths = ops.o.Clock(), s.ID, plan.Target, plan.Safety, p.Paths
	if err := errors.Join(Answer(op, a), begin(ctx, ops, l.Space, op)); err != nil {
		return nil, err
	}
	result, err := w.Restore(ctx, plan)
	if err != nil {
		op.State = records.Failed
		if partial := (*restore.PartialError)(nil); errors.As(err, &partial) {
			op.Differs = ops.problems(partial.Differs)
		}
		if blocked := (*restore.BlockedError)(nil); errors.As(err, &blocked) {
			err = usererr.New(usererr.ActionRefused, "%s", err.Error())
		}
		return nil, errors.Join(err, ops.db.Log(l.Space, op))
	}
	op.State, op.After = records.Done, result.After
	a.Done, a.Operation, a.Kept, a.Differs = true, op.ID(), result.Kept, ops.problems(result.Differs)
	if err := errors.Join(Answer(op, a), ops.db.Log(l.Space, op)); err != nil {
		return nil, fmt.Errorf("the files were restored, but the operation could not be saved: %w. Their state before is %s.", err, records.SnapshotID(plan.Safety))
	}
	_, err = ops.lines.Keep(l, s, ops.lines.Stamp(records.Moment{Label: op.What, Kind: records.Auto, Source: records.FromRestore}))
	return a, err
}

// maxLater bounds the files that a note names.
const maxLater = 10

// changedAfter returns the files that a plan sets back, and that were changed after the operation that it undoes. Nil undoes none.
func changedAfter(ctx context.Context, ops *Operations, w *workspace.Workspace, undone *records.Operation, plan *restore.Plan) (list []string) {
	changed := map[string]bool{}
	switch {
	case undone == nil:
		return nil
	case undone.Kind == records.OpApply:
		root, err := os.OpenRoot(w.Dir)
		if err != nil {
			return nil
		}
		defer func() { _ = root.Close() }()
		for name, wrote := range undone.Wrote {
			now, err := edit.Read(root, name)
			changed[name] = err != nil || !edit.Is(now, wrote)
		}
	case undone.After != 0:
		d, err := w.Diff(ctx, undone.After, plan.Safety, compare.Options{Paths: undone.Paths, Secrets: true, Exact: true, MaxFiles: -1})
		if err != nil { // the snapshot was deleted
			return nil
		}
		for _, f := range d.Files {
			changed[f.Path] = true
		}
	}
	for _, step := range plan.Steps {
		if changed[step.Path] {
			list = append(list, masked(ops, step.Path))
		}
	}
	if more := len(list) - maxLater; more > 0 {
		list = append(list[:maxLater], fmt.Sprintf("and %d more", more))
	}
	return list
}

// otherPlan says why a plan is the answer to a confirmation.
func otherPlan(confirmed string) string {
	if confirmed == "" {
		return "Nothing was restored: name this plan to confirm it."
	}
	return "Nothing was restored: the files changed since the plan that was confirmed. This is the present plan."
}

func answerOf(ops *Operations, s *records.Session, plan *restore.Plan, place *moments.Place) *answers.Restored {
	a := &answers.Restored{
		SessionID: s.ID, FsSnapshot: records.SnapshotID(plan.Target), Safety: records.SnapshotID(plan.Safety), Changes: map[string]int{}, Steps: []answers.RestoreStep{},
		Blocked: ops.problems(plan.Problems), Differs: ops.problems(plan.Left), Note: place.Note, Plan: plan.ID(),
	}
	for _, step := range plan.Steps {
		a.Changes[step.Kind.String()]++
		if len(a.Steps) < maxSteps {
			a.Steps = append(a.Steps, answers.RestoreStep{Path: masked(ops, step.Path), Change: step.Kind.String()})
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

// masked is [shown] without the secrets in the path.
func masked(ops *Operations, path string) string {
	if clean := ops.o.Clean(path); clean != event.Clean(path) {
		return clean
	}
	return shown(path)
}

// Whole names the workspace itself among paths that cannot be restored.
const Whole = "the workspace"

// problems lists paths with their reasons, one line each.
func (ops *Operations) problems(list []tree.Problem) (lines []string) {
	for i, p := range list {
		if i == maxSteps {
			return append(lines, fmt.Sprintf("and %d more", len(list)-i))
		}
		name := masked(ops, p.Path)
		if p.Path == "" || p.Path == "." {
			name = Whole
		}
		lines = append(lines, name+": "+event.OneLine(p.Reason))
	}
	return lines
}

// needs returns the grant that an agent needs. The user's own programs need none.
func needs(client *checkpoint.Client, grant string) []string {
	if client.User {
		return nil
	}
	return []string{grant}
}

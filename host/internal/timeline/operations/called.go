package operations

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/tool"
)

// begin has an operation in the log before it begins, with the ID of the request that it is for.
func begin(ctx context.Context, ops *Operations, space string, op *records.Operation) error {
	op.State, op.Call = records.Begun, tool.CallOf(ctx)
	if err := ops.db.Log(space, op); err != nil {
		return fmt.Errorf("cannot save the operation: %w", err)
	}
	return nil
}

// Answer has an operation keep its answer for a request that is repeated, from the next entry in the log on.
func Answer(op *records.Operation, answer any) (err error) {
	op.Answer, err = json.Marshal(answer)
	return err
}

// Called returns the operation of a kind that the request of ctx did before, where it was done and perhaps not answered. It was one of
// the session of. Nil is none.
func Called(ctx context.Context, ops *Operations, client *checkpoint.Client, where moments.Where, kind string) (op *records.Operation, of *records.Session, err error) {
	call := tool.CallOf(ctx)
	if call == "" {
		return nil, nil, nil
	}
	return DoneBefore(ops, client, where, func(o *records.Operation) bool { return o.Kind == kind && o.Call == call })
}

// restoredBefore is the answer of a restore or an undo that the request of ctx did before, nil where it did not.
func restoredBefore(ctx context.Context, ops *Operations, client *checkpoint.Client, s *records.Session, kind string) (*answers.Restored, error) {
	op, _, err := Called(ctx, ops, client, moments.Where{Session: s.ID}, kind)
	if err != nil || op == nil {
		return nil, err
	}
	a := &answers.Restored{SessionID: op.Session, Changes: map[string]int{}, Steps: []answers.RestoreStep{}}
	if len(op.Answer) > 0 {
		err = json.Unmarshal(op.Answer, a)
	}
	if a.Done, a.Operation = true, op.ID(); kind == records.OpUndo {
		a.Undid = strings.TrimPrefix(op.What, undoing)
	}
	return a, err
}

package operations_test

import (
	"testing"

	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// Where only undos are left, the error names the last one, which can be undone.
func TestTheLastUndoIsNamed(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	m := w.Edit("first")
	w.Write("a", "two")
	if _, err := w.Operations.Restore(t.Context(), timelinetest.User, operations.RestoreParams{Where: w.Here(), To: m.ID(), Confirm: true}); err != nil {
		t.Fatal(err)
	}
	undo := operations.UndoParams{Where: w.Here(), Confirm: true}
	if _, err := w.Operations.Undo(t.Context(), timelinetest.User, undo); err != nil {
		t.Fatal(err)
	}
	_, err := w.Operations.Undo(t.Context(), timelinetest.User, undo)
	timelinetest.Wants(t, err, usererr.NotFound, "`tidemark timeline undo op2`")
	undo.Operation = "op2"
	if a, err := w.Operations.Undo(t.Context(), timelinetest.User, undo); err != nil || !a.Done {
		t.Errorf("%+v, %v", a, err)
	}
}

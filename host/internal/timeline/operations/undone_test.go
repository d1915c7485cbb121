package operations_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
	// What was undone and is done again can be undone by its own name, and is the last one. A kill before that was marked changes nothing.
	state := func(want string) {
		t.Helper()
		log, err := w.Operations.Log(t.Context(), timelinetest.User, operations.LogParams{Where: w.Here()})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range log.Operations {
			if o.ID == "op1" && o.State != want {
				t.Errorf("%s is %s, want %s", o.ID, o.State, want)
			}
		}
	}
	state("done")
	w.Restart()
	state("done")
	plan, err := w.Operations.Undo(t.Context(), timelinetest.User, operations.UndoParams{Where: w.Here()})
	if err != nil || plan.Done || plan.Undoes != "op1" {
		t.Fatalf("%+v, %v", plan, err)
	}
	undo.Operation = plan.Undoes
	if a, err := w.Operations.Undo(t.Context(), timelinetest.User, undo); err != nil || !a.Done || w.Read(filepath.Join(w.Dir, "a")) != "two" {
		t.Errorf("%+v, %v", a, err)
	}
	state("undone")
	_, err = w.Operations.Undo(t.Context(), timelinetest.User, undo) // the same request again undoes nothing else
	timelinetest.Wants(t, err, usererr.NotFound, "op1 cannot be undone: it is undone")
}

// The undo of a branch, the undo of that undo and so on remove it and bring it back.
func TestTheUndoOfAnUndoOfABranchIsUndone(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	w.Edit("first")
	b, err := w.Operations.Branch(t.Context(), timelinetest.User, operations.BranchParams{Where: w.Here(), From: "now", Name: "way", Confirm: true})
	if err != nil {
		t.Fatal(err)
	}
	operation := b.Operation
	for i := range 6 {
		a, err := w.Operations.Undo(t.Context(), timelinetest.User, operations.UndoParams{Where: w.Here(), Operation: operation, Confirm: true})
		if err != nil || !a.Done {
			t.Fatalf("undo %d, of %s: %+v, %v", i, operation, a, err)
		}
		if _, err := os.Stat(b.Workspace); (err == nil) != (i%2 == 1) || err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after undo %d: %v", i, err)
		}
		if operation = a.Operation; i == 2 {
			w.Restart()
		}
	}
}

package operations_test

import (
	"errors"
	"os"
	"slices"
	"testing"

	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// TestBranchesOfARemovedBranchRemain after a restart too: listed, recorded, branched from and removed, until its removal is undone.
func TestBranchesOfARemovedBranchRemain(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	w.Edit("first")
	branch := func(where moments.Where, name string) string {
		t.Helper()
		b, err := w.Operations.Branch(t.Context(), timelinetest.User, operations.BranchParams{Where: where, From: "now", Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return b.Workspace
	}
	remove := func(name string) (session, operation string) {
		t.Helper()
		s, of, err := w.Operations.FindBranch(timelinetest.User, w.Here(), name)
		if err != nil {
			t.Fatal(err)
		}
		a, err := w.Operations.RemoveBranch(t.Context(), s, of, operations.Removal{})
		if err != nil {
			t.Fatal(err)
		}
		return a.SessionID, a.Operation
	}
	undo := func(session, operation string) {
		t.Helper()
		if _, err := w.Operations.Undo(t.Context(), timelinetest.User, operations.UndoParams{Where: moments.Where{Session: session}, Operation: operation, Confirm: true}); err != nil {
			t.Fatal(err)
		}
	}
	lists := func(want ...string) {
		t.Helper()
		list, err := w.Operations.BranchesIn(timelinetest.User, w.Here())
		var names []string
		for _, s := range list {
			names = append(names, s.Name)
		}
		if err != nil || !slices.Equal(names, want) {
			t.Fatalf("the branches are %q, want %q: %v", names, want, err)
		}
	}
	top := branch(w.Here(), "top")
	mid := branch(moments.Where{Dir: top}, "mid")
	deep := branch(moments.Where{Dir: mid}, "deep")
	session, operation := remove("top")
	lists("deep", "mid")
	w.Restart()
	lists("deep", "mid")
	for _, dir := range []string{mid, deep} {
		if a, err := w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: moments.Where{Dir: dir}}); err != nil || len(a.Moments) == 0 {
			t.Errorf("%+v, %v", a, err)
		}
		if _, err := w.Record(t.Context(), dir, records.Moment{Label: "x", Source: records.FromUser}); err != nil {
			t.Error(err)
		}
	}
	branch(moments.Where{Dir: mid}, "more")
	midSession, midOperation := remove("mid")
	lists("more", "deep")
	w.Restart()
	lists("more", "deep")
	undo(midSession, midOperation) // the log is that of a branch that was removed
	lists("more", "deep", "mid")
	again := branch(w.Here(), "top")
	if again != top {
		t.Fatalf("the branch is in %s, want %s", again, top)
	}
	w.Restart()
	lists("top", "more", "deep", "mid")
	remove("top")
	undo(session, operation)
	lists("more", "deep", "mid", "top")
	w.Restart()
	lists("more", "deep", "mid", "top")
	if _, err := os.Stat(top); errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestANameOfTwoBranchesIsRefused with the choices. Their IDs and directories select one.
func TestANameOfTwoBranchesIsRefused(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	w.Edit("first")
	where := w.Here()
	var ids, dirs []string
	for range 2 {
		b, err := w.Operations.Branch(t.Context(), timelinetest.User, operations.BranchParams{Where: where, From: "now", Name: "same"})
		if err != nil {
			t.Fatal(err)
		}
		ids, dirs = append(ids, b.ID), append(dirs, b.Workspace)
		where = moments.Where{Dir: b.Workspace}
	}
	_, _, err := w.Operations.FindBranch(timelinetest.User, w.Here(), "same")
	timelinetest.Wants(t, err, usererr.Ambiguous, ids[0]+" in "+dirs[0])
	timelinetest.Wants(t, err, usererr.Ambiguous, ids[1]+" in "+dirs[1])
	for _, names := range [][]string{ids, dirs} {
		for i, name := range names {
			if s, _, err := w.Operations.FindBranch(timelinetest.User, w.Here(), name); err != nil || s.ID != ids[i] {
				t.Errorf("%s is %+v, %v", name, s, err)
			}
		}
	}
}

// TestAMessageThatNoProgramTakesIsRefused, and no branch is made.
func TestAMessageThatNoProgramTakesIsRefused(t *testing.T) {
	w := timelinetest.New(t)
	w.Edit("first")
	_, err := w.Operations.Branch(t.Context(), timelinetest.User, operations.BranchParams{Where: w.Here(), From: "now", Name: "other", Message: "a\x00b"})
	timelinetest.Wants(t, err, usererr.InvalidArgument, "U+0000")
	if list, err := w.Operations.BranchesIn(timelinetest.User, w.Here()); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

package operations_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/testing/disktest"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// TestWhatABranchCouldNotReadIsNamed: a branch has no empty file in its place, and did not delete it. A branch that comes back names what
// it lost.
func TestWhatABranchCouldNotReadIsNamed(t *testing.T) {
	if disktest.User() == "" {
		disktest.AsUser(t, t.TempDir())
		return
	}
	w := timelinetest.New(t)
	w.Write("a", "one")
	w.Write("closed", "secret")
	w.Write("later", "two")
	if err := os.Chmod(filepath.Join(w.Dir, "closed"), 0); err != nil {
		t.Fatal(err)
	}
	m := w.Edit("first")
	const line = ": it could not be read when the snapshot was taken: permission denied"
	s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: m.ID()})
	if err != nil || !slices.Equal(s.Unnamed, []string{"closed" + line}) {
		t.Fatalf("%+v, %v", s, err)
	}
	b, err := w.Operations.Branch(t.Context(), timelinetest.User, operations.BranchParams{Where: w.Here(), From: m.ID(), Name: "other"})
	if err != nil || !slices.Equal(b.Unnamed, []string{"closed" + line}) {
		t.Fatalf("%+v, %v", b, err)
	}
	for _, dir := range []string{s.Mount, b.Workspace} {
		if _, err := os.Lstat(filepath.Join(dir, "closed")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s has it: %v", dir, err)
		}
	}
	d, err := w.Diff(t.Context(), timelinetest.User, timeline.DiffParams{Where: moments.Where{Dir: b.Workspace}, From: "start"})
	if err != nil || len(d.Files) > 0 {
		t.Errorf("the branch differs from its start in %+v, %v", d, err)
	}
	if err := os.Chmod(filepath.Join(b.Workspace, "later"), 0); err != nil {
		t.Fatal(err)
	}
	branch, of, err := w.Operations.FindBranch(timelinetest.User, w.Here(), "other")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Operations.RemoveBranch(t.Context(), branch, of, operations.Removal{}); err != nil {
		t.Fatal(err)
	}
	u, err := w.Operations.Undo(t.Context(), timelinetest.User, operations.UndoParams{Where: w.Here(), Confirm: true})
	if err != nil || !strings.Contains(u.Note, "Left out: later"+line+".") || w.Read(filepath.Join(b.Workspace, "a")) != "one" {
		t.Errorf("%+v, %v", u, err)
	}
	if _, err := os.Lstat(filepath.Join(b.Workspace, "later")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

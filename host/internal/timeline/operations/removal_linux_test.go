package operations_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// TestARefusedRemovalIsNotDoneLater: the branch stays when the daemon is started again, with what was written in it meanwhile. So
// does that when the removal is repeated and undone.
func TestARefusedRemovalIsNotDoneLater(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("file", "one")
	m := w.Edit("one")
	b, err := w.Operations.Branch(t.Context(), timelinetest.User, operations.BranchParams{Where: w.Here(), From: m.ID(), Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	remove := func() error {
		t.Helper()
		branch, of, err := w.Operations.FindBranch(timelinetest.User, w.Here(), "other")
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Operations.RemoveBranch(t.Context(), branch, of, operations.Removal{})
		return err
	}
	mounted := filepath.Join(b.Workspace, "mounted")
	if err := os.Mkdir(mounted, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", mounted, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("cannot mount a tmpfs: %v", err)
	}
	err = remove()
	if unmounted := unix.Unmount(mounted, 0); err == nil || unmounted != nil {
		t.Fatal(err, unmounted)
	}
	later := filepath.Join(b.Workspace, "later")
	if err := os.WriteFile(later, []byte("later"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Restart()
	if w.Read(later) != "later" || w.Read(filepath.Join(b.Workspace, "file")) != "one" {
		t.Fatal("the branch was removed")
	}
	if err := remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(b.Workspace); err == nil {
		t.Fatal("the branch was not removed")
	}
	u, err := w.Operations.Undo(t.Context(), timelinetest.User, operations.UndoParams{Where: w.Here(), Confirm: true})
	if err != nil || !u.Done || w.Read(later) != "later" || w.Read(filepath.Join(b.Workspace, "file")) != "one" {
		t.Errorf("%+v, %v", u, err)
	}
}

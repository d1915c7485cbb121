package branches_test

import (
	"os"
	"path/filepath"
	"testing"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/disktest"
)

// TestWhatABranchCouldNotReadIsNotApplied: the original keeps it, and has no empty file in its place.
func TestWhatABranchCouldNotReadIsNotApplied(t *testing.T) {
	if disktest.User() == "" {
		disktest.AsUser(t, t.TempDir())
		return
	}
	s := opened(t)
	t.Cleanup(func() { // a user may remove nothing in them
		views, err := filepath.Glob(filepath.Join(s.top, "workspaces", "*", "views", "*"))
		failing(err)
		for _, view := range views {
			failing(tracked.RemoveAll(view))
		}
	})
	closed := filepath.Join(s.dir, "closed")
	failing(os.WriteFile(closed, []byte("precious"), 0o600))
	failing(os.WriteFile(filepath.Join(s.dir, "a"), []byte("one"), 0o600))
	failing(os.Chmod(closed, 0))
	b := s.start(t, s.where(), s.record(), "other")
	failing(os.WriteFile(filepath.Join(b.Workspace, "a"), []byte("two"), 0o600))
	failing(os.Chmod(closed, 0o600))
	a, err := s.Apply(t.Context(), user, branches.ApplyParams{Where: s.where(), Name: "other", Confirm: true})
	if failing(err); !a.Done || len(a.Steps) != 1 || a.Steps[0].Path != "a" {
		t.Errorf("%+v", a)
	}
	if got, err := os.ReadFile(closed); err != nil || string(got) != "precious" {
		t.Errorf("it has %q, %v", got, err)
	}
}

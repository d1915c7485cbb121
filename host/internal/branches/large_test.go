package branches_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
)

// TestALargeFileIsApplied: its content is copied, and never in memory as a whole. Where both sides changed it, it is a conflict.
func TestALargeFileIsApplied(t *testing.T) {
	if testing.Short() {
		t.Skip("large files take too long for -short")
	}
	const size = 256<<20 + 4096
	s := opened(t)
	put := func(dir, name, end string) {
		path := filepath.Join(dir, name)
		failing(errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, size)))
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		failing(err)
		_, err = f.WriteAt([]byte(end), size-int64(len(end)))
		failing(errors.Join(err, f.Close()))
	}
	ends := func(dir, name string) string {
		f, err := os.Open(filepath.Join(dir, name))
		failing(err)
		defer func() { _ = f.Close() }()
		end := make([]byte, 3)
		_, err = f.ReadAt(end, size-3)
		failing(err)
		return string(end)
	}
	put(s.dir, "changed.bin", "old")
	put(s.dir, "both.bin", "old")
	b := s.start(t, s.where(), s.record(), "other")
	put(b.Workspace, "changed.bin", "new")
	put(b.Workspace, "both.bin", "new")
	put(b.Workspace, "made.bin", "new")
	put(s.dir, "both.bin", "own")
	plan, err := s.Apply(t.Context(), user, branches.ApplyParams{Where: s.where(), Name: "other"})
	if err != nil || len(plan.Conflicts) != 1 || plan.Conflicts[0].Path != "both.bin" || len(plan.Steps) != 2 {
		t.Fatalf("the plan is %+v, %v", plan, err)
	}
	done, err := s.Apply(t.Context(), user, branches.ApplyParams{Where: s.where(), Name: "other", Confirm: true, Conflicts: "original"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"changed.bin": "new", "made.bin": "new", "both.bin": "own"} {
		if got := ends(s.dir, name); got != want {
			t.Errorf("%s ends with %q, want %q", name, got, want)
		}
	}
	if _, err := s.Timeline.Operations.Undo(t.Context(), user, operations.UndoParams{Where: s.where(), Operation: done.Operation, Confirm: true}); err != nil {
		t.Fatal(err)
	}
	if got := ends(s.dir, "changed.bin"); got != "old" {
		t.Errorf("after the undo, the file ends with %q", got)
	}
	if _, err := os.Lstat(filepath.Join(s.dir, "made.bin")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the undo, the new file is there: %v", err)
	}
}

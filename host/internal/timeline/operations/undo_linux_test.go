package operations_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// TestAnUndoLeavesWhatCannotBeRestored, as a restore does: a pipe is in the place of a file.
func TestAnUndoLeavesWhatCannotBeRestored(t *testing.T) {
	w := timelinetest.New(t)
	w.Write("a", "one")
	first := w.Edit("first")
	w.Write("a", "two")
	w.Write("pipe", "file")
	w.Edit("second")
	if _, err := w.Operations.Restore(t.Context(), timelinetest.User, operations.RestoreParams{Where: w.Here(), To: first.ID(), Confirm: true}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(w.Dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	undo := operations.UndoParams{Where: w.Here(), Confirm: true}
	if _, err := w.Operations.Undo(t.Context(), timelinetest.User, undo); err == nil || !strings.Contains(err.Error(), "--leave") {
		t.Errorf("%v", err)
	}
	undo.Leave = true
	a, err := w.Operations.Undo(t.Context(), timelinetest.User, undo)
	if err != nil || !a.Done || len(a.Differs) != 1 || !strings.HasPrefix(a.Differs[0], "pipe: ") {
		t.Errorf("%+v, %v", a, err)
	}
	if got := w.Read(filepath.Join(w.Dir, "a")); got != "two" {
		t.Errorf("%q", got)
	}
	if info, err := os.Lstat(filepath.Join(w.Dir, "pipe")); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("%v, %v", info, err)
	}
}

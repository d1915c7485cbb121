package operations_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/testing/disktest"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// TestAnInterruptedOperationIsEndedAsSoonAsThatIsPossible: an error of it lasts no longer than its cause.
func TestAnInterruptedOperationIsEndedAsSoonAsThatIsPossible(t *testing.T) {
	if disktest.User() == "" {
		disktest.AsUser(t, t.TempDir())
		return
	}
	w := timelinetest.New(t)
	w.Write("a", "one")
	m := w.Edit("one")
	space, _, _ := strings.Cut(w.Listed().FsSnapshots[0].Snapshot.ID, "@")
	w.Stop()
	db, _, err := records.Open(filepath.Join(w.Top, "timeline.db"), w.Now())
	if err != nil {
		t.Fatal(err)
	}
	begun := &records.Operation{Session: m.Session, Kind: records.OpApply, State: records.Begun, What: "apply", Safety: m.Snapshot, Wrote: map[string]string{"a": "another"}}
	if err := errors.Join(db.Log(space, begun), db.Close()); err != nil {
		t.Fatal(err)
	}
	w.Write(".tidemark-apply/staged", "new")
	if err := os.Chmod(w.Dir, 0o500); err != nil { //nolint:gosec // nothing in it can be removed
		t.Fatal(err)
	}
	w.Start()
	seek := func() error {
		_, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: m.ID()})
		return err
	}
	for range 2 {
		if err := seek(); !errors.Is(err, os.ErrPermission) {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(w.Dir, 0o700); err != nil { //nolint:gosec // as it was
		t.Fatal(err)
	}
	if err := seek(); err != nil {
		t.Fatal(err)
	}
	log, err := w.Operations.Log(t.Context(), timelinetest.User, operations.LogParams{Where: w.Here()})
	if err != nil || len(log.Operations) != 1 || log.Operations[0].State != records.Failed {
		t.Fatalf("%+v, %v", log, err)
	}
}

package timeline_test

import (
	"os"
	"path/filepath"
	"testing"

	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/testing/disktest"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// TestADifferenceSaysWhatIsNotCertain: a file in a directory that could not be listed may have been there.
func TestADifferenceSaysWhatIsNotCertain(t *testing.T) {
	if disktest.User() == "" {
		disktest.AsUser(t, t.TempDir())
		return
	}
	w := timelinetest.New(t)
	w.Write("data/in", "precious")
	data := filepath.Join(w.Dir, "data")
	if err := os.Chmod(data, 0); err != nil {
		t.Fatal(err)
	}
	before := w.Edit("before")
	if err := os.Chmod(data, 0o755); err != nil { //nolint:gosec // so that it can be listed
		t.Fatal(err)
	}
	d, err := w.Diff(t.Context(), timelinetest.User, timeline.DiffParams{Where: w.Here(), From: before.ID()})
	if err != nil {
		t.Fatal(err)
	}
	if want := "In s1, one path is not certain: data: it cannot be listed: permission denied."; d.From.Note != want || d.To.Note != "" {
		t.Fatalf("%+v, %+v", d.From, d.To)
	}
}

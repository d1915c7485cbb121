package engine_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/store"
	"tidemark.dev/tidemark/host/internal/window"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

var update = flag.Bool("update", false, "write the golden files")

// TestAJournalOfFormat2 reads a journal that a daemon wrote in November 2026, before tracks. A real page filled every
// section: console entries, requests, a WebSocket, actions, an error element and a navigation. The golden file is the
// report that the same daemon computed.
func TestAJournalOfFormat2(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	if err := os.WriteFile(path, gunzip(t, "testdata/journal-2.db.gz"), 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 23, 13, 0, 0, 0, time.UTC)
	for _, reading := range []string{"as it was written", "after it was written to"} {
		s, known, readers, disk := reopened(t, path, now)
		if len(known) != 1 || known[0].Name != "known_good" || known[0].Note != "before the refactoring" || len(readers) != 1 || readers[0].Name != "testbed" {
			t.Fatalf("%s: %+v, %+v", reading, known, readers)
		}
		report, err := json.MarshalIndent(diff.Compute(known[0].Moment, s.View(now), window.Options{}), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		const golden = "testdata/journal-2.json"
		if *update && reading == "as it was written" {
			if err := os.WriteFile(golden, append(report, '\n'), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if enginetest.Untimed(report) != string(bytes.TrimSpace(want)) { // that daemon did not report times
			t.Errorf("%s: the report is %s", reading, report)
		}
		if err := disk.Commit(s.Drain(now), nil); err != nil {
			t.Fatal(err)
		}
		if err := disk.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// reopened opens a journal as the daemon does when it starts.
func reopened(t *testing.T, path string, now time.Time) (*capture.Store, []checkpoint.Checkpoint, []checkpoint.ClientState, *store.Store) {
	t.Helper()
	disk, notice, err := store.Open(path, store.Limits{Bytes: 64 << 20, Age: 100 * 365 * 24 * time.Hour}, now)
	if err != nil || notice != "" {
		t.Fatal(err, notice)
	}
	st, problems := disk.State()
	past, err := disk.Past(nil)
	if st == nil || len(problems) > 0 || err != nil {
		t.Fatal(st, problems, err)
	}
	defer past.Close()
	s := capture.Restore(capture.DefaultLimits(), noise.Default(), now, st, past)
	named, readers, problems := disk.Readers(s.Index())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	s.Keep()
	return s, named, readers, disk
}

func gunzip(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

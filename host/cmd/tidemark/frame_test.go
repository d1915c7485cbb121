package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/recording"
)

func TestATimeOfDayInARecording(t *testing.T) {
	began := time.Date(2026, 3, 1, 23, 59, 58, 700e6, time.Local)
	s := recording.Summary{Header: recording.Header{ID: "t1", Started: began}, Duration: 4500 * time.Millisecond} // it ends at 00:00:03.2
	for ts, want := range map[string]time.Duration{
		"23:59:58": 300*time.Millisecond - time.Nanosecond, // what a command prints for 23:59:58.7 to .999…
		"23:59:59": 1300*time.Millisecond - time.Nanosecond,
		"00:00:00": 2300*time.Millisecond - time.Nanosecond,
		"00:00:03": s.Duration,
	} {
		if at, err := frameTime(ts, s); err != nil || at != want {
			t.Errorf("%s: %v %v, want %v", ts, at, err, want)
		}
	}
	for _, ts := range []string{"23:59:57", "00:00:05", "12:00:00"} {
		if at, err := frameTime(ts, s); err == nil {
			t.Errorf("%s is in the recording at %v", ts, at)
		}
	}
}

// TestAFrameOfADamagedRecordingSaysWhatIsMissing: damage before its time, and a missing end.
func TestAFrameOfADamagedRecordingSaysWhatIsMissing(t *testing.T) {
	store := recording.Store{Dir: t.TempDir()}
	id := recording.NewID(time.Now())
	w, err := store.Create(recording.Header{ID: id, Started: time.Now(), Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		var line strings.Builder
		for k := range 1000 {
			fmt.Fprintf(&line, "%x ", i*7919+k*k*k)
		}
		if err := errors.Join(w.Append(time.Duration(i)*time.Second, recording.Output, []byte(line.String())), w.Commit(false)); err != nil {
			t.Fatal(err)
		}
	}
	shown := func(at time.Duration) string {
		r, err := store.Open(id)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Close() }()
		screen, err := r.Frame(at)
		if err != nil {
			t.Fatal(err)
		}
		var out, notes, asJSON strings.Builder
		cmd := &cobra.Command{}
		cmd.SetOut(&out)
		cmd.SetErr(&notes)
		if err := printFrame(cmd, store, r, screen, at, false); err != nil {
			t.Fatal(err)
		}
		cmd.SetOut(&asJSON)
		if err := printFrame(cmd, store, r, screen, at, true); err != nil {
			t.Fatal(err)
		}
		for field, note := range map[string]string{`"damaged":true,"missingBytes":`: "bytes of output before this time are missing", `"interrupted":true`: "has no end"} {
			if strings.Contains(asJSON.String(), field) != strings.Contains(notes.String(), note) {
				t.Errorf("%s\n%s", asJSON.String(), notes.String())
			}
		}
		return notes.String()
	}
	const missing, noEnd = "bytes of output before this time are missing", "The recording has no end"
	if got := shown(99 * time.Second); strings.Contains(got, missing) || strings.Contains(got, noEnd) {
		t.Errorf("while it is written: %s", got)
	}
	if err := w.Finish(0); err != nil {
		t.Fatal(err)
	}
	if got := shown(99 * time.Second); strings.Contains(got, missing) || strings.Contains(got, noEnd) {
		t.Errorf("whole: %s", got)
	}
	path := filepath.Join(store.Dir, id+recording.Suffix)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := shown(99 * time.Second); !strings.Contains(got, missing) || strings.Contains(got, noEnd) {
		t.Errorf("behind the damage: %s", got)
	}
	if got := shown(10 * time.Second); strings.Contains(got, missing) {
		t.Errorf("before the damage: %s", got)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(path, data[:len(data)*2/3], 0o600); err != nil {
		t.Fatal(err)
	}
	if got := shown(10 * time.Second); strings.Contains(got, missing) || !strings.Contains(got, noEnd) {
		t.Errorf("cut off: %s", got)
	}
}

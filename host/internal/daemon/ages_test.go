//go:build !windows

package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestADaemonBelievesWhatItSawOfTheClock: a conversation of ten days before now is deleted if the clock ran for all of that. If
// nothing is known of the clock, it may have been set.
func TestADaemonBelievesWhatItSawOfTheClock(t *testing.T) {
	now := time.Now()
	ago := func(days int) time.Time { return now.Add(-time.Duration(days) * 24 * time.Hour) }
	for saved, kept := range map[string]bool{
		"": true,
		fmt.Sprintf(`{"boot":"another","spans":[{"from":%d,"to":%d}]}`, ago(20).UnixMilli(), now.UnixMilli()): false,
	} {
		h := newHome(t)
		path := filepath.Join(h.Recordings(), "claude-0123456789.conversation")
		if err := os.MkdirAll(h.Recordings(), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, ago(10), ago(10)); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(h.State, "clock.json")
		if saved != "" {
			if err := os.WriteFile(file, []byte(saved), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := start(t, h)
		s.stop()
		if err := s.wait(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); (err == nil) != kept {
			t.Errorf("with %q: %v", saved, err)
		}
		if data, err := os.ReadFile(file); err != nil || len(data) == 0 {
			t.Errorf("with %q, what is seen of the clock is not saved: %v", saved, err)
		}
	}
}

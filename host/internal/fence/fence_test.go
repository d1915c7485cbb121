//go:build !windows

package fence_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/fence"
)

func newFences(t *testing.T, script string, allowed error) (f *fence.Fences, dir string) {
	t.Helper()
	f = fence.New(fence.Options{
		Command: []string{"sh", "-c", script}, Allowed: func(string) error { return allowed }, Clean: strings.ToUpper, Log: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(f.Close)
	return f, t.TempDir()
}

// Snapshots that come while the command runs share the next run. One that has run already is not repeated.
func TestSnapshotsShareARun(t *testing.T) {
	f, dir := newFences(t, `echo "$TIDEMARK_FS_SNAPSHOT" >> ran; while ! test -e go; do sleep 0.01; done`, nil)
	first := f.After(dir, 1)
	for started := false; !started; {
		_, err := os.Stat(filepath.Join(dir, "ran"))
		started = err == nil
	}
	last := f.After(dir, 2)
	for n := uint64(3); n < 10; n++ {
		if f.After(dir, n) != last {
			t.Errorf("snapshot %d has a run of its own", n)
		}
	}
	if f.After(dir, 1) != first {
		t.Error("the running one is not that of its snapshot")
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*fence.Run{first, last, f.After(dir, 9)} {
		if result, err := f.Wait(t.Context(), r); err != nil || result.State != fence.Done {
			t.Errorf("%v, %v", result, err)
		}
	}
	if ran, err := os.ReadFile(filepath.Join(dir, "ran")); err != nil || string(ran) != "s1\ns9\n" {
		t.Errorf("it ran after %q, %v", ran, err)
	}
}

func TestARunThatFailsSaysWhyAndIsRepeated(t *testing.T) {
	f, dir := newFences(t, "echo no follower; exit 3", nil)
	for range 2 {
		if r, err := f.Wait(t.Context(), f.After(dir, 1)); err != nil || r.State != fence.Failed || r.ExitCode != 3 || r.Message != "exit status 3: NO FOLLOWER" {
			t.Errorf("%v, %v", r, err)
		}
	}
	f, dir = newFences(t, "touch ran", errors.New("not here"))
	if r, err := f.Wait(t.Context(), f.After(dir, 1)); err != nil || r.State != fence.Failed || r.Message != "not here" {
		t.Errorf("%v, %v", r, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("it ran where it is not allowed")
	}
}

func TestTheEndOfTheDaemonEndsTheRuns(t *testing.T) {
	f, dir := newFences(t, "sleep 600 & echo $! > child; wait", nil)
	r := f.After(dir, 1)
	var child int
	for child == 0 {
		data, _ := os.ReadFile(filepath.Join(dir, "child"))
		child, _ = strconv.Atoi(strings.TrimSpace(string(data)))
	}
	began := time.Now()
	f.Close()
	if _, err := f.Wait(t.Context(), r); time.Since(began) > time.Minute {
		t.Errorf("it took %v, %v", time.Since(began), err)
	}
	for runs(child) { // a signal takes effect soon
		if time.Since(began) > time.Minute {
			t.Fatal("what the command started still runs")
		}
	}
	f.After(dir, 2) // begins nothing
}

// runs reports whether a process runs. One that has exited may wait for its parent.
func runs(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

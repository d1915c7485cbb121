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

// Another project may be where one was, and count its snapshots from 1.
func TestSnapshotsOfAnotherProjectHaveRunsOfTheirOwn(t *testing.T) {
	f, dir := newFences(t, `echo "$TIDEMARK_FS_SNAPSHOT" >> ran`, nil)
	for _, number := range []uint64{50, 50, 1, 2, 2} {
		f.Taken(dir, number)
		if r, err := f.Wait(t.Context(), f.After(dir, number)); err != nil || r.State != fence.Done {
			t.Errorf("%v, %v", r, err)
		}
	}
	if ran, err := os.ReadFile(filepath.Join(dir, "ran")); err != nil || string(ran) != "s50\ns1\ns2\n" {
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

// What it leaves running may keep its output open: a file watcher, or the agent of another machine.
func TestARunThatLeavesAProgramBehindSucceeds(t *testing.T) {
	f, dir := newFences(t, "sleep 600 & echo $! > child", nil)
	r, err := f.Wait(t.Context(), f.After(dir, 1))
	if err != nil || r.State != fence.Done || r.Message != "" {
		t.Errorf("%v, %v", r, err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "child"))
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || syscall.Kill(child, syscall.SIGKILL) != nil {
		t.Errorf("what it started has ended: %s, %v", data, err)
	}
}

// A secret at the place where the output is cut off is masked as a whole.
func TestTheOutputIsCleanedBeforeItIsCut(t *testing.T) {
	var saw string
	f := fence.New(fence.Options{
		Command: []string{"sh", "-c", "printf 'the token is %0600d' 7; exit 1"}, Allowed: func(string) error { return nil },
		Clean: func(text string) string { saw = text; return "it is masked" }, Log: slog.New(slog.DiscardHandler),
	})
	defer f.Close()
	if r, err := f.Wait(t.Context(), f.After(t.TempDir(), 1)); err != nil || r.Message != "exit status 1: it is masked" || !strings.HasPrefix(saw, "the token is 0") {
		t.Errorf("%v, %v; cleaned %q", r, err, saw)
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

package overlay_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/overlay"
)

// command is the first argument of a test program that stands for one that serves by WinFsp.
const command = "serve-for-a-test"

// In another process of this test program, a directory is served as by WinFsp: it is made, and removed when the process ends. While it has a file
// "open", a program uses it.
func TestMain(m *testing.M) {
	if len(os.Args) != 3 || os.Args[1] != command {
		os.Exit(m.Run())
	}
	s := overlay.ServedFor(os.Args[2])
	err := overlay.Lock(s.Lock)
	asked, failed := overlay.Asked(s.Lock)
	if err = errors.Join(err, failed); err == nil {
		err = os.Mkdir(s.At, 0o700)
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stdout, err)
		os.Exit(1)
	}
	_, _ = fmt.Fprintln(os.Stdout, overlay.Ready)
	for range asked {
		if _, err := os.Stat(filepath.Join(s.At, "open")); err != nil {
			_ = os.RemoveAll(s.At)
			os.Exit(0)
		}
	}
}

// TestTheProcessOfAMountIsStartedAskedToEndAndFound.
func TestTheProcessOfAMountIsStartedAskedToEndAndFound(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "branch")
	server := []string{os.Args[0], command}
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	exists := func(path string) bool { _, err := os.Lstat(path); return err == nil }
	must(overlay.Prepare(dir, overlay.Alone, func(overlay.Served) error { return nil }))
	if overlay.FormOf(dir) != overlay.Alone || !overlay.Is(dir) {
		t.Fatal("it has no layers")
	}
	must(os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600))
	if err := overlay.Mount(t.Context(), server, dir); err == nil || !strings.Contains(err.Error(), "something was written into its empty directory") {
		t.Fatal(err)
	}
	must(os.Remove(filepath.Join(dir, "mine")), overlay.Mount(t.Context(), server, dir))
	must(os.WriteFile(filepath.Join(dir, "open"), nil, 0o600))
	must(overlay.Mount(t.Context(), server, dir), overlay.Heal(top)) // it is mounted already
	if !exists(filepath.Join(dir, "open")) {
		t.Fatal("it was mounted again")
	}
	if err := overlay.Release(dir); !errors.Is(err, syscall.EBUSY) || !strings.Contains(err.Error(), "a program uses it") {
		t.Fatal(err)
	}
	if !overlay.Is(dir) || !exists(dir) {
		t.Fatal("a branch that is used was removed")
	}
	must(os.Remove(filepath.Join(dir, "open")), overlay.Release(dir))
	if overlay.Is(dir) || exists(dir) {
		t.Fatal("it was not removed")
	}
	must(overlay.Prepare(dir, overlay.View, func(overlay.Served) error { return nil }), os.Remove(dir)) // as after a kill
	must(overlay.Heal(top))
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Fatal(entries, err)
	}
	if err := overlay.Mount(t.Context(), []string{os.Args[0], "-test.run=^$"}, dir); err == nil || !exists(dir) {
		t.Fatal("a process that does not serve:", err)
	}
	must(overlay.Release(dir), os.Remove(dir))
}

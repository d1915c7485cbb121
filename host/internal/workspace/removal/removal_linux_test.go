package removal_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/removal"
)

// mount mounts an empty filesystem with the user's file on a directory. Without the right to do that it skips the test.
func mount(t *testing.T, dir string) (file string, err error) {
	t.Helper()
	if err := unix.Mount("somebody", dir, "tmpfs", 0, "size=1m"); errors.Is(err, unix.EPERM) {
		t.Skipf("cannot mount a tmpfs: %v", err)
	} else if err != nil {
		return "", err
	}
	file = filepath.Join(dir, "mine")
	return file, os.WriteFile(file, []byte("mine"), 0o600)
}

// TestWhatIsMountedStays, and nothing beside it is removed.
func TestWhatIsMountedStays(t *testing.T) {
	top := filepath.Join(t.TempDir(), "top")
	at := filepath.Join(top, "a b", "mounted")
	if err := errors.Join(os.MkdirAll(at, 0o700), os.WriteFile(filepath.Join(top, "a"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	file, err := mount(t, at)
	if err != nil {
		t.Fatal(err)
	}
	if err := removal.All(top); err == nil || !strings.Contains(err.Error(), "something is mounted on "+at) {
		t.Error(err)
	}
	for _, path := range []string{file, filepath.Join(top, "a")} {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(unix.Unmount(at, 0), removal.All(top)); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(top); err == nil {
		t.Error("it is still there")
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestAllThatIsNotMountedIsRemoved: directories without permission, odd names, links and long paths.
func TestAllThatIsNotMountedIsRemoved(t *testing.T) {
	top, outside := filepath.Join(t.TempDir(), "top"), t.TempDir()
	if err := errors.Join(
		os.WriteFile(filepath.Join(outside, "file"), nil, 0o600), os.MkdirAll(filepath.Join(top, "a\n\xff", "dir"), 0o700),
		os.Symlink(outside, filepath.Join(top, "link")), os.WriteFile(filepath.Join(top, "a\n\xff", "dir", "file"), nil, 0o400),
		unix.Mkfifo(filepath.Join(top, "pipe"), 0o600), os.Chmod(filepath.Join(top, "a\n\xff", "dir"), 0), os.Chmod(filepath.Join(top, "a\n\xff"), 0o500),
	); err != nil {
		t.Fatal(err)
	}
	at, err := os.OpenRoot(top)
	for range 40 {
		if err == nil {
			err = at.Mkdir(strings.Repeat("d", 200), 0o700)
		}
		if err == nil {
			next, opened := at.OpenRoot(strings.Repeat("d", 200))
			err = errors.Join(opened, at.Close())
			at = next
		}
	}
	if err = errors.Join(err, at.Close()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(removal.All(top), removal.All(top), removal.All(filepath.Join(top, "missing", "dir"))); err != nil || exists(top) {
		t.Error(err)
	}
	if !exists(filepath.Join(outside, "file")) {
		t.Error("what a link names was removed")
	}
	file := filepath.Join(outside, "file")
	if err := removal.All(file); err != nil || exists(file) {
		t.Error(err)
	}
}

//go:build !windows

package tracked_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAReserveIsNeverElsewhere: what stands in its place is replaced, not followed, and not waited for.
func TestAReserveIsNeverElsewhere(t *testing.T) {
	dir, workspace := t.TempDir(), t.TempDir()
	target, store := filepath.Join(dir, "target"), filepath.Join(dir, "store")
	reserve := filepath.Join(store, "reserve")
	if err := os.WriteFile(target, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	for kind, put := range map[string]func(path string) error{
		"a link":       func(path string) error { return os.Symlink(target, path) },
		"a named pipe": func(path string) error { return unix.Mkfifo(path, 0o600) },
	} {
		if err := os.MkdirAll(store, 0o700); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(reserve)
		if err := put(reserve); err != nil {
			t.Fatal(err)
		}
		if err := openProvider(t, workspace, store, nil).Close(); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(reserve); err != nil || !info.Mode().IsRegular() || info.Size() != 64<<10 {
			t.Errorf("%s: the reserve is %v, %v", kind, info, err)
		}
	}
	if data, err := os.ReadFile(target); err != nil || string(data) != "theirs" {
		t.Errorf("the target of the link has %d bytes, %v", len(data), err)
	}
}

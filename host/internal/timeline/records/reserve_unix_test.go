//go:build !windows

package records_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAReserveIsNeverElsewhere: what stands in its place is replaced, not followed, and not waited for.
func TestAReserveIsNeverElsewhere(t *testing.T) {
	dir := t.TempDir()
	path, target := filepath.Join(dir, "timeline.db"), filepath.Join(dir, "target")
	if err := os.WriteFile(target, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	for kind, put := range map[string]func(path string) error{
		"a link":       func(path string) error { return os.Symlink(target, path) },
		"a named pipe": func(path string) error { return unix.Mkfifo(path, 0o600) },
		"nothing":      func(string) error { return nil },
	} {
		_ = os.Remove(path + ".reserve")
		if err := put(path + ".reserve"); err != nil {
			t.Fatal(err)
		}
		d, _ := open(t, path)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(path + ".reserve"); err != nil || !info.Mode().IsRegular() || info.Size() != 256<<10 {
			t.Errorf("%s: the reserve is %v, %v", kind, info, err)
		}
	}
	if data, err := os.ReadFile(target); err != nil || string(data) != "theirs" {
		t.Errorf("the target of the link has %d bytes, %v", len(data), err)
	}
}

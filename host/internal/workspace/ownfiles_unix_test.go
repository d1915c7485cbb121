//go:build !windows

package workspace_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace"
)

// TestFilesOfAStoreAreNeverElsewhere: what stands in their place when a workspace is opened is replaced.
func TestFilesOfAStoreAreNeverElsewhere(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, target := filepath.Join(top, "work"), filepath.Join(top, "target")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(target, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, end := open(t, top, dir)
	end()
	names := []string{"directory", "identity", "exclude.json", "store/reserve"}
	found, err := filepath.Glob(filepath.Join(top, "*", workspace.ID(dir)))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	for kind, put := range map[string]func(path string) error{
		"a link":       func(path string) error { return os.Symlink(target, path) },
		"a named pipe": func(path string) error { return unix.Mkfifo(path, 0o600) },
	} {
		for _, name := range names {
			path := filepath.Join(found[0], name)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := put(path); err != nil {
				t.Fatal(err)
			}
		}
		_, end := open(t, top, dir)
		end()
		for _, name := range names {
			if info, err := os.Lstat(filepath.Join(found[0], name)); err != nil || !info.Mode().IsRegular() {
				t.Errorf("%s: %s is %v, %v", kind, name, info, err)
			}
		}
	}
	if data, err := os.ReadFile(target); err != nil || string(data) != "theirs" {
		t.Errorf("the target of the link has %d bytes, %v", len(data), err)
	}
}

//go:build !windows

package boltfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/boltfile"
)

// TestWhatIsNotAFileIsNamed: a link is not followed, even to a file that could be opened.
func TestWhatIsNotAFileIsNamed(t *testing.T) {
	for kind, put := range map[string]func(path string) error{
		"a link":       func(path string) error { return os.Symlink("target", path) },
		"a named pipe": func(path string) error { return unix.Mkfifo(path, 0o600) },
		"a directory":  func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		path := filepath.Join(t.TempDir(), "a.db")
		if err := put(path); err != nil {
			t.Fatal(err)
		}
		if _, _, err := boltfile.Open(path); err == nil || !strings.Contains(err.Error(), path+" is "+kind+", not a file; remove it") {
			t.Errorf("%s: %v", kind, err)
		}
		if _, err := os.Lstat(filepath.Join(filepath.Dir(path), "target")); err == nil {
			t.Error("the target of the link was created")
		}
	}
}

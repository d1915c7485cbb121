//go:build !windows

package safefile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/installer/safefile"
)

// TestAnOwnFileIsNeverElsewhere: what stands in the place of a file is not followed and not waited for.
func TestAnOwnFileIsNeverElsewhere(t *testing.T) {
	for kind, put := range odd() {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			target, path := filepath.Join(dir, "target"), filepath.Join(dir, "own")
			if err := os.WriteFile(target, []byte("theirs"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_WRONLY | os.O_CREATE | os.O_TRUNC, os.O_RDWR | os.O_CREATE} {
				if f, err := safefile.Own(path, flag); err == nil || !strings.Contains(err.Error(), path+" is "+kind+", not a file") {
					t.Errorf("flags %#x: %v, %v", flag, f, err)
				}
			}
			if err := safefile.Overwrite(path, []byte("ours")); err == nil != (kind != "a directory") {
				t.Error(err)
			} else if err == nil {
				if data, err := safefile.Read(path, 10); err != nil || string(data) != "ours" {
					t.Errorf("%q, %v", data, err)
				}
				if info, err := os.Lstat(path); err != nil || info.Mode() != 0o600 {
					t.Errorf("%v, %v", info, err)
				}
			}
			if data, err := os.ReadFile(target); err != nil || string(data) != "theirs" {
				t.Errorf("the target has %q, %v", data, err)
			}
			if _, err := os.Lstat(filepath.Join(dir, "missing")); err == nil {
				t.Error("the target of a link was created")
			}
		})
	}
}

// odd returns what puts something else in the place of a file: links lead to "target" beside it.
func odd() map[string]func(path string) error {
	return map[string]func(path string) error{
		"a link":       func(path string) error { return os.Symlink("target", path) },
		"a named pipe": func(path string) error { return unix.Mkfifo(path, 0o600) },
		"a directory":  func(path string) error { return os.Mkdir(path, 0o700) },
	}
}

// TestAnOwnFileIsWrittenInPlace: its mode, its other names and what is not overwritten stay.
func TestAnOwnFileIsWrittenInPlace(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "own"), filepath.Join(dir, "other")
	if _, err := safefile.Own(path, os.O_RDWR); !os.IsNotExist(err) {
		t.Error(err)
	}
	if err := safefile.Overwrite(path, []byte("a long text")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(path, other); err != nil {
		t.Fatal(err)
	}
	if err := safefile.Overwrite(path, []byte("short")); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(other); err != nil || string(data) != "short" {
		t.Errorf("%q, %v", data, err)
	}
}

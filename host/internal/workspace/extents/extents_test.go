package extents_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/extents"
	"tidemark.dev/tidemark/host/testing/disktest"
)

func empty(t *testing.T, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%v was left in %s, %v", left, dir, err)
		}
	}
}

// TestWhatCannotBeClonedSaysWhy, and leaves nothing behind.
func TestWhatCannotBeClonedSaysWhy(t *testing.T) {
	from, to, other := t.TempDir(), t.TempDir(), disktest.Small(t, "1m")
	for _, files := range []int{0, 1} {
		if files > 0 {
			if err := os.WriteFile(filepath.Join(from, "file"), []byte("content"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := extents.Shares(from, to); err != nil && !errors.Is(err, extents.ErrUnsupported) {
			t.Errorf("within a filesystem: %v", err)
		}
		if err := extents.Shares(from, other); !errors.Is(err, extents.ErrElsewhere) {
			t.Errorf("with another filesystem: %v", err)
		}
		empty(t, to, other)
	}
	in, err := os.OpenRoot(other)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	f, err := os.Open(filepath.Join(from, "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := extents.Clone(in, "copy", f); !errors.Is(err, extents.ErrElsewhere) {
		t.Error(err)
	}
	empty(t, other)
	for _, missing := range [][2]string{{from, filepath.Join(to, "missing")}, {filepath.Join(from, "missing"), to}} {
		if err := extents.Shares(missing[0], missing[1]); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v: %v", missing, err)
		}
	}
}

package filelock_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"tidemark.dev/tidemark/host/internal/filelock"
)

func TestOneHasTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	f, err := filelock.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("readable"); err != nil {
		t.Fatal(err)
	}
	if _, err := filelock.Open(path); !errors.Is(err, filelock.ErrTaken) {
		t.Errorf("a second one has it: %v", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "readable" {
		t.Errorf("others cannot read the file: %q, %v", data, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := filelock.Open(path)
	if err != nil {
		t.Fatalf("it stays locked: %v", err)
	}
	defer func() { _ = again.Close() }()
	if runtime.GOOS == "windows" {
		return // which removes no open file
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	other, err := filelock.Open(path)
	if err != nil {
		t.Fatalf("a removed file locks the new one: %v", err)
	}
	_ = other.Close()
}

func TestAFileThatCannotBeOpenedIsNotTaken(t *testing.T) {
	if _, err := filelock.Open(filepath.Join(t.TempDir(), "missing", "a.lock")); !errors.Is(err, os.ErrNotExist) || errors.Is(err, filelock.ErrTaken) {
		t.Error(err)
	}
}

// TestALinkIsNotFollowed: a file elsewhere is neither locked nor created.
func TestALinkIsNotFollowed(t *testing.T) {
	dir := t.TempDir()
	target, path := filepath.Join(dir, "elsewhere"), filepath.Join(dir, "a.lock")
	if err := os.Symlink(target, path); err != nil {
		t.Skip(err)
	}
	if f, err := filelock.Open(path); err == nil {
		_ = f.Close()
		t.Error("the lock of a link is taken")
	}
	if _, err := os.Lstat(target); err == nil {
		t.Error("its target was created")
	}
}

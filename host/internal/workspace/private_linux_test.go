package workspace_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOnlyTheUserReadsTheStore: every directory of it but the files of a view is mode 0700, and every file 0600 or less.
func TestOnlyTheUserReadsTheStore(t *testing.T) {
	was := unix.Umask(0) // as permissive as it can be
	defer unix.Umask(was)
	top := t.TempDir()
	dir := filepath.Join(top, "shop")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "file"), []byte("one"), 0o644)); err != nil { //nolint:gosec // a project's
		t.Fatal(err)
	}
	w, end := open(t, top, dir)
	defer end()
	s, _, err := w.Take(t.Context(), "first", "", false)
	if err != nil {
		t.Fatal(err)
	}
	view, err := w.View(t.Context(), s.Number)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	err = filepath.WalkDir(filepath.Join(top, "home"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == view {
			return fs.SkipDir // nobody else reaches it, as it is in one of the others
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		seen++
		if info.Mode().Perm()&0o077 != 0 && path != filepath.Join(top, "home") { // which a caller makes
			t.Errorf("%s has the mode %v", strings.TrimPrefix(path, top), info.Mode())
		}
		return nil
	})
	if err != nil || seen < 6 {
		t.Errorf("%d files, %v", seen, err)
	}
}

// TestNothingIsWrittenIntoTheWorkspace by snapshots, and nothing in its repository: a development server that watches both would load its
// page again.
func TestNothingIsWrittenIntoTheWorkspace(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "shop")
	inner := filepath.Join(dir, "src")
	repository := filepath.Join(dir, ".git")
	if err := errors.Join(os.MkdirAll(inner, 0o755), os.Mkdir(repository, 0o755), os.WriteFile(filepath.Join(inner, "file"), []byte("one"), 0o600), os.WriteFile(filepath.Join(repository, "index"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	in, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = unix.Close(in) }()
	for _, at := range []string{dir, inner, repository} {
		if _, err := unix.InotifyAddWatch(in, at, unix.IN_ALL_EVENTS&^(unix.IN_OPEN|unix.IN_ACCESS|unix.IN_CLOSE_NOWRITE)); err != nil {
			t.Skip(err)
		}
	}
	written := func() bool {
		n, err := unix.Read(in, make([]byte, 4096))
		if err != nil && !errors.Is(err, unix.EAGAIN) {
			t.Fatal(err)
		}
		return n > 0
	}
	w, end := open(t, top, dir)
	defer end()
	for _, content := range []string{"one", "two", "three"} {
		if err := os.WriteFile(filepath.Join(inner, "file"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if !written() {
			t.Fatal("an edit is not reported")
		}
		s, _, err := w.Take(t.Context(), content, "", content == "three")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.View(t.Context(), s.Number); err != nil {
			t.Fatal(err)
		}
		if written() {
			t.Errorf("something was written by the snapshot of %q", content)
		}
	}
}

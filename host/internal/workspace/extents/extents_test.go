package extents_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/extents"
	"tidemark.dev/tidemark/host/internal/workspace/subvolume"
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

// TestWhatAKilledProbeLeftIsRemoved, by the next one, but not what another process is using.
func TestWhatAKilledProbeLeftIsRemoved(t *testing.T) {
	to := t.TempDir()
	old, young := filepath.Join(to, ".tidemark-probe-1"), filepath.Join(to, ".tidemark-probe-2")
	for _, dir := range []string{old, young} {
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "1"), []byte("content"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	_ = extents.Shares(t.TempDir(), to)
	left, err := os.ReadDir(to)
	if err != nil || len(left) != 1 || left[0].Name() != filepath.Base(young) {
		t.Fatal(left, err)
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

// TestSubvolumesShare, of which one has no file yet: the system has another number for each.
func TestSubvolumesShare(t *testing.T) {
	top := disktest.Btrfs(t, disktest.Options{})
	from := filepath.Join(top, "from")
	if err := subvolume.Create(from); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(extents.Shares(from, top), extents.Shares(top, from)); err != nil {
		t.Error(err)
	}
	if err := extents.Shares(from, disktest.Btrfs(t, disktest.Options{})); !errors.Is(err, extents.ErrElsewhere) {
		t.Error(err)
	}
}

// TestACopyOfTheSystemShares between subvolumes, and is none on another filesystem.
func TestACopyOfTheSystemShares(t *testing.T) {
	top, other := disktest.Btrfs(t, disktest.Options{}), disktest.Small(t, "1m")
	from, to := filepath.Join(top, "from"), filepath.Join(top, "to")
	content := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	if err := errors.Join(subvolume.Create(from), subvolume.Create(to), os.WriteFile(filepath.Join(from, "file"), content, 0o600)); err != nil {
		t.Fatal(err)
	}
	for dir, shares := range map[string]bool{to: true, other: false} {
		f, err := os.Open(filepath.Join(from, "file"))
		if err != nil {
			t.Fatal(err)
		}
		in, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		copied, err := extents.Copy(in, "copy", f)
		if shares != (err == nil) || !shares && !errors.Is(err, extents.ErrElsewhere) {
			t.Errorf("%s: %v", dir, err)
		}
		if err == nil {
			err = copied.Close()
		} else {
			err = nil
			empty(t, dir)
		}
		if err := errors.Join(err, f.Close(), in.Close()); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(filepath.Join(to, "copy"))
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if shared := disktest.Shared(t, filepath.Join(from, "file"), filepath.Join(to, "copy")); shared < int64(len(content)) {
		t.Errorf("%d bytes are shared", shared)
	}
}

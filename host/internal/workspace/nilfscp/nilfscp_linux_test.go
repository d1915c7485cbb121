package nilfscp_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/mounts"
	"tidemark.dev/tidemark/host/internal/workspace/nilfscp"
	"tidemark.dev/tidemark/host/testing/disktest"
)

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// promote makes a directory with a file, and a snapshot of it.
func promote(t *testing.T) (dir string, of nilfscp.Filesystem, c nilfscp.Checkpoint) {
	t.Helper()
	dir = disktest.NILFS2(t, disktest.Options{})
	must(t, os.MkdirAll(filepath.Join(dir, "a", "hidden"), 0o755), os.WriteFile(filepath.Join(dir, "a", "file"), []byte("one"), 0o600),
		os.WriteFile(filepath.Join(dir, "a", "hidden", "file"), nil, 0o600), os.Symlink("a", filepath.Join(dir, "link")))
	of, within, ok := nilfscp.Of(filepath.Join(dir, "a"))
	if !ok || within != "/a" {
		t.Fatal(of, within, ok)
	}
	number, err := of.Sync()
	must(t, err)
	c, promoted, err := of.Get(number)
	if err != nil || promoted || c.Number != number {
		t.Fatal(c, promoted, err)
	}
	must(t, of.Promote(number))
	if now, promoted, err := of.Get(number); err != nil || !promoted || now != c {
		t.Fatal(now, promoted, err)
	}
	return dir, of, c
}

func TestACheckpointIsPromotedOnce(t *testing.T) {
	dir, of, c := promote(t)
	if read, err := nilfscp.Parse(c.String() + "\nmore"); err != nil || read != c {
		t.Error(read, err)
	}
	next, err := of.Sync()
	if err != nil || next == c.Number {
		t.Errorf("the next checkpoint is %d, %v", next, err)
	}
	if at, ok := nilfscp.At(of.Device); !ok || at.At != dir {
		t.Error(at, ok)
	}
	must(t, of.Demote(c.Number))
	if _, promoted, err := of.Get(c.Number); err != nil || promoted {
		t.Error(promoted, err)
	}
	must(t, of.Demote(c.Number), of.Demote(1<<40))
	if _, _, err := of.Get(1 << 40); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := of.Promote(1 << 40); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestAMountShowsOneDirectory, is moved, and keeps the snapshot as one.
func TestAMountShowsOneDirectory(t *testing.T) {
	dir, of, c := promote(t)
	top := t.TempDir()
	whole, one, two := filepath.Join(top, "whole"), filepath.Join(top, "one"), filepath.Join(top, "two")
	must(t, of.Mount(c.Number, whole), nilfscp.Show(whole, "/a", one, []string{"hidden"}), nilfscp.Release(whole))
	must(t, os.WriteFile(filepath.Join(dir, "a", "file"), []byte("two"), 0o600))
	if nilfscp.Is(whole) || !nilfscp.Is(one) {
		t.Fatal("the wrong one is mounted")
	}
	must(t, nilfscp.Rename(one, two))
	if _, err := os.Lstat(one); err == nil || !nilfscp.Is(two) {
		t.Errorf("the view was not moved: %v", err)
	}
	if content, err := os.ReadFile(filepath.Join(two, "file")); err != nil || string(content) != "one" {
		t.Errorf("%q, %v", content, err)
	}
	if entries, err := os.ReadDir(filepath.Join(two, "hidden")); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
	list, err := mounts.Within(two)
	must(t, err)
	for _, m := range list {
		var st unix.Statfs_t
		if err := unix.Statfs(m.At, &st); err != nil || st.Flags&unix.ST_RDONLY == 0 || st.Flags&unix.ST_NOSUID == 0 || st.Flags&unix.ST_NODEV == 0 {
			t.Errorf("%+v, %v", m, err)
		}
	}
	if err := of.Demote(c.Number); !errors.Is(err, nilfscp.ErrBusy) {
		t.Error(err)
	}
	must(t, nilfscp.Release(top), of.Demote(c.Number))
	if list, err := mounts.Within(top); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// TestNothingIsMountedThroughALink, or on what others can write to.
func TestNothingIsMountedThroughALink(t *testing.T) {
	_, of, c := promote(t)
	top := t.TempDir()
	whole, at := filepath.Join(top, "whole"), filepath.Join(top, "at")
	must(t, of.Mount(c.Number, whole), os.Symlink(t.TempDir(), at))
	defer func() { must(t, nilfscp.Release(top)) }()
	for _, err := range []error{
		of.Mount(c.Number, at), of.Mount(c.Number, whole), of.Mount(1<<40, filepath.Join(top, "unknown")),
		nilfscp.Show(whole, "/link", filepath.Join(top, "linked"), nil), nilfscp.Show(whole, "/a", filepath.Join(top, "shown"), []string{"file"}),
	} {
		if err == nil {
			t.Error("it is mounted")
		}
	}
	if list, err := mounts.Within(top); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if entries, err := os.ReadDir(top); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestOtherMountsStay: nothing is unmounted where something else is mounted in a snapshot, nor what is mounted beside one, nor a
// snapshot as a user mounts it.
func TestOtherMountsStay(t *testing.T) {
	_, of, c := promote(t)
	top := t.TempDir()
	one, other, theirs := filepath.Join(top, "one"), filepath.Join(top, "other"), filepath.Join(top, "theirs")
	must(t, of.Mount(c.Number, one), os.Mkdir(other, 0o755), os.Mkdir(theirs, 0o755), unix.Mount("tmpfs", other, "tmpfs", 0, "size=1m"))
	must(t, unix.Mount(of.Device, theirs, "nilfs2", unix.MS_RDONLY, fmt.Sprintf("cp=%d", c.Number)))
	within := filepath.Join(one, "a")
	must(t, unix.Mount("tmpfs", within, "tmpfs", 0, "size=1m"))
	if err := nilfscp.Release(top); err == nil || !strings.Contains(err.Error(), "something is mounted on "+within) || !nilfscp.Is(one) {
		t.Errorf("%v", err)
	}
	must(t, unix.Unmount(within, 0), nilfscp.Release(top))
	if nilfscp.Is(one) {
		t.Error("it is still mounted")
	}
	for at, kind := range map[string]string{other: "tmpfs", theirs: "nilfs2"} {
		if m, ok := mounts.On(at); !ok || m.Type != kind || nilfscp.Is(at) {
			t.Errorf("%+v was unmounted from %s", m, at)
		}
		must(t, unix.Unmount(at, 0))
	}
}

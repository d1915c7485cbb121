package disktest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// Powered mounts an empty ext4 that writes nothing to its disk for ten minutes unless a program has it do so. Lose mounts what is on the
// disk at an instant: what would be there after a loss of power. It has the marks of a filesystem that was not unmounted.
func Powered(t *testing.T, bytes int64) (dir string, lose func() string) {
	t.Helper()
	outer := Sharing(t, "xfs") // a file on it is cloned in one instant
	if _, err := exec.LookPath("mkfs.ext4"); err != nil {
		t.Skip("mkfs.ext4 is missing; on Debian it is in the package e2fsprogs")
	}
	image, dir := filepath.Join(outer, "image"), filepath.Join(outer, "disk")
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, bytes), os.Mkdir(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil { //nolint:gosec // a test's file
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", image)
	run("mount", "-o", "loop,commit=600", image, dir)
	unmountLater(t, dir)
	lost := 0
	return dir, func() string {
		t.Helper()
		lost++
		at := filepath.Join(outer, "lost-"+strconv.Itoa(lost))
		from, err := os.Open(image)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = from.Close() }()
		to, err := os.Create(at + ".image")
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(unix.IoctlFileClone(int(to.Fd()), int(from.Fd())), to.Close(), os.Mkdir(at, 0o755)) //nolint:gosec // descriptors are small
		if err != nil {
			t.Fatal(err)
		}
		run("mount", "-o", "loop", at+".image", at)
		unmountLater(t, at)
		return at
	}
}

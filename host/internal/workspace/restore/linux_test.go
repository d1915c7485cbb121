//go:build linux

package restore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"tidemark.dev/tidemark/host/internal/workspace/restore"
	"tidemark.dev/tidemark/host/internal/workspace/watch"
	"tidemark.dev/tidemark/host/testing/disktest"
)

func setXattr(path, name, value string) error {
	return unix.Lsetxattr(path, name, []byte(value), 0)
}

// TestAttributesAreRestored: modes, times, extended attributes, holes, special bits, in place where that is enough.
func TestAttributesAreRestored(t *testing.T) {
	w := newWorld(t, t.TempDir())
	defer w.close()
	w.write("dir/a", "a", "dir/b", "b", "set", "s", "unreadable", "u", "closed/in", "x")
	big, err := os.Create(w.path("sparse"))
	w.must(err)
	_, err = big.WriteAt([]byte("end"), 8<<20)
	w.must(err, big.Close())
	old := time.Unix(1_000_000_000, 123456789)
	w.must(os.Chmod(w.path("set"), 0o755|os.ModeSetuid|os.ModeSticky), os.Chmod(w.path("unreadable"), 0), os.Chmod(w.path("dir"), 0o750|os.ModeSetgid),
		setXattr(w.path("dir"), "user.kind", "before"), setXattr(w.path("dir/a"), "user.kind", "file"),
		os.Chtimes(w.path("dir/b"), time.Time{}, old), os.Symlink("nowhere", w.path("link")), os.Chmod(w.path("closed"), 0o500))
	target := w.take()
	want := w.read()
	inode := w.inode("dir/b")
	w.must(os.Chtimes(w.path("dir/b"), time.Time{}, time.Now()), os.Chmod(w.path("dir/b"), 0o600), os.Chmod(w.path("dir"), 0o700),
		setXattr(w.path("dir"), "user.kind", "after"), setXattr(w.path("dir"), "user.more", "x"), setXattr(w.path("dir/a"), "user.kind", "other"),
		os.Remove(w.path("sparse")), os.Remove(w.path("set")), os.Remove(w.path("unreadable")), os.Remove(w.path("link")), os.WriteFile(w.path("link"), nil, 0o600),
		os.RemoveAll(w.path("closed")))
	before := w.read()
	result := w.apply(w.prepare(target))
	w.is(want)
	if w.inode("dir/b") != inode {
		t.Error("a file whose attributes changed was replaced")
	}
	var st syscall.Stat_t
	w.must(syscall.Stat(w.path("sparse"), &st))
	if st.Blocks > 64 {
		t.Errorf("the sparse file has %d blocks", st.Blocks)
	}
	w.apply(w.prepare(result.Safety))
	w.is(before)
	w.apply(w.prepare(target))
	w.is(want)
}

// TestTimesThatNoNanosecondsHold: a file from the year 2300 is one of 2262 in a snapshot, and never one of another century.
func TestTimesThatNoNanosecondsHold(t *testing.T) {
	w := newWorld(t, t.TempDir())
	defer w.close()
	w.write("late", "l", "kept", "k", "early", "e")
	at := func(year int) time.Time { return time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC) }
	set := func(name string, year int) {
		w.must(unix.UtimesNanoAt(unix.AT_FDCWD, w.path(name), []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Sec: at(year).Unix()}}, 0))
	}
	year := func(name string) int {
		info, err := os.Stat(w.path(name))
		w.must(err)
		return info.ModTime().UTC().Year()
	}
	set("late", 2300)
	set("kept", 2300)
	if set("early", 1700); year("early") == 1700 {
		t.Log("the filesystem has times before 1901")
	}
	if year("late") != 2300 {
		t.Skipf("the filesystem has no times after 2262: %d", year("late"))
	}
	early := year("early")
	target := w.take()
	want := w.read()
	w.write("late", "other")
	inode := w.inode("kept")
	w.apply(w.prepare(target))
	w.is(want)
	if year("late") != 2262 || year("kept") != 2300 || w.inode("kept") != inode || year("early") != early {
		t.Errorf("the years are %d, %d and %d", year("late"), year("kept"), year("early"))
	}
	w.write("kept", "other") // an earlier time, and then one that differs only after 2262
	set("kept", 2400)
	w.apply(w.prepare(target))
	w.is(want)
}

// TestWhatCannotBeWrittenLeavesTheWorkspace, with a file that nobody may replace.
func TestWhatCannotBeWrittenLeavesTheWorkspace(t *testing.T) {
	w := newWorld(t, t.TempDir())
	defer w.close()
	target := hazards(w)
	if out, err := exec.CommandContext(t.Context(), "chattr", "+i", w.path("dir/sub/c")).CombinedOutput(); err != nil { //nolint:gosec // a test's file
		t.Skipf("no file can be made immutable here: %v %s", err, out)
	}
	defer func() { _ = exec.Command("chattr", "-i", w.path("dir/sub/c")).Run() }() //nolint:gosec // a test's file
	before := w.read()
	_, err := w.prepare(target).Apply(context.Background())
	if err == nil || !strings.Contains(err.Error(), "dir/sub/c") {
		t.Errorf("%v", err)
	}
	w.is(before)
	w.clean()
}

// mount mounts a small filesystem of its own.
func mount(t *testing.T, at, size string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small filesystem")
	}
	if err := errors.Join(os.MkdirAll(at, 0o755), unix.Mount("tmpfs", at, "tmpfs", 0, "size="+size)); err != nil {
		t.Skipf("cannot mount a small filesystem: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
}

// TestAFullDiskLeavesTheWorkspace as it was.
func TestAFullDiskLeavesTheWorkspace(t *testing.T) {
	top := filepath.Join(t.TempDir(), "small")
	mount(t, top, "16m")
	w := newWorld(t, top)
	defer w.close()
	large := make([]byte, 4<<20)
	for i := range large {
		large[i] = byte(rand.Uint32()) //nolint:gosec // what cannot be compressed
	}
	w.write("a", "one", "large", string(large))
	target := w.take()
	w.must(os.Remove(w.path("large")))
	w.write("a", "two", "full", strings.Repeat("x", 9<<20))
	plan := w.prepare(target)
	before := w.read()
	_, err := plan.Apply(context.Background())
	if !errors.Is(err, unix.ENOSPC) {
		t.Error(err)
	}
	w.is(before)
	w.clean()
	w.must(os.Truncate(w.path("full"), 0))
	w.apply(w.prepare(target))
}

// TestStagingIsWhereFilesCanBeRenamedFrom: beside the workspace if the store is elsewhere or in the workspace, and in it if
// it is a filesystem of its own: in its repository if it has one.
func TestStagingIsWhereFilesCanBeRenamedFrom(t *testing.T) {
	top := t.TempDir()
	w := newWorld(t, top)
	defer w.close()
	w.must(w.p.Close())
	w.store = filepath.Join(w.dir, ".store")
	w.options.Store, w.options.Skip = w.store, func(path string) bool { return path == ".store" }
	w.open()
	w.write("a", "one")
	target := w.take()
	w.write("a", "two")
	plan := w.prepare(target)
	beside := false
	plan.Observe(func(string) {
		found, _ := filepath.Glob(filepath.Join(top, ".tidemark-restore-*"))
		beside = len(found) == 1
	})
	w.apply(plan)
	if !beside {
		t.Error("the staging directory was not beside the workspace")
	}
	w.must(w.p.Close())

	mount(t, w.dir, "1m")
	w.store = filepath.Join(top, "elsewhere")
	w.options.Store = w.store
	w.open()
	for _, within := range []string{w.dir, w.path(".git")} {
		w.must(os.MkdirAll(within, 0o755))
		w.write("a", "one")
		target, want := w.take(), w.read()
		w.write("a", "two", "b", "new")
		w.take()
		plan, is := w.prepare(target), false
		plan.Observe(func(string) {
			found, _ := filepath.Glob(filepath.Join(within, ".tidemark-restore-*"))
			is = len(found) == 1
		})
		if result := w.apply(plan); len(result.Differs) > 0 || !is {
			t.Errorf("%v differ; the staging directory was in %s: %v", result.Differs, within, is)
		}
		w.is(want)
		if left, _ := filepath.Glob(filepath.Join(within, ".tidemark-restore-*")); len(left) > 0 {
			t.Errorf("%v was left", left)
		}
	}
	w.clean()
}

// TestWatchedWorkspace restores with a watcher, which reports what the restore did.
func TestWatchedWorkspace(t *testing.T) {
	top := t.TempDir()
	w := newWorld(t, top)
	defer w.close()
	w.must(w.p.Close())
	watcher, err := watch.New(watch.Options{Dir: w.dir, Cookies: filepath.Join(top, "cookies")})
	w.must(err)
	defer func() { _ = watcher.Close() }()
	w.options.Changes = watcher
	w.open()
	states := map[uint64][]string{}
	for i := range 5 {
		w.write("a", fmt.Sprint(i), fmt.Sprintf("d%d/e/f", i), "x", "same", "same")
		if i > 1 {
			w.must(os.RemoveAll(w.path(fmt.Sprintf("d%d", i-2))))
		}
		states[w.take()] = w.read()
	}
	for range 3 {
		for n, want := range states {
			result := w.apply(w.prepare(n))
			w.is(want)
			if len(result.Differs) > 0 {
				t.Fatal(result.Differs)
			}
		}
	}
}

// TestAFileThatCouldNotBeReadStays: no restore replaces it, or by it, as an empty file.
func TestAFileThatCouldNotBeReadStays(t *testing.T) {
	if disktest.User() == "" {
		disktest.AsUser(t, t.TempDir())
		return
	}
	w := newWorld(t, t.TempDir())
	defer w.close()
	w.write("a", "one", "closed", "precious")
	readable := w.take()
	w.must(os.Chmod(w.path("closed"), 0))
	closed := w.take()
	check := func(what string, target uint64, mode os.FileMode) {
		t.Helper()
		w.must(os.Chmod(w.path("closed"), mode))
		for _, paths := range [][]string{nil, {"closed"}} {
			w.write("a", "two")
			plan := w.prepare(target, paths...)
			if len(plan.Problems) != 1 || plan.Problems[0].Path != "closed" || !strings.Contains(plan.Problems[0].Reason, "permission denied") {
				t.Fatalf("%s, %v: %+v", what, paths, plan.Problems)
			}
			plan.Leave()
			if result := w.apply(plan); len(result.Differs) != 1 || result.Differs[0].Path != "closed" {
				t.Fatalf("%s, %v: %+v", what, paths, result.Differs)
			}
			w.must(os.Chmod(w.path("closed"), 0o600))
			if got, err := os.ReadFile(w.path("closed")); err != nil || string(got) != "precious" {
				t.Fatalf("%s, %v: it is %q, %v", what, paths, got, err)
			}
			w.must(os.Chmod(w.path("closed"), mode))
		}
	}
	check("the moment could not read it", closed, 0o644)
	check("it cannot be read now", readable, 0)
}

// TestADirectoryThatCouldNotBeListedStays, with everything in it, named or not: the target does not know what was there.
func TestADirectoryThatCouldNotBeListedStays(t *testing.T) {
	if disktest.User() == "" {
		disktest.AsUser(t, t.TempDir())
		return
	}
	w := newWorld(t, t.TempDir())
	defer w.close()
	w.write("a", "one", "data/in", "precious", "data/sub/in", "precious")
	w.must(os.Chmod(w.path("data"), 0))
	target := w.take()
	w.must(os.Chmod(w.path("data"), 0o755))
	w.write("a", "two")
	w.take()
	for _, paths := range [][]string{nil, {"data/in"}, {"data"}} {
		plan := w.prepare(target, paths...)
		if len(plan.Problems) != 1 || plan.Problems[0].Path != "data" || !strings.Contains(plan.Problems[0].Reason, "cannot be listed") {
			t.Fatalf("%v: %+v", paths, plan.Problems)
		}
		plan.Leave()
		if plan.Count(restore.Delete) > 0 {
			t.Fatalf("%v: %+v", paths, plan.Steps)
		}
		result := w.apply(plan)
		if len(result.Differs) != 1 || result.Differs[0].Path != "data" {
			t.Fatalf("%v: %+v", paths, result.Differs)
		}
		for path, want := range map[string]string{"data/in": "precious", "data/sub/in": "precious", "a": "one"} {
			if got, err := os.ReadFile(w.path(path)); err != nil || string(got) != want {
				t.Fatalf("%v: %s is %q, %v", paths, path, got, err)
			}
		}
	}
}

//go:build linux

package watch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/watch"
)

// fill makes directories with a file in each.
func (w *world) fill(name string, n int) {
	w.t.Helper()
	for i := range n {
		dir := w.path(name, strconv.Itoa(i))
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o600)); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) write(content string, parts ...string) {
	w.t.Helper()
	if err := os.WriteFile(w.path(parts...), []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// limited fails unless the reason why everything is compared contains a text, or is none.
func (w *world) limited(want string) {
	w.t.Helper()
	if got := w.watcher.Limited(); want == "" && got != "" || !strings.Contains(got, want) {
		w.t.Fatalf("Limited is %q instead of %q", got, want)
	}
}

// whole takes what changed, gives it back, and returns whether it is everything.
func (w *world) whole() bool {
	w.t.Helper()
	dirty, whole, err := w.watcher.Take(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	w.watcher.Return(dirty, whole)
	return whole
}

// narrow fails unless changes are seen one by one again.
func (w *world) narrow() {
	w.t.Helper()
	w.same()
	w.limited("")
	w.write("narrow", "narrow")
	if w.whole() {
		w.t.Fatal("everything is compared for one change")
	}
	w.same()
}

// inNamespaces runs the test again as the root of a user namespace, and reports whether this is that run.
func inNamespaces(t *testing.T, flags uintptr) bool {
	const variable = "TIDEMARK_TEST_NAMESPACES"
	if os.Getenv(variable) != "" {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v") //nolint:gosec // this test
	cmd.Env = append(os.Environ(), variable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | flags,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	out, err := cmd.CombinedOutput()
	switch exit := (*exec.ExitError)(nil); {
	case err == nil && strings.Contains(string(out), "--- SKIP"):
		t.Skipf("%s", out)
	case err == nil:
	case errors.As(err, &exit):
		t.Fatalf("%s", out)
	default:
		t.Skipf("the system allows no user namespaces: %v", err)
	}
	return false
}

// watches limits the watches of this user namespace.
func watches(t *testing.T, n int) {
	if err := os.WriteFile("/proc/sys/user/max_inotify_watches", []byte(strconv.Itoa(n)), 0); err != nil {
		t.Skip(err)
	}
}

func TestALimitOfWatchesIsReportedAndEnds(t *testing.T) {
	if !inNamespaces(t, 0) {
		return
	}
	watches(t, 100)
	w := newWorld(t)
	w.fill("few", 50)
	w.same()
	w.limited("")
	// The watches are exhausted midway.
	w.fill("many", 200)
	w.same()
	w.limited("max_user_watches")
	w.write("unwatched", "many", "199", "f")
	if !w.whole() {
		t.Fatal("not everything is compared")
	}
	w.same()
	// A watcher that starts beyond the limit.
	other := &world{t: t, dir: w.dir}
	other.open(t.TempDir())
	for range 2 {
		other.same()
		other.limited("max_user_watches")
		other.write("other", "few", "1", "f")
	}
	// The limit is raised.
	watches(t, 10_000)
	w.write("again", "many", "199", "f")
	w.narrow()
	w.write("watched", "many", "199", "f")
	if w.whole() {
		t.Fatal("everything is compared although the limit was raised")
	}
	w.same()
	other.narrow()
}

// TestAnOverflowIsReported: the queue of events is full, and directories come, move and leave unseen.
func TestAnOverflowIsReported(t *testing.T) {
	data, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Skip(err)
	}
	queue, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || queue > 100_000 {
		t.Skipf("the queue has room for %d events", queue)
	}
	w := newWorld(t)
	w.fill("dirs", 20)
	w.same()
	release := watch.Stall(w.watcher)
	for i := range queue + 20_000 { // the watcher has a buffer beside the queue
		if err := os.Chmod(w.path("dirs", strconv.Itoa(i%2), "f"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.fill("unseen", 20)
	err = errors.Join(os.Rename(w.path("dirs", "3"), w.path("dirs", "moved")), os.RemoveAll(w.path("dirs", "4")), os.Rename(w.path("dirs", "5"), w.path("dirs", "3")))
	waiting := make(chan bool)
	go func() { waiting <- w.whole() }() // its own mark may be lost too
	release()
	if err != nil {
		t.Fatal(err)
	}
	if !<-waiting {
		t.Fatal("an overflow is not reported")
	}
	w.same()
	w.write("y", "unseen", "7", "f")
	w.write("y", "dirs", "moved", "f")
	w.write("y", "dirs", "3", "f")
	w.narrow()
}

// TestAQueueOfSixteen: it overflows again and again, while changes are made and while snapshots are taken.
func TestAQueueOfSixteen(t *testing.T) {
	const limit = "/proc/sys/fs/inotify/max_queued_events"
	if os.Getenv("TIDEMARK_TEST_SYSCTL") == "" {
		t.Skip("for a moment it changes a setting of the whole system, which TIDEMARK_TEST_SYSCTL=1 allows")
	}
	before, err := os.ReadFile(limit)
	if err == nil {
		err = os.WriteFile(limit, []byte("16"), 0)
	}
	if err != nil {
		t.Skip(err)
	}
	w := newWorld(t)
	if err := os.WriteFile(limit, before, 0); err != nil {
		t.Error(err)
	}
	w.same()
	overflows := 0
	for i := range 20 {
		w.change(10, 4)
		w.fill(fmt.Sprint("many", i), 100)
		if w.whole() {
			overflows++
		}
		w.same()
	}
	if overflows == 0 { // how many there are depends on how fast the queue is read
		t.Error("no overflow in 20 rounds")
	}
	w.narrow()
}

// TestAWorkspaceThatMovesIsReported: it is moved, deleted, replaced, and its parent is.
func TestAWorkspaceThatMovesIsReported(t *testing.T) {
	for name, leave := range map[string]func(dir string) error{
		"moved":        func(dir string) error { return os.Rename(dir, dir+"-moved") },
		"deleted":      os.RemoveAll,
		"parent moved": func(dir string) error { return os.Rename(filepath.Dir(dir), filepath.Dir(dir)+"-moved") },
		"a file":       func(dir string) error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.fill("dirs", 5)
			w.same()
			if err := leave(w.dir); err != nil {
				t.Fatal(err)
			}
			if !w.whole() {
				t.Fatal("not everything may have changed")
			}
			w.limited(w.dir)
			if s, _, err := w.watched.Take(context.Background(), ""); err == nil {
				t.Fatalf("there is a snapshot of what does not exist: %+v", s)
			}
			_ = os.Remove(w.dir)
			w.fill("dirs", 3) // another one takes its place
			w.fill("more", 3)
			w.narrow()
			w.write("y", "more", "1", "f")
			w.same()
		})
	}
	t.Run("replaced at once", func(t *testing.T) {
		w := newWorld(t)
		w.fill("dirs", 5)
		w.same()
		parent := filepath.Dir(w.dir)
		other := parent + "-other"
		if err := errors.Join(os.MkdirAll(filepath.Join(other, filepath.Base(w.dir), "dirs", "1"), 0o755), unix.Renameat2(unix.AT_FDCWD, parent, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE)); err != nil {
			t.Fatal(err)
		}
		w.narrow()
	})
}

// TestAMountIsReported, of a directory and of the workspace itself.
func TestAMountIsReported(t *testing.T) {
	if !inNamespaces(t, syscall.CLONE_NEWNS) {
		return
	}
	w := newWorld(t)
	w.fill("dirs", 5)
	w.same()
	for _, at := range []string{w.path("dirs", "3"), w.dir} {
		if err := unix.Mount("none", at, "tmpfs", 0, ""); err != nil {
			t.Skip(err)
		}
		w.same()
		if err := os.WriteFile(filepath.Join(at, "mounted"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		w.narrow()
		if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
			t.Fatal(err)
		}
		w.narrow()
	}
}

// TestDirectoriesThatMoveWhileTheyAreWalkedAreSeen, from the first walk on.
func TestDirectoriesThatMoveWhileTheyAreWalkedAreSeen(t *testing.T) {
	w := &world{t: t, dir: filepath.Join(t.TempDir(), "workspace")}
	w.fill("a", 40)
	w.fill("b", 40)
	begun, done := make(chan struct{}), make(chan error)
	go func() {
		var errs []error
		for i := range 2000 {
			from, to := w.path("a", strconv.Itoa(i%40)), w.path("b", fmt.Sprintf("%d-moved", i%40))
			if i/40%2 == 1 {
				from, to = to, from
			}
			errs = append(errs, os.Rename(from, to))
			if i == 100 {
				close(begun)
			}
		}
		done <- errors.Join(errs...)
	}()
	<-begun
	w.open(filepath.Join(filepath.Dir(w.dir), "home"))
	for running := true; running; {
		if _, _, err := w.watched.Take(context.Background(), ""); err != nil {
			t.Error(err)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			running = false
		default:
		}
	}
	w.same()
	w.write("y", "a", "7", "f")
	w.narrow()
}

// TestAClockThatIsSetBackHidesNothing: a file is written again with its size and its times.
func TestAClockThatIsSetBackHidesNothing(t *testing.T) {
	w := newWorld(t)
	for i := range 20 {
		w.set(-time.Duration(i) * time.Hour)
		w.write(fmt.Sprintf("content %2d", i), "f")
		if err := os.Chtimes(w.path("f"), time.Time{}, time.Unix(1_000_000_000, 0)); err != nil {
			t.Fatal(err)
		}
		w.same()
		list := w.watched.List()
		var b strings.Builder
		now, err := w.watched.Tree(list[len(list)-1].Number)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.watched.Content(&b, &now.Lookup("f").Entry); err != nil || b.String() != fmt.Sprintf("content %2d", i) {
			t.Fatal(b.String(), err)
		}
	}
	w.narrow()
}

// TestMarksThatWereRemovedAreMadeAgain.
func TestMarksThatWereRemovedAreMadeAgain(t *testing.T) {
	w := newWorld(t)
	w.same()
	if err := os.RemoveAll(filepath.Join(w.home, "cookies")); err != nil {
		t.Fatal(err)
	}
	w.narrow()
}

// TestMarksThatAKilledProcessLeftAreNotTakenForNewOnes: whatever their names, the wait for a mark ends.
func TestMarksThatAKilledProcessLeftAreNotTakenForNewOnes(t *testing.T) {
	w := newWorld(t)
	left := t.TempDir()
	cookies := filepath.Join(left, "cookies")
	if err := os.Mkdir(cookies, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if err := os.WriteFile(filepath.Join(cookies, strconv.Itoa(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	watchers := make([]watch.Watcher, 2) // the second one opens while the first one is still there
	for i := range watchers {
		var err error
		if watchers[i], err = watch.New(watch.Options{Dir: w.dir, Cookies: cookies}); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = watchers[i].Close() }()
	}
	for range 20 {
		for _, watcher := range watchers {
			if _, _, err := watcher.Take(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	if marks, err := os.ReadDir(cookies); err != nil || len(marks) > 0 {
		t.Errorf("%v is left, %v", marks, err)
	}
}

// TestAPathThatWasTooLongIsForgotten: when it is gone, changes are seen one by one again.
func TestAPathThatWasTooLongIsForgotten(t *testing.T) {
	w := newWorld(t)
	w.same()
	name := strings.Repeat("n", 250)
	at, err := unix.Open(w.dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	for range 20 {
		if err != nil {
			t.Fatal(err)
		}
		if err = unix.Mkdirat(at, name, 0o755); err == nil {
			var next int
			next, err = unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY, 0)
			_ = unix.Close(at)
			at = next
		}
	}
	_ = unix.Close(at)
	if !w.whole() {
		t.Fatal("a path that cannot be watched is no reason to compare everything")
	}
	w.limited("too long")
	if err := os.RemoveAll(w.path(name)); err != nil {
		t.Fatal(err)
	}
	w.whole()
	w.narrow()
}

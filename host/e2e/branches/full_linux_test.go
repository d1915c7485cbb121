package branches

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tidemark.dev/tidemark/host/testing/disktest"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// fill fills the disk of a directory but for some bytes, and returns what makes room again.
func fill(t *testing.T, dir string, left int64) (free func()) {
	t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 4096)
	for size := int64(s.Bavail)*s.Bsize - left; size > 0; size -= int64(len(zeros)) {
		if _, err := f.Write(zeros); err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
			break
		}
	}
	_ = f.Close() // the disk is full
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// works reports whether a process has a working directory, which it has until it has ended.
func works(pid int) bool {
	_, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	return err == nil
}

// awaitEnd waits at the end of a test until a daemon has ended: it has files on the disk until all of its threads have. 0 is none.
func awaitEnd(t *testing.T, daemon *int) {
	t.Cleanup(func() {
		if err := testbed.Eventually(context.WithoutCancel(t.Context()), func() (bool, error) {
			threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", *daemon))
			return err != nil || *daemon == 0 || len(threads) == 1 && !works(*daemon), nil
		}); err != nil {
			t.Error(err)
		}
	})
}

// newSmallWorld returns a world of which the branches are on a small disk. Of the daemon that runs last, the test sets the process.
func newSmallWorld(t *testing.T) (w *world, small string, daemon *int) {
	small, daemon = disktest.Small(t, "48m"), new(int)
	project := t.TempDir() // on another disk
	awaitEnd(t, daemon)
	t.Setenv("TMPDIR", small)
	w = newWorldIn(t, project, "")
	*daemon = w.pid()
	w.edited("toolu_1")
	return w, small, daemon
}

// On a full disk, a branch is compared and removed, or an error says what is missing, and nothing is lost or removed by half.
func TestBranchesOnAFullDisk(t *testing.T) {
	w, small, _ := newSmallWorld(t)
	random := rand.NewChaCha8([32]byte{1})
	for i, left := range []int64{0, 4 << 10, 32 << 10, 128 << 10, 512 << 10, 1 << 20, 2 << 20} {
		name := fmt.Sprintf("way-%d", i)
		b := w.branch(name, "")
		if !strings.HasPrefix(b.Workspace, small) {
			t.Skipf("the branch is in %s, which is not full", b.Workspace)
		}
		text := make([]byte, 1<<20) // it cannot be compressed
		_, _ = random.Read(text)
		put(t, filepath.Join(b.Workspace, "own.bin"), string(text))
		put(t, filepath.Join(b.Workspace, "cart.js"), name+"\n")
		before := fmt.Sprint(treetest.Read(t, b.Workspace))
		free := fill(t, small, left)
		compared := w.try("branch", "compare", name)
		if compared.Code != 0 && !strings.Contains(compared.Err, "no space left on device") {
			t.Errorf("%d bytes left: compare: %+v", left, compared)
		}
		removed := w.try("branch", "rm", name)
		_, err := os.Stat(b.Workspace)
		switch {
		case removed.Code != 0 && !strings.Contains(removed.Err, "no space left on device"):
			t.Errorf("%d bytes left: rm: %+v", left, removed)
		case removed.Code != 0:
			if after := fmt.Sprint(treetest.Read(t, b.Workspace)); after != before {
				t.Errorf("%d bytes left: the branch is %s, and was %s", left, after, before)
			}
		case err == nil:
			t.Errorf("%d bytes left: a branch that was removed is there", left)
		}
		free()
		if removed.Code == 0 {
			w.run("timeline", "undo", "--yes")
		}
		if text := w.run("branch", "compare", name); !strings.Contains(text, "2 +1") {
			t.Errorf("%d bytes left: then compare shows %s", left, text)
		}
		if after := fmt.Sprint(treetest.Read(t, b.Workspace)); after != before {
			t.Errorf("%d bytes left: at the end the branch is %s, and was %s", left, after, before)
		}
		w.run("branch", "rm", name)
	}
}

// On a full disk, a branch of which all files are in a snapshot is removed and comes back. One with other files says how it is removed
// without a snapshot.
func TestABranchIsRemovedFromAFullDisk(t *testing.T) {
	w, small, daemon := newSmallWorld(t)
	b := w.branch("kept", "")
	other := w.branch("other", "")
	if !strings.HasPrefix(b.Workspace, small) {
		t.Skipf("the branch is in %s, which is not full", b.Workspace)
	}
	put(t, filepath.Join(b.Workspace, "cart.js"), "kept\n")
	if r := w.RunIn(b.Workspace, "timeline", "fs-snapshot", "add"); r.Code != 0 {
		t.Fatal(r.Err)
	}
	text := make([]byte, 4<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(text)
	before := fmt.Sprint(treetest.Read(t, b.Workspace))
	free := fill(t, small, 0)
	w.run("branch", "rm", "kept")
	if _, err := os.Lstat(b.Workspace); err == nil {
		t.Error("the branch is there")
	}
	free()
	w.run("timeline", "undo", "--yes")
	if after := fmt.Sprint(treetest.Read(t, b.Workspace)); after != before {
		t.Errorf("the branch is %s, and was %s", after, before)
	}
	w.run("stop") // no snapshot has what follows
	put(t, filepath.Join(other.Workspace, "own.bin"), string(text))
	defer fill(t, small, 0)()
	if r := w.try("branch", "rm", "other"); r.Code == 0 || !strings.Contains(r.Err, "`tidemark branch rm --no-undo other`") {
		t.Errorf("%+v", r)
	}
	if text := w.run("branch", "rm", "--no-undo", "other"); !strings.Contains(text, "It cannot be brought back.") {
		t.Errorf("the answer is %s", text)
	}
	if _, err := os.Lstat(other.Workspace); err == nil {
		t.Error("the other branch is there")
	}
	*daemon = w.pid()
}

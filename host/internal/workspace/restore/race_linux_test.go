package restore_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/restore"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// TestDirectoriesThatBecomeLinksAgainAndAgain: a program exchanges a directory and a link to another place, as fast as it can,
// while restores run. It may be the workspace itself. Nothing outside of that changes, and afterwards a restore gives the snapshot.
func TestDirectoriesThatBecomeLinksAgainAndAgain(t *testing.T) {
	long := 4 * time.Second
	if testing.Short() {
		long = time.Second
	}
	for _, swapped := range []string{".", "dir", "dir/sub"} {
		w := newWorld(t, t.TempDir())
		w.write("dir/b", "one", "dir/sub/c", "one", "dir/gone", "one", "a", "one")
		first := w.take()
		want := w.read()
		w.write("dir/b", "two", "dir/sub/c", "two", "dir/new", "two", "dir/sub/new", "two")
		w.must(os.Remove(w.path("dir/gone")))
		second := w.take()
		outside, decoy := filepath.Join(w.top, "outside"), filepath.Join(w.top, "decoy")
		w.must(os.MkdirAll(filepath.Join(outside, "sub"), 0o755), os.MkdirAll(filepath.Join(outside, "dir/sub"), 0o755), os.Symlink(outside, decoy))
		names := []string{"a", "b", "c", "new", "gone", "sub/c", "sub/new", "dir/b", "dir/gone", "dir/new", "dir/sub/c", "dir/sub/new"}
		for _, name := range names {
			w.must(os.WriteFile(filepath.Join(outside, name), []byte("outside"), 0o600))
		}
		before := treetest.ReadWhole(t, outside)
		stop := make(chan struct{})
		var swaps int
		var racing sync.WaitGroup
		racing.Go(func() {
			for ; ; swaps++ {
				select {
				case <-stop:
					return
				default:
					_ = unix.Renameat2(unix.AT_FDCWD, w.path(swapped), unix.AT_FDCWD, decoy, unix.RENAME_EXCHANGE)
				}
			}
		})
		done, refused := 0, 0
		for began, target := time.Now(), first; time.Since(began) < long; target = first + second - target {
			if plan, err := restore.Prepare(context.Background(), w.p, target, nil); err != nil {
				refused++
			} else if _, err := plan.Apply(context.Background()); err != nil {
				refused++
			} else {
				done++
			}
		}
		close(stop)
		racing.Wait()
		t.Logf("%s: %d exchanges, %d restores, %d refused", swapped, swaps, done, refused)
		if swaps == 0 || done+refused == 0 {
			t.Error("nothing raced")
		}
		if got := treetest.ReadWhole(t, outside); len(got) != len(before) {
			t.Errorf("outside is\n%q, not\n%q", got, before)
		}
		for _, name := range names {
			if got, err := os.ReadFile(filepath.Join(outside, name)); string(got) != "outside" {
				t.Errorf("outside, %s is %q, %v", name, got, err)
			}
		}
		if info, err := os.Lstat(w.path(swapped)); err == nil && info.Mode()&os.ModeSymlink != 0 {
			w.must(os.Remove(w.path(swapped)))
			if swapped == "." {
				w.must(os.Rename(decoy, w.dir))
			}
		}
		w.apply(w.prepare(first))
		w.is(want)
		w.close()
	}
}

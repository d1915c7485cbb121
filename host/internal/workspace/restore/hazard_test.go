package restore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/restore"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// hazards is a workspace with a target, and changes since.
func hazards(w *world) (target uint64) {
	w.write("a", "one", "dir/b", "one", "dir/sub/c", "one", "gone/x", "x", "time", "t")
	w.must(symlink("a", w.path("link")))
	target = w.take()
	w.write("a", "two", "dir/b", "two", "dir/sub/c", "two", "new/y", "y")
	w.must(os.RemoveAll(w.path("gone")), os.Remove(w.path("link")), symlink("dir/b", w.path("link")), os.Chtimes(w.path("time"), time.Time{}, time.Unix(1e9, 0)))
	return target
}

// changed fails if an error does not name a path.
func (w *world) changed(err error, path string) {
	w.t.Helper()
	var changed *restore.ChangedError
	if !errors.As(err, &changed) {
		w.t.Fatalf("%v", err)
	}
	if changed.Path != path {
		w.t.Fatalf("the error names %q, not %q: %v", changed.Path, path, err)
	}
}

// edits are what a user may do to a workspace while it is being restored.
var edits = []struct {
	path string
	do   func(w *world)
}{
	{"a", func(w *world) { w.write("a", "edited") }},
	{"a", func(w *world) { w.must(os.Remove(w.path("a"))) }},
	{"a", func(w *world) { w.must(os.Remove(w.path("a")), os.Mkdir(w.path("a"), 0o700)) }},
	{"a", func(w *world) { w.must(os.Chmod(w.path("a"), 0o600)) }},
	{"a", func(w *world) { // of the same size, and with its time put back
		info, err := os.Stat(w.path("a"))
		w.must(err)
		w.write("a", "owt")
		w.must(os.Chtimes(w.path("a"), time.Time{}, info.ModTime()))
	}},
	{"a", func(w *world) { // saved by rename
		w.write("a~", "saved")
		w.must(os.Rename(w.path("a~"), w.path("a")))
	}},
	{"gone", func(w *world) { w.write("gone/x", "created") }},
	{"gone", func(w *world) { w.write("gone", "created") }},
	{"new/more", func(w *world) { w.write("new/more", "created") }},
	{"new/y", func(w *world) { w.write("new/y", "edited") }},
	{"link", func(w *world) { w.must(os.Remove(w.path("link")), symlink("dir/c", w.path("link"))) }},
	{"time", func(w *world) { w.write("time", "T") }},
	{"dir/sub/c", func(w *world) { w.must(os.RemoveAll(w.path("dir/sub"))) }},
}

// TestAnEditAfterThePlanStopsTheRestore, and nothing of it is lost.
func TestAnEditAfterThePlanStopsTheRestore(t *testing.T) {
	for i, edit := range edits {
		t.Run(fmt.Sprint(i, " ", edit.path), func(t *testing.T) {
			w := newWorld(t, t.TempDir())
			defer w.close()
			plan := w.prepare(hazards(w))
			edit.do(w)
			before := w.read()
			_, err := plan.Apply(context.Background())
			w.changed(err, edit.path)
			w.is(before)
			w.clean()
		})
	}
}

// TestAnEditDuringTheRestoreIsNotLost, whenever it is made: the restore stops and everything else is as before, or the
// edit came after its path was restored.
func TestAnEditDuringTheRestoreIsNotLost(t *testing.T) {
	stopped, after := 0, 0
	step := 1
	if runtime.GOOS == "windows" {
		step = 4 // Wine is slow
	}
	for i, edit := range edits {
		for at := i % step; ; at += step {
			w := newWorld(t, t.TempDir())
			target := hazards(w)
			n, edited := 0, false
			var now []string // what the user made
			plan := w.prepare(target)
			plan.Observe(func(string) {
				if n == at {
					edited = true
					func() {
						defer func() { _ = recover() }() // the restore made the edit impossible
						attempt(w, edit.do)
					}()
					now = contents(w)
				}
				n++
			})
			result, err := plan.Apply(context.Background())
			if err != nil {
				stopped++
			} else {
				after++
			}
			got := contents(w)
			for _, line := range now {
				if !strings.Contains(line, "edited") && !strings.Contains(line, "saved") && !strings.Contains(line, "created") && !strings.HasSuffix(line, "owt") {
					continue
				}
				if slices.Contains(got, line) {
					continue
				}
				if err == nil && result.Kept != "" {
					continue
				}
				t.Fatalf("edit %d (%s) at %d: %q is lost; the workspace is %q, %v, %+v", i, edit.path, at, line, got, err, result)
			}
			w.left()
			w.close()
			if !edited {
				break
			}
		}
	}
	t.Logf("%d restores stopped, %d ended", stopped, after)
}

// attempt makes an edit that may be impossible.
func attempt(w *world, do func(*world)) {
	try := *w
	try.t = giveUp{}
	do(&try)
}

// giveUp ends an edit.
type giveUp struct{}

func (giveUp) Helper()               {}
func (giveUp) Fatal(...any)          { panic("impossible") }
func (giveUp) Fatalf(string, ...any) { panic("impossible") }

func isLink(path string) bool {
	_, err := os.Readlink(path)
	return err == nil
}

// contents are the files of a workspace with what is in them.
func contents(w *world) []string {
	var all []string
	_ = filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			b, _ := os.ReadFile(path)
			rel, _ := filepath.Rel(w.dir, path)
			all = append(all, filepath.ToSlash(rel)+" "+string(b))
		}
		return nil
	})
	return all
}

// TestAFileThatNeverStopsChangingIsNotReplaced: its newest state stays, and the error names it.
func TestAFileThatNeverStopsChangingIsNotReplaced(t *testing.T) {
	w := newWorld(t, t.TempDir())
	defer w.close()
	target := hazards(w)
	f, err := os.OpenFile(w.path("a"), os.O_WRONLY|os.O_APPEND, 0)
	w.must(err)
	var writer sync.WaitGroup
	end := make(chan struct{})
	var written atomic.Int64
	written.Store(3)
	writer.Go(func() {
		for {
			select {
			case <-end:
				return
			default:
			}
			n, _ := f.WriteString("x")
			written.Add(int64(n))
		}
	})
	refused := 0
	for range 20 {
		plan, err := restore.Prepare(context.Background(), w.p, target, nil)
		w.must(err)
		for was := written.Load(); written.Load() < was+2; { // the first one may have been written before the plan
			runtime.Gosched()
		}
		_, err = plan.Apply(context.Background())
		var blocked *restore.BlockedError
		var changed *restore.ChangedError
		switch {
		case errors.As(err, &blocked) && blocked.Problems[0].Path == "a", errors.As(err, &changed) && changed.Path == "a":
			refused++
		default:
			t.Fatal(err)
		}
		w.left()
	}
	// The rest can be restored.
	plan := w.prepare(target)
	left := len(plan.Problems) > 0
	plan.Leave()
	if left {
		result, err := plan.Apply(context.Background())
		w.must(err)
		if len(result.Differs) == 0 || result.Differs[0].Path != "a" {
			t.Errorf("%+v", result.Differs)
		}
	}
	close(end)
	writer.Wait()
	info, err := os.Stat(w.path("a"))
	w.must(err, f.Close())
	if info.Size() != written.Load() {
		t.Errorf("the file has %d bytes of %d", info.Size(), written.Load())
	}
	t.Logf("refused %d times, left out: %v", refused, left)
}

// TestAWriterWithAnOpenFileStopsTheRestore: it wrote to the file after it had been moved away.
func TestAWriterWithAnOpenFileStopsTheRestore(t *testing.T) {
	w := newWorld(t, t.TempDir())
	defer w.close()
	target := hazards(w)
	f, err := os.OpenFile(w.path("a"), os.O_WRONLY|os.O_APPEND, 0)
	w.must(err)
	defer func() { _ = f.Close() }()
	plan := w.prepare(target)
	written := false
	plan.Observe(func(path string) {
		if path == "dir/b" && !written {
			written = true
			_, err := f.WriteString("late")
			w.must(err)
		}
	})
	_, err = plan.Apply(context.Background())
	w.changed(err, "a")
	if got, err := os.ReadFile(w.path("a")); string(got) != "twolate" {
		t.Errorf("%q, %v", got, err)
	}
	w.clean()
}

// TestALinkInPlaceOfADirectoryIsNotFollowed, made after the plan or during the restore.
func TestALinkInPlaceOfADirectoryIsNotFollowed(t *testing.T) {
	if at := filepath.Join(t.TempDir(), "link"); symlink("a", at) != nil || !isLink(at) {
		t.Skip("no symbolic links can be made here")
	}
	for _, during := range []bool{false, true} {
		for _, move := range []string{"dir", "dir/sub", "new"} {
			w := newWorld(t, t.TempDir())
			target := hazards(w)
			outside := filepath.Join(w.top, "outside")
			w.must(os.MkdirAll(filepath.Join(outside, "sub"), 0o755))
			for _, name := range []string{"b", "sub/c", "c", "y"} {
				w.must(os.WriteFile(filepath.Join(outside, name), []byte("two"), 0o644))
			}
			plan := w.prepare(target)
			done := false
			replace := func() {
				if !done {
					done = true
					w.must(os.Rename(w.path(move), filepath.Join(w.top, "moved")), symlink(outside, w.path(move)))
				}
			}
			if during {
				plan.Observe(func(string) { replace() })
			} else {
				replace()
			}
			if _, err := plan.Apply(context.Background()); err == nil {
				t.Errorf("%s was restored", move)
			}
			for _, name := range []string{"b", "sub/c", "c", "y"} {
				if got, err := os.ReadFile(filepath.Join(outside, name)); string(got) != "two" {
					t.Errorf("outside, %s is %q, %v", name, got, err)
				}
			}
			if to, err := os.Readlink(w.path(move)); to != outside {
				t.Errorf("%s is %q, %v", move, to, err)
			}
			w.left()
			w.close()
		}
	}
}

// TestContentsThatWereNotRecordedAreNotReplaced.
func TestContentsThatWereNotRecordedAreNotReplaced(t *testing.T) {
	w := newWorld(t, t.TempDir())
	defer w.close()
	w.write("log", strings.Repeat("x", 4<<20), "a", "one")
	end := make(chan struct{})
	var writer sync.WaitGroup
	f, err := os.OpenFile(w.path("log"), os.O_WRONLY|os.O_APPEND, 0)
	w.must(err)
	writer.Go(func() {
		for {
			select {
			case <-end:
				return
			default:
				_, _ = f.WriteString("x")
			}
		}
	})
	s, _, err := w.p.Take(context.Background(), "torn")
	close(end)
	writer.Wait()
	w.must(err, f.Close())
	if len(s.Problems) == 0 {
		t.Skip("the file was read whole")
	}
	w.must(os.Remove(w.path("log")))
	w.write("a", "two")
	plan := w.prepare(s.Number)
	if len(plan.Problems) != 1 || plan.Problems[0].Path != "log" {
		t.Fatalf("%+v", plan.Problems)
	}
	plan.Leave()
	result := w.apply(plan)
	if len(result.Differs) != 1 || result.Differs[0].Path != "log" {
		t.Errorf("%+v", result.Differs)
	}
	if got, err := os.ReadFile(w.path("a")); string(got) != "one" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := os.Lstat(w.path("log")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a file without its content was made")
	}
}

// TestACanceledRestoreIsSetBack.
func TestACanceledRestoreIsSetBack(t *testing.T) {
	w := newWorld(t, t.TempDir())
	defer w.close()
	target := hazards(w)
	plan := w.prepare(target)
	before := w.read()
	ctx, cancel := context.WithCancel(context.Background())
	plan.Observe(func(path string) {
		if path == "dir/b" {
			cancel()
		}
	})
	if _, err := plan.Apply(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	w.is(before)
	w.clean()
}

// TestEditsBetweenACrashAndTheRecoveryStay, and are reported.
func TestEditsBetweenACrashAndTheRecoveryStay(t *testing.T) {
	w := newWorld(t, t.TempDir())
	defer w.close()
	target := hazards(w)
	plan := w.prepare(target)
	before := w.read()
	seen := 0
	if runtime.GOOS == "windows" {
		seen-- // without exchange, everything leaves before anything comes
	}
	plan.Observe(func(path string) {
		if path == "link" {
			if seen++; seen > 0 {
				panic("crash")
			}
		}
	})
	func() {
		defer func() { _ = recover() }()
		_, _ = plan.Apply(context.Background())
	}()
	w.write("a", "edited")
	recovery, err := restore.Recover(context.Background(), w.p)
	w.must(err)
	if recovery == nil || len(recovery.Differs) != 1 || recovery.Differs[0].Path != "a" {
		t.Fatalf("%+v", recovery)
	}
	if got, err := os.ReadFile(w.path("a")); string(got) != "edited" {
		t.Errorf("%q, %v", got, err)
	}
	differ := 0
	for i, line := range w.read() {
		if i >= len(before) || before[i] != line {
			differ++
		}
	}
	if differ != 1 {
		t.Errorf("%d paths differ", differ)
	}
	w.clean()
	w.apply(w.prepare(recovery.Safety))
	w.is(before)
}

// TestAChangedRootIsOneChange: the restore stops at the workspace's own attributes, and the next snapshot has nothing else as
// changed.
func TestAChangedRootIsOneChange(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a directory has no mode there")
	}
	w := newWorld(t, t.TempDir())
	defer w.close()
	w.must(w.p.Close())
	w.options.Changes = treetest.Compare(t, w.dir)
	w.open()
	w.write("a", "one", "dir/b", "two")
	w.must(os.Chmod(w.dir, 0o755))
	first := w.take()
	w.must(os.Chmod(w.dir, 0o711))
	w.options.Changes.Return(tree.Dirty{"": nil}, false)
	second := w.prepare(first).Safety
	plan := w.prepare(first)
	w.must(os.Chmod(w.dir, 0o700))
	var changed *restore.ChangedError
	if _, err := plan.Apply(context.Background()); !errors.As(err, &changed) || changed.Path != "" {
		t.Fatal(err)
	}
	changes, err := w.p.Diff(second, w.take())
	w.must(err)
	if len(changes) != 1 || changes[0].Path != "" || changes[0].Before == nil {
		t.Fatalf("%+v", changes)
	}
}

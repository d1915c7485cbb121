//go:build linux

package watch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
	"tidemark.dev/tidemark/host/internal/workspace/watch"
	"tidemark.dev/tidemark/host/testing/seed"
)

// world is a watched workspace, and a second provider of it that compares everything each time.
type world struct {
	t             *testing.T
	dir, home     string
	watcher       watch.Watcher
	watched, full *tracked.Provider
	ahead         atomic.Int64 // how far the clock is ahead
	random        *rand.Rand   // chooses changes
	skip          func(path string)
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, dir: filepath.Join(t.TempDir(), "parent", "workspace"), random: rand.New(rand.NewPCG(1, seed.For(t)))} //nolint:gosec // a test's edits
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w.open(t.TempDir())
	return w
}

// open begins to watch.
func (w *world) open(home string) {
	w.home = home
	var err error
	if w.watcher, err = watch.New(watch.Options{Dir: w.dir, Cookies: filepath.Join(home, "cookies")}); err != nil {
		w.t.Fatal(err)
	}
	w.watched, w.full = w.provider(filepath.Join(home, "one"), w.watcher), w.provider(filepath.Join(home, "two"), nil)
	w.t.Cleanup(func() {
		if err := errors.Join(w.watched.Close(), w.full.Close(), w.watcher.Close()); err != nil {
			w.t.Error(err)
		}
	})
}

// set sets the clock so far ahead.
func (w *world) set(ahead time.Duration) { w.ahead.Store(int64(ahead)) }

func (w *world) provider(store string, changes tracked.Changes) *tracked.Provider {
	clock := func() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }
	skip := func(path string) bool {
		if w.skip != nil {
			w.skip(path) // a scan is there
		}
		return false
	}
	p, err := tracked.Open(tracked.Options{Workspace: w.dir, Store: store, Changes: changes, Skip: skip, Clock: clock})
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// same fails unless the watched snapshot has what a comparison of everything finds.
func (w *world) same() {
	w.t.Helper()
	trees := make([]*tree.Tree, 2)
	for i, p := range []*tracked.Provider{w.watched, w.full} {
		s, _, err := p.Take(context.Background(), "")
		if err != nil {
			w.t.Fatal(err)
		}
		if trees[i], err = p.Tree(s.Number); err != nil {
			w.t.Fatal(err)
		}
	}
	if changes := tree.Compare(trees[0], trees[1]); len(changes) > 0 {
		w.t.Fatalf("%d paths differ from what is there, such as %+v", len(changes), changes[0])
	}
}

func (w *world) path(parts ...string) string {
	return filepath.Join(append([]string{w.dir}, parts...)...)
}

// TestEveryChangeIsReported, of random ones, directories that move and are replaced included.
func TestEveryChangeIsReported(t *testing.T) {
	w := newWorld(t)
	w.change(150, 4)
}

// change makes random changes, and compares after each round of them.
func (w *world) change(rounds, depth int) {
	t := w.t
	t.Helper()
	random := w.random
	name := func() string { return string(rune('a' + random.IntN(6))) }
	some := func() string {
		parts := []string{}
		for range 1 + random.IntN(depth) {
			parts = append(parts, name())
		}
		return w.path(parts...)
	}
	for round := range rounds {
		for range 1 + random.IntN(12) {
			at := some()
			switch random.IntN(9) {
			case 0, 1, 2:
				_ = os.WriteFile(at, []byte(fmt.Sprint(random.Int())), 0o600)
			case 3, 4:
				_ = os.MkdirAll(at, 0o755)
			case 5:
				_ = os.Rename(at, some())
			case 6:
				_ = os.RemoveAll(at)
			case 7:
				_ = os.Chmod(at, os.FileMode(0o600+random.IntN(0o200))|0o700)
			case 8:
				_ = os.Link(at, some())
			}
		}
		w.same()
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	if why := w.watcher.Limited(); why != "" {
		t.Error(why)
	}
}

// TestAllNamesOfAFileAreCompared, though the system reports a change only for the name by which it was made.
func TestAllNamesOfAFileAreCompared(t *testing.T) {
	w := newWorld(t)
	w.same()
	one, two, three := w.path("a", "one"), w.path("b", "two"), w.path("c", "d", "three")
	for _, dir := range []string{one, two, three} {
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(path, content string) func() error {
		return func() error { return os.WriteFile(path, []byte(content), 0o600) }
	}
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"a file", write(one, "1")},
		{"a second name in another directory", func() error { return os.Link(one, two) }},
		{"a change through the second name", write(two, "2")},
		{"a change through the first name", write(one, "3")},
		{"another size through the first name", write(one, "four")},
		{"a mode through the second name", func() error { return os.Chmod(two, 0o400) }},
		{"the mode back through the first name", func() error { return os.Chmod(one, 0o600) }},
		{"a third name", func() error { return os.Link(two, three) }},
		{"a change through the third name", write(three, "5")},
		{"a name that moves", func() error { return os.Rename(one, w.path("c", "one")) }},
		{"a name that is replaced", func() error {
			return errors.Join(write(w.path("new"), "6")(), os.Rename(w.path("new"), two))
		}},
		{"a directory with a name that is removed", func() error { return os.RemoveAll(w.path("c", "d")) }},
		{"a change through the last name", write(w.path("c", "one"), "7")},
		{"the name of a file that was there", func() error { return errors.Join(os.Remove(two), os.Link(w.path("c", "one"), two)) }},
		{"its removal", func() error { return os.Remove(two) }},
	} {
		t.Log(step.what)
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		w.same()
	}
	if why := w.watcher.Limited(); why != "" {
		t.Error(why)
	}
}

// TestADirectoryThatIsFilledBeforeItIsWatchedIsRead: deep directories, created and filled at once, while snapshots are taken.
func TestADirectoryThatIsFilledBeforeItIsWatchedIsRead(t *testing.T) {
	w := newWorld(t)
	done := make(chan error)
	go func() {
		var errs []error
		for i := range 200 {
			dir := w.path(fmt.Sprintf("m%d", i), "a", "b", "c")
			errs = append(errs, os.MkdirAll(dir, 0o755))
			for j := range 10 {
				errs = append(errs, os.WriteFile(filepath.Join(dir, fmt.Sprint(j)), []byte("x"), 0o600))
			}
			if i%3 == 0 {
				errs = append(errs, os.Rename(w.path(fmt.Sprintf("m%d", i)), w.path(fmt.Sprintf("n%d", i))))
			}
		}
		done <- errors.Join(errs...)
	}()
	for running := true; running; {
		if _, _, err := w.watched.Take(context.Background(), ""); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			running = false
		default:
		}
	}
	w.same()
}

// TestAChangeIsInTheNextTake, each time.
func TestAChangeIsInTheNextTake(t *testing.T) {
	w := newWorld(t)
	w.same()
	for i := range 300 {
		name := fmt.Sprint(i % 7)
		if err := os.WriteFile(w.path(name), fmt.Append(nil, i), 0o600); err != nil {
			t.Fatal(err)
		}
		dirty, whole, err := w.watcher.Take(context.Background())
		if err != nil || whole || !dirty[""][name] {
			t.Fatal(i, dirty, whole, err)
		}
	}
}

// TestWhatDidNotChangeIsNotCompared: one file in one directory of fifty.
func TestWhatDidNotChangeIsNotCompared(t *testing.T) {
	w := newWorld(t)
	for i := range 50 {
		if err := errors.Join(os.MkdirAll(w.path(fmt.Sprint(i)), 0o755), os.WriteFile(w.path(fmt.Sprint(i), "f"), []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	w.same()
	if err := os.WriteFile(w.path("7", "f"), []byte("y"), 0o600); err != nil {
		t.Fatal(err)
	}
	dirty, whole, err := w.watcher.Take(context.Background())
	if err != nil || whole || len(dirty) != 1 || !dirty["7"]["f"] {
		t.Fatal(dirty, whole, err)
	}
	w.watcher.Return(dirty, whole)
	w.same()
}

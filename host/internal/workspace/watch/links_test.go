//go:build linux

package watch_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/watch"
)

// reported makes the watcher read what happened so far, and returns whether anything may have changed.
func (w *world) reported() (whole bool) {
	w.t.Helper()
	dirty, whole, err := w.watcher.Take(context.Background())
	w.must(err)
	w.watcher.Return(dirty, whole)
	return whole
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// add appends to a file, by one of its names.
func (w *world) add(name, text string) {
	w.t.Helper()
	f, err := os.OpenFile(w.path(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	w.must(err)
	_, err = f.WriteString(text)
	w.must(err)
	w.must(f.Close())
}

// TestAFileChangesByANameThatIsGoneAgain: a second name is given to a file, the file is changed by it, and the name is
// removed. The first name is in no event.
func TestAFileChangesByANameThatIsGoneAgain(t *testing.T) {
	for name, change := range map[string]func(w *world, step func()){
		"removed": func(w *world, step func()) {
			w.must(os.Link(w.path("a"), w.path("b")))
			step()
			w.add("b", "more")
			step()
			w.must(os.Remove(w.path("b")))
		},
		"only its mode": func(w *world, step func()) {
			w.must(os.Link(w.path("a"), w.path("b")))
			step()
			w.must(os.Chmod(w.path("b"), 0o640))
			step()
			w.must(os.Remove(w.path("b")))
		},
		"renamed first": func(w *world, step func()) {
			w.must(os.Link(w.path("a"), w.path("b")))
			step()
			w.add("b", "more")
			w.must(os.Rename(w.path("b"), w.path("c")))
			step()
			w.must(os.Remove(w.path("c")))
		},
		"moved away": func(w *world, step func()) {
			w.must(os.Link(w.path("a"), w.path("b")))
			step()
			w.add("b", "more")
			step()
			w.must(os.Rename(w.path("b"), w.path("..", "b")))
		},
		"with its directory": func(w *world, step func()) {
			w.must(os.Link(w.path("a"), w.path("d", "b")))
			step()
			w.add("d/b", "more")
			step()
			w.must(os.Rename(w.path("d"), w.path("..", "d")))
		},
		"replaced": func(w *world, step func()) {
			w.must(os.Link(w.path("a"), w.path("b")))
			step()
			w.add("b", "more")
			w.add("c", "another")
			step()
			w.must(os.Rename(w.path("c"), w.path("b")))
		},
		"renamed and replaced": func(w *world, step func()) {
			w.must(os.Link(w.path("a"), w.path("b")))
			w.add("b", "more")
			w.must(os.Rename(w.path("b"), w.path("c")))
			w.add("x", "another")
			step()
			w.must(os.Rename(w.path("x"), w.path("c")))
		},
		"the name of another file now": func(w *world, step func()) {
			w.must(os.Link(w.path("a"), w.path("b")))
			w.add("b", "more")
			w.must(os.Remove(w.path("b")))
			step()
			w.add("b", "another")
		},
	} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/late=%t", name, late), func(t *testing.T) {
				w := newWorld(t)
				w.must(os.Mkdir(w.path("d"), 0o755))
				w.add("a", "one")
				for range 3 {
					w.same()
				}
				if late {
					release := watch.Stall(w.watcher)
					change(w, func() {})
					release()
				} else {
					change(w, func() { w.reported() })
				}
				w.same()
			})
		}
	}
}

// TestAFileChangesByANameInANewDirectory, which was there before the directory was watched.
func TestAFileChangesByANameInANewDirectory(t *testing.T) {
	w := newWorld(t)
	w.add("a", "one")
	for range 3 {
		w.same()
	}
	release := watch.Stall(w.watcher)
	w.must(os.Mkdir(w.path("new"), 0o755))
	w.must(os.Link(w.path("a"), w.path("new/b")))
	release()
	w.reported()
	w.add("new/b", "more")
	w.reported()
	w.must(os.Remove(w.path("new/b")))
	w.same()
}

// TestAFileChangesByANameThatNoSnapshotSaw: the name was there when a snapshot asked what may have changed, and is gone before
// the snapshot looks.
func TestAFileChangesByANameThatNoSnapshotSaw(t *testing.T) {
	w := newWorld(t)
	w.add("a", "one")
	w.same()
	w.must(os.Link(w.path("a"), w.path("b")))
	take := func() bool {
		t.Helper()
		_, whole, err := w.watcher.Take(t.Context())
		w.must(err)
		return whole
	}
	take()
	w.add("b", "more")
	w.must(os.Remove(w.path("b")))
	if !take() {
		t.Error("the change of the first name is not reported")
	}
}

// TestTemporaryFilesAreNoLinks: an editor's and a compiler's temporary files do not make a snapshot compare everything.
func TestTemporaryFilesAreNoLinks(t *testing.T) {
	w := newWorld(t)
	w.add("a", "one")
	for range 3 {
		w.same()
	}
	for range 3 {
		for range 5 {
			w.add("a.tmp", "another")
			w.reported()
			w.must(os.Rename(w.path("a.tmp"), w.path("a")))
			w.add("journal", "x")
			w.reported()
			w.must(os.Remove(w.path("journal")))
			w.must(os.Symlink("host:1", w.path("lock")))
			w.must(os.Remove(w.path("lock")))
		}
		if w.reported() {
			t.Fatal("everything is compared")
		}
		w.same()
	}
}

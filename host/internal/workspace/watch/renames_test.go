//go:build linux

package watch_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// contents returns the IDs of the contents in a snapshot, with a path of each.
func (w *world) contents(s *tracked.Snapshot) map[objects.ID]string {
	w.t.Helper()
	now, err := w.watched.Tree(s.Number)
	w.must(err)
	all := map[objects.ID]string{}
	for path, n := range now.All() {
		if n.Kind == tree.File {
			all[n.Content] = path
		}
	}
	return all
}

// TestManyRenamesHideNoFile: while files move between directories, the first snapshot and those after it have each of them,
// by one of its names, or name what they may lack.
func TestManyRenamesHideNoFile(t *testing.T) {
	const dirs, files = 40, 1200
	w := newWorld(t)
	place := make([]string, files) // of each file
	for i := range place {
		place[i] = w.path(fmt.Sprint("d", i%dirs), fmt.Sprint("f", i))
		w.must(os.MkdirAll(filepath.Dir(place[i]), 0o755))
		w.must(os.WriteFile(place[i], []byte(fmt.Sprint(i)), 0o600))
	}
	w.rename(place, dirs, func() {
		for range 3 {
			s, _, err := w.watched.Take(context.Background(), "")
			w.must(err)
			if has := len(w.contents(s)); has < files && len(s.Problems) == 0 {
				t.Errorf("s%d has %d of %d files, and says nothing", s.Number, has, files)
			}
		}
	})
	s, _, err := w.watched.Take(context.Background(), "")
	w.must(err)
	if has := len(w.contents(s)); has != files || len(s.Problems) > 0 {
		t.Errorf("then s%d has %d of %d files, with the problems %q", s.Number, has, files, s.Problems)
	}
	w.same()
}

// rename renames files from one directory to another until do returns.
func (w *world) rename(place []string, dirs int, do func()) {
	begun, end := make(chan struct{}), make(chan struct{})
	var renaming sync.WaitGroup
	renaming.Go(func() {
		random := rand.New(rand.NewPCG(1, w.random.Uint64())) //nolint:gosec // a test's edits
		for n := 0; ; n++ {
			select {
			case <-end:
				return
			default:
			}
			i := random.IntN(len(place))
			to := w.path(fmt.Sprint("d", random.IntN(dirs)), filepath.Base(place[i]))
			if err := os.Rename(place[i], to); err != nil {
				w.t.Error(err)
				close(begun)
				return
			}
			if place[i] = to; n == 0 {
				close(begun)
			}
		}
	})
	<-begun
	do()
	close(end)
	renaming.Wait()
}

// TestAFileThatIsRenamedWhileItIsLookedAtIsInTheSnapshot, also by a name in a directory of which nothing was reported before.
func TestAFileThatIsRenamedWhileItIsLookedAtIsInTheSnapshot(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"a file that was changed": func(w *world) { w.write("new", "b", "f") },
		"a new file":              func(w *world) { w.write("new", "b", "f"); w.must(os.Rename(w.path("b", "g"), w.path("b", "h"))) },
		"a file that another one took the place of": func(w *world) {
			w.write("new", "b", "f")
			w.write("other", "other")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, path := range []string{"a", "b"} {
				w.must(os.Mkdir(w.path(path), 0o755))
			}
			w.write("old", "b", "g")
			if name != "a new file" {
				w.write("old", "b", "f")
			}
			w.same()
			change(w)
			var once sync.Once
			w.skip = func(path string) {
				if path == "b/f" {
					once.Do(func() {
						w.must(os.Rename(w.path("b", "f"), w.path("a", "f")))
						_ = os.Rename(w.path("other"), w.path("b", "f"))
					})
				}
			}
			s, _, err := w.watched.Take(context.Background(), "")
			w.must(err)
			now, err := w.watched.Tree(s.Number)
			w.must(err)
			for _, path := range []string{"a/f", "b/f"} {
				if n := now.Lookup(path); n != nil && n.Size == int64(len("new")) {
					return
				}
			}
			t.Errorf("s%d has the file by none of its names, with the problems %q", s.Number, s.Problems)
		})
	}
}

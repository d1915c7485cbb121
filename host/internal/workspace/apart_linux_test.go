package workspace_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestBranchesThatAreWrittenAtOnceKeepApart: two of one moment, and the original. Each has what was written in it, and a view of the moment
// what there was.
func TestBranchesThatAreWrittenAtOnceKeepApart(t *testing.T) {
	onBothForms(t, testBranchesThatAreWrittenAtOnceKeepApart)
}

func testBranchesThatAreWrittenAtOnceKeepApart(t *testing.T, alone bool) {
	m := newMountWorldOf(t, mkdirTop(t), alone)
	defer m.end()
	was := map[string]string{}
	for i := range 60 {
		path := fmt.Sprintf("dir%d/file%d", i%6, i)
		was[path] = strings.Repeat(fmt.Sprint("original ", i, "\n"), 1000)
		m.write(filepath.Join(m.dir, path), was[path])
	}
	number := m.take()
	dirs := []string{m.branch(number), m.branch(number), m.dir}
	written := make([]map[string]string, len(dirs))
	var writers sync.WaitGroup
	for i, dir := range dirs {
		writers.Go(func() {
			w := apartWriter{dir: dir, mark: fmt.Sprint("by ", i, ": "), has: maps.Clone(was)}
			for n := range 2000 {
				if err := w.write(n); err != nil {
					t.Errorf("%s: %v", dir, err)
					return
				}
			}
			written[i] = w.has
		})
	}
	writers.Wait()
	for i, dir := range append(dirs, m.view(number)) {
		want := was
		if i < len(dirs) {
			want = written[i]
		}
		if got := contentsOf(t, dir); !maps.Equal(got, want) {
			t.Errorf("%s has %d files, and not what was written in it (%d)", dir, len(got), len(want))
		}
	}
}

// apartWriter writes in a directory, and knows what it has then.
type apartWriter struct {
	dir, mark string
	has       map[string]string
}

// write does one thing with one of the paths that all writers use.
func (w *apartWriter) write(n int) error {
	of := func() string {
		i := rand.IntN(60) //nolint:gosec // a test
		return fmt.Sprintf("dir%d/file%d", i%6, i)
	}
	path, other := of(), of()
	at := filepath.Join(w.dir, path)
	content, exists := w.has[path]
	switch rand.IntN(4) { //nolint:gosec // a test
	case 0:
		w.has[path] = fmt.Sprint(w.mark, n)
		return os.WriteFile(at, []byte(w.has[path]), 0o600)
	case 1:
		f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		w.has[path] = content + w.mark
		_, err = f.WriteString(w.mark)
		return errors.Join(err, f.Close())
	case 2:
		if !exists {
			break
		}
		delete(w.has, path)
		w.has[other] = content
		return os.Rename(at, filepath.Join(w.dir, other))
	case 3:
		if !exists {
			break
		}
		delete(w.has, path)
		return os.Remove(at)
	}
	return nil
}

// contentsOf returns the contents of all files in a directory.
func contentsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path) //nolint:gosec // a test's
		all[strings.TrimPrefix(path, dir+"/")] = string(content)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

package tree_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// TestWhatIsRenamedDuringAScanIsFound, wherever the scan is by then: it has each file by one of its names.
func TestWhatIsRenamedDuringAScanIsFound(t *testing.T) {
	files := []string{"a/z/y", "b/d/e", "b/f", "b/g", "b/h"}
	for name, c := range map[string]struct {
		at    string   // the path at which the scan is
		moves []string // pairs of paths
		lost  string   // the file that another one takes the place of
	}{
		"a file, after its new directory was listed":     {"a/z", []string{"b/f", "a/f"}, ""},
		"a file, after its old directory was listed":     {"b/f", []string{"b/f", "a/f"}, ""},
		"a file, to the root":                            {"a/z", []string{"b/f", "f"}, ""},
		"a file, to the place of another one":            {"a/z", []string{"b/f", "a/z/y"}, "a/z/y"},
		"a file, to a directory that moves":              {"b/f", []string{"b/f", "a/f", "a", "c"}, ""},
		"a directory":                                    {"a/z", []string{"b/d", "a/d"}, ""},
		"a directory, into another one":                  {"b/d", []string{"b/d", "a/z/d"}, ""},
		"a directory that comes back":                    {"b/d/e", []string{"b/d", "d", "d", "b/d"}, ""},
		"directories that take each other's places":      {"b/d/e", []string{"b/d", "d", "a/z", "b/d", "d", "a/z"}, ""},
		"all files of a directory":                       {"a/z", []string{"b/f", "a/f", "b/g", "a/g", "b/h", "a/h"}, ""},
		"all directories, each to another one's place":   {"a/z", []string{"a", "c", "b", "a", "c", "b"}, ""},
		"a file, several times":                          {"b/f", []string{"b/f", "a/f", "a/f", "f", "f", "a/z/f"}, ""},
		"a file whose directory is removed after it":     {"b/d/e", []string{"b/d/e", "a/e", "b/d", ""}, ""},
		"a file to a directory that is made while it is": {"a/z", []string{"", "new", "b/f", "new/f"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir, old := t.TempDir(), time.Now().Add(-time.Hour)
			for _, path := range files {
				file := filepath.Join(dir, filepath.FromSlash(path))
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(path), 0o600), os.Chtimes(file, old, old)); err != nil {
					t.Fatal(err)
				}
			}
			var once sync.Once
			var failed error
			s := tree.Scanner{Dir: dir, Clock: time.Now, Read: contentOf}
			s.Skip = func(path string) bool {
				if path == c.at {
					once.Do(func() { failed = move(dir, c.moves) })
				}
				return false
			}
			now := tree.New()
			found, err := s.Full(context.Background(), now)
			if err == nil {
				err = now.Accept(found)
			}
			if err := errors.Join(err, failed); err != nil {
				t.Fatal(err)
			}
			var has []tree.Entry
			for _, n := range now.All() {
				has = append(has, n.Entry)
			}
			for _, path := range files {
				if !slices.ContainsFunc(has, func(e tree.Entry) bool { return e.Kind == tree.File && string(e.Content[:len(path)]) == path }) && path != c.lost {
					t.Errorf("the file that was %s is missing", path)
				}
			}
			if len(found.Problems) > 0 {
				t.Error(found.Problems)
			}
		})
	}
}

// move renames paths to the next ones: "" makes a directory, and to "" is to remove one.
func move(dir string, pairs []string) (err error) {
	for pair := range slices.Chunk(pairs, 2) {
		from, to := filepath.Join(dir, filepath.FromSlash(pair[0])), filepath.Join(dir, filepath.FromSlash(pair[1]))
		switch dir {
		case from:
			err = errors.Join(err, os.Mkdir(to, 0o755))
		case to:
			err = errors.Join(err, os.Remove(from))
		default:
			err = errors.Join(err, os.Rename(from, to))
		}
	}
	return err
}

// contentOf reads a short file, and has its text as its ID.
func contentOf(f *os.File, size int64) (c tree.Content, err error) {
	n, err := f.Read(c.Content[:min(size, int64(len(c.Content)))])
	c.Size = int64(n)
	return c, err
}

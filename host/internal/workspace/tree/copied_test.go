package tree_test

import (
	"bytes"
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

// TestNoFileOfACopyIsRead that is as its entry has it, and that was not written just before the stats were taken.
func TestNoFileOfACopyIsRead(t *testing.T) {
	var reading sync.Mutex
	var read []string
	scan := func(dir string, was *tree.Tree) *tree.Found {
		t.Helper()
		read = nil
		s := tree.Scanner{Dir: dir, Skip: func(string) bool { return false }, Clock: func() time.Time { return time.Now().Add(time.Hour) }}
		s.Read = func(f *os.File, size int64) (tree.Content, error) {
			reading.Lock()
			defer reading.Unlock()
			read = append(read, filepath.Base(f.Name()))
			return tree.Content{Size: size}, nil
		}
		found, err := s.Full(context.Background(), was)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	files := func() string {
		t.Helper()
		dir := t.TempDir()
		err := os.MkdirAll(filepath.Join(dir, "sub", "empty"), 0o750)
		old := time.Unix(1_700_000_000, 123)
		for _, name := range []string{"a", "sub/b", "sub/c"} {
			path := filepath.Join(dir, filepath.FromSlash(name))
			err = errors.Join(err, os.WriteFile(path, []byte("text"), 0o600), os.Chtimes(path, old, old))
		}
		err = errors.Join(err, os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "hard")))
		for _, name := range []string{"sub/empty", "sub", "."} {
			err = errors.Join(err, os.Chtimes(filepath.Join(dir, filepath.FromSlash(name)), old, old))
		}
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	original := tree.New()
	found := scan(files(), original)
	if err := original.Accept(found); err != nil || len(read) != 4 {
		t.Fatal(read, err)
	}
	for name, c := range map[string]struct {
		change func(dir string) error
		now    time.Time
		read   []string
	}{
		"the same":               {func(string) error { return nil }, time.Now().Add(time.Hour), nil},
		"written just before":    {func(string) error { return nil }, time.Now().Add(-time.Hour), []string{"a", "b", "c", "hard"}},
		"another mode":           {func(dir string) error { return os.Chmod(filepath.Join(dir, "sub", "b"), 0o440) }, time.Now().Add(time.Hour), []string{"b"}},
		"another time":           {func(dir string) error { return os.Chtimes(filepath.Join(dir, "sub", "c"), time.Now(), time.Now()) }, time.Now().Add(time.Hour), []string{"c"}},
		"it is no longer there":  {func(dir string) error { return os.Remove(filepath.Join(dir, "sub", "c")) }, time.Now().Add(time.Hour), nil},
		"one name of two is not": {func(dir string) error { return os.Remove(filepath.Join(dir, "hard")) }, time.Now().Add(time.Hour), []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := files()
			if err := c.change(dir); err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := original.EncodeCopy(&b, dir, c.now); err != nil {
				t.Fatal(err)
			}
			copied, err := tree.Decode(&b)
			if err != nil {
				t.Fatal(err)
			}
			scan(dir, copied)
			if slices.Sort(read); !slices.Equal(read, c.read) {
				t.Errorf("%q were read, want %q", read, c.read)
			}
		})
	}
}

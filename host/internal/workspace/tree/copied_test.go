package tree_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
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

// TestWhatACopyLacksIsReadFromTheDirectory: a full filesystem may copy a file without its last size and time. What changed after the
// copy was made is not part of it.
func TestWhatACopyLacksIsReadFromTheDirectory(t *testing.T) {
	copied, live := t.TempDir(), t.TempDir()
	old := time.Now().Add(-2 * time.Hour)
	large := bytes.Repeat([]byte("x"), 2<<20)
	for _, f := range []struct {
		name         string
		copied, live []byte
		later        time.Duration
	}{
		{"same", []byte("same"), []byte("same"), 0},
		{"time", []byte("time"), []byte("time"), time.Second},
		{"size", large[1:], large, time.Second},
		{"after", []byte("before"), []byte("after it"), time.Second},
	} {
		from, to := filepath.Join(copied, f.name), filepath.Join(live, f.name)
		if err := errors.Join(os.WriteFile(from, f.copied, 0o600), os.WriteFile(to, f.live, 0o600), os.Chtimes(from, old, old), os.Chtimes(to, old, old.Add(f.later))); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now().Add(time.Hour)
	s := tree.Scanner{Dir: copied, Live: live, Skip: func(string) bool { return false }, Clock: func() time.Time { return now }}
	s.Read = func(f *os.File, _ int64) (tree.Content, error) {
		content, err := io.ReadAll(f)
		c := tree.Content{Size: int64(len(content))}
		c.Content = sha256.Sum256(content)
		return c, err
	}
	if err := os.Chtimes(filepath.Join(live, "after"), now, now); err != nil {
		t.Fatal(err)
	}
	found, err := s.Full(context.Background(), tree.New())
	if err != nil || len(found.Problems) > 0 {
		t.Fatal(found, err)
	}
	for _, c := range found.Changes {
		if c.Path == "" {
			continue
		}
		want := map[string][]byte{"same": []byte("same"), "time": []byte("time"), "size": large, "after": []byte("before")}[c.Path]
		moved := c.After.Mtime != tree.Nanoseconds(old.Unix(), int64(old.Nanosecond()))
		if c.After.Content != sha256.Sum256(want) || c.After.Size != int64(len(want)) || moved != (c.Path == "time" || c.Path == "size") {
			t.Errorf("%s is %+v", c.Path, c.After)
		}
	}
	if !slices.Equal(found.Differs, []string{"size", "time"}) {
		t.Errorf("%q differ", found.Differs)
	}
}

package tree

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
)

// linked makes a file with two names. Write replaces the content of a file.
func linked(t *testing.T) (dir, one, two string, write func(path, content string)) {
	t.Helper()
	dir = t.TempDir()
	one, two = filepath.Join(dir, "one"), filepath.Join(dir, "two")
	write = func(path, content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(one, "first")
	if err := os.Link(one, two); err != nil {
		t.Skip(err)
	}
	return dir, one, two, write
}

// TestANameThatWasReadBeforeTheOtherOne: a file changes after it was read by one name, and before it is read by the other
// one. The next scan, which is about the other name, reads both.
func TestANameThatWasReadBeforeTheOtherOne(t *testing.T) {
	dir, one, two, write := linked(t)
	var reads atomic.Int64 // files are read in parallel
	at := int64(0)
	s := Scanner{
		Dir: dir, Skip: func(string) bool { return false },
		Clock: func() time.Time { return time.Now().Add(time.Hour) }, // no file is as young as its stat may hide
		Read: func(f *os.File, _ int64) (Content, error) {
			if reads.Add(1) == at {
				write(two, "third")
			}
			var b bytes.Buffer
			n, err := b.ReadFrom(f)
			return Content{Entry: Entry{Content: objects.IDOf(b.Bytes())}, Size: n}, err
		},
	}
	now := New()
	accept := func(found *Found, err error) {
		t.Helper()
		if err == nil {
			err = now.Accept(found)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	accept(s.Full(context.Background(), now))
	write(one, "second")
	reads.Store(0)
	at = 2
	accept(s.Some(context.Background(), now, Dirty{"": {"one": true}}))
	accept(s.Some(context.Background(), now, Dirty{"": {"two": true}}))
	for _, name := range []string{"one", "two"} {
		if now.Lookup(name).Content != objects.IDOf([]byte("third")) {
			t.Errorf("%s has an earlier content", name)
		}
	}
}

// TestNamesOfOneFileAgree: between the readings of two names of a file it changes, and the first name becomes another
// file's. Said to be one file, both would be restored with the content of one.
func TestNamesOfOneFileAgree(t *testing.T) {
	dir, one, two, write := linked(t)
	restless := false
	s := &Scanner{Dir: dir, Skip: func(string) bool { return false }, Clock: time.Now, Read: func(f *os.File, _ int64) (Content, error) {
		n, err := io.Copy(io.Discard, f)
		if restless && err == nil {
			err = os.Chtimes(two, time.Time{}, time.Now())
		}
		return Content{Size: n}, err
	}}
	w, err := s.begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer w.end()
	look := func(path string) {
		t.Helper()
		n, err := w.inspect(path)
		if err != nil {
			t.Fatal(err)
		}
		w.suspects = append(w.suspects, suspect{path: path, node: n})
	}
	agree := func() (*Node, *Node) {
		t.Helper()
		if err := w.agree(); err != nil {
			t.Fatal(err)
		}
		return w.suspects[0].node, w.suspects[1].node
	}
	look("one")
	if err := os.Remove(one); err != nil {
		t.Fatal(err)
	}
	write(one, "another")
	write(two, "second")
	if err := os.Link(two, filepath.Join(dir, "three")); err != nil {
		t.Fatal(err)
	}
	look("two")
	if a, b := agree(); a.Hard != 0 || a.Size != 7 || b.Hard == 0 || b.Size != 6 || a.Unread+b.Unread != "" {
		t.Errorf("%+v and %+v", a, b)
	}
	// A file that never stops changing.
	if err := os.Remove(one); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(two, one); err != nil {
		t.Fatal(err)
	}
	w.suspects = nil
	look("one")
	restless = true
	look("two")
	if a, b := agree(); a.Unread != changed || b.Unread != changed {
		t.Errorf("%+v and %+v", a, b)
	}
}

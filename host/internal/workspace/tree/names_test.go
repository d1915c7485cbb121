package tree

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestNamesOfOneFileAgree: between the readings of two names of a file it changes, and the first name becomes another
// file's. Said to be one file, both would be restored with the content of one.
func TestNamesOfOneFileAgree(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	write := func(path, content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(one, "first")
	if err := os.Link(one, two); err != nil {
		t.Skip(err)
	}
	restless := false
	s := &Scanner{Dir: dir, Skip: func(string) bool { return false }, Clock: time.Now, Read: func(f *os.File, _ int64) (Content, error) {
		var b bytes.Buffer
		n, err := b.ReadFrom(f)
		if restless && err == nil {
			err = os.Chtimes(two, time.Time{}, time.Now())
		}
		return Content{Entry: Entry{Target: b.String()}, Size: n}, err
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
	time.Sleep(2 * racyWindow) // the times of the next change are others
	restless = true
	look("two")
	if a, b := agree(); a.Unread != changed || b.Unread != changed {
		t.Errorf("%+v and %+v", a, b)
	}
}

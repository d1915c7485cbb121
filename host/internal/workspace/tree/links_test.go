package tree_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// TestANameThatWasReadBeforeTheOtherOne: a file changes after it was read by one name, and before it is read by the other
// one. The next scan, which is about the other name, reads both.
func TestANameThatWasReadBeforeTheOtherOne(t *testing.T) {
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
	var reads atomic.Int64 // files are read in parallel
	at := int64(0)
	s := tree.Scanner{
		Dir: dir, Skip: func(string) bool { return false },
		Clock: func() time.Time { return time.Now().Add(time.Hour) }, // no file is as young as its stat may hide
		Read: func(f *os.File, _ int64) (tree.Content, error) {
			if reads.Add(1) == at {
				write(two, "third")
			}
			var b bytes.Buffer
			n, err := b.ReadFrom(f)
			return tree.Content{Entry: tree.Entry{Content: objects.IDOf(b.Bytes())}, Size: n}, err
		},
	}
	now := tree.New()
	accept := func(found *tree.Found, err error) {
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
	accept(s.Some(context.Background(), now, tree.Dirty{"": {"one": true}}))
	accept(s.Some(context.Background(), now, tree.Dirty{"": {"two": true}}))
	for _, name := range []string{"one", "two"} {
		if now.Lookup(name).Content != objects.IDOf([]byte("third")) {
			t.Errorf("%s has an earlier content", name)
		}
	}
}

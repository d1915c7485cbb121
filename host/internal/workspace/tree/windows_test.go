//go:build windows

package tree_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// world is a directory and what was read of it.
type world struct {
	t    *testing.T
	scan tree.Scanner
	now  *tree.Tree
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, now: tree.New()}
	w.scan = tree.Scanner{
		Dir: t.TempDir(), Clock: time.Now, Skip: func(string) bool { return false },
		Read: func(f *os.File, _ int64) (tree.Content, error) {
			var b bytes.Buffer
			n, err := b.ReadFrom(f)
			return tree.Content{Entry: tree.Entry{Content: objects.IDOf(b.Bytes())}, Size: n}, err
		},
	}
	return w
}

// write writes files, given as pairs of path and content.
func (w *world) write(pairs ...string) {
	w.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		at := filepath.Join(w.scan.Dir, filepath.FromSlash(pairs[i]))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(pairs[i+1]), 0o600)); err != nil {
			w.t.Fatal(err)
		}
	}
}

// read reads what may have changed, everything for nil, and returns the paths that are there.
func (w *world) read(dirty tree.Dirty) ([]string, *tree.Found) {
	w.t.Helper()
	var found *tree.Found
	var err error
	if dirty == nil {
		found, err = w.scan.Full(context.Background(), w.now)
	} else {
		found, err = w.scan.Some(context.Background(), w.now, dirty)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.now.Accept(found); err != nil {
		w.t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(maps.Collect(w.now.All())))[1:], found
}

func (w *world) is(dirty tree.Dirty, want ...string) {
	w.t.Helper()
	if got, _ := w.read(dirty); !slices.Equal(got, want) {
		w.t.Fatalf("%q, want %q", got, want)
	}
}

func (w *world) rename(from, to string) {
	w.t.Helper()
	dir := w.scan.Dir // by another name, because Wine 8 does not rename to another spelling
	if err := errors.Join(os.Rename(filepath.Join(dir, from), filepath.Join(dir, "between")), os.Rename(filepath.Join(dir, "between"), filepath.Join(dir, to))); err != nil {
		w.t.Fatal(err)
	}
}

// TestANameInAnotherCaseIsOneName, whether everything is compared, or what the system reported in either spelling.
func TestANameInAnotherCaseIsOneName(t *testing.T) {
	w := newWorld(t)
	w.write("readme", "one")
	w.write("src/a", "a")
	w.is(nil, "readme", "src", "src/a")
	w.rename("readme", "README")
	w.is(nil, "README", "src", "src/a")
	w.rename("README", "ReadMe")
	w.is(tree.Dirty{"": {"README": true, "ReadMe": true}}, "ReadMe", "src", "src/a")
	w.rename("ReadMe", "readme")
	w.is(tree.Dirty{"": {"README~1": true}}, "readme", "src", "src/a")
	w.write("src/b", "b")
	w.is(tree.Dirty{"SRC": {"b": true}}, "readme", "src", "src/a", "src/b")
	w.write("src/new/c", "c")
	w.is(tree.Dirty{"src": {"NEW~1": true}, "src/NEW~1": {"c": true}}, "readme", "src", "src/a", "src/b", "src/new", "src/new/c")
}

// TestALockedFileIsReported, and read when it is free.
func TestALockedFileIsReported(t *testing.T) {
	w := newWorld(t)
	w.write("locked", "one")
	name, err := windows.UTF16PtrFromString(filepath.Join(w.scan.Dir, "locked"))
	if err != nil {
		t.Fatal(err)
	}
	h, err := windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE, 0, nil, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, found := w.read(nil)
	if len(found.Problems) != 1 || found.Problems[0].Path != "locked" {
		t.Errorf("%+v", found.Problems)
	}
	if n := w.now.Lookup("locked"); n.Unread == "" || n.Size != 3 {
		t.Errorf("%+v", n.Entry)
	}
	if err := windows.CloseHandle(h); err != nil {
		t.Fatal(err)
	}
	if _, found = w.read(nil); len(found.Problems) > 0 || w.now.Lookup("locked").Unread != "" {
		t.Errorf("%+v", found.Problems)
	}
}

// TestLongPathsAndAttributes: paths beyond 260 characters, files that may only be read, and changes that keep time and size.
func TestLongPathsAndAttributes(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat(strings.Repeat("d", 60)+"/", 6) + "file"
	w.write(long, "one")
	w.write("a", "one")
	w.read(nil)
	if n := w.now.Lookup(long); n == nil || n.Inode == 0 || n.Ctime == 0 {
		t.Fatalf("%+v", n)
	}
	at := filepath.Join(w.scan.Dir, "a")
	info, err := os.Stat(at)
	if err != nil {
		t.Fatal(err)
	}
	w.write("a", "two")
	if err := os.Chtimes(at, time.Time{}, info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if _, found := w.read(nil); len(found.Changes) != 1 || found.Changes[0].Path != "a" {
		t.Errorf("%+v", found.Changes)
	}
	if err := os.Chmod(at, 0o400); err != nil {
		t.Fatal(err)
	}
	w.read(nil)
	if n := w.now.Lookup("a"); n.Mode != 0o444 {
		t.Errorf("%o", n.Mode)
	}
	if err := os.Chmod(at, 0o600); err != nil { // so that it can be removed
		t.Fatal(err)
	}
}

// TestWhatADirectoryListsIsBelieved of a file that has not changed for an hour. Every change is found whose file is closed,
// also by another name of the file. A scan without Listed finds what a directory does not list yet.
func TestWhatADirectoryListsIsBelieved(t *testing.T) {
	w := newWorld(t)
	later := time.Duration(0)
	w.scan.Clock = func() time.Time { return time.Now().Add(later) }
	for i := range 300 {
		w.write(fmt.Sprintf("many/%d", i), "x")
	}
	w.write("edited", "one", "removed", "one", "same-time", "one", "read-only", "one", "hard", "one", "to-dir", "one", "in/deep/er", "one")
	if err := os.Link(filepath.Join(w.scan.Dir, "hard"), filepath.Join(w.scan.Dir, "in", "other")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond) // no stat is racy then
	w.read(nil)
	w.scan.Listed = true
	if _, found := w.read(nil); len(found.Changes) > 0 {
		t.Fatalf("%+v", found.Changes)
	}
	later = 2 * time.Hour
	if _, found := w.read(nil); len(found.Changes) > 0 {
		t.Fatalf("%+v", found.Changes)
	}

	info, err := os.Stat(filepath.Join(w.scan.Dir, "same-time"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("edited", "two", "same-time", "two", "in/other", "two", "in/deep/new", "one", "many/new", "one")
	at := func(path string) string { return filepath.Join(w.scan.Dir, filepath.FromSlash(path)) }
	if err := errors.Join(os.Chtimes(at("same-time"), time.Time{}, info.ModTime()), os.Remove(at("removed")), os.Chmod(at("read-only"), 0o400),
		os.Remove(at("to-dir")), os.Mkdir(at("to-dir"), 0o700), os.Rename(at("many/7"), at("many/seven"))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(at("read-only"), 0o600) }) // so that it can be removed
	_, found := w.read(nil)
	var paths []string
	for _, c := range found.Changes {
		if c.Before == nil || c.After == nil || c.Before.Kind != tree.Dir { // not the times of directories
			paths = append(paths, c.Path)
		}
	}
	want := []string{"edited", "hard", "in/deep/new", "in/other", "many/7", "many/new", "many/seven", "read-only", "removed", "same-time", "to-dir"}
	if !slices.Equal(paths, want) {
		t.Errorf("%q, want %q", paths, want)
	}
	w.scan.Listed = false
	if _, found := w.read(nil); len(found.Changes) > 0 || len(found.Problems) > 0 {
		t.Errorf("opened, the files differ: %+v", found)
	}

	best := map[bool]time.Duration{true: time.Hour, false: time.Hour}
	for range 5 {
		for listed := range best {
			w.scan.Listed = listed
			began := time.Now()
			w.read(nil)
			best[listed] = min(best[listed], time.Since(began))
		}
	}
	t.Logf("300 files: %v listed, %v opened", best[true], best[false])
	if best[true] > best[false]/2 {
		t.Errorf("to list takes %v, to open each file %v", best[true], best[false])
	}
}

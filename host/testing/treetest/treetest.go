// Package treetest makes and compares directory trees, for tests of what reads and writes a workspace.
package treetest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// Fataler is what tests of package testing and of package rapid have.
type Fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Read returns what is in a directory, one line each, with the content of its files, read without a store. Numbers of hard
// links are those of their first path. The mode and the time of the directory itself are left out.
func Read(t Fataler, dir string) []string {
	t.Helper()
	return lines(t, dir, false)
}

// ReadWhole is Read with the mode and the time of the directory itself.
func ReadWhole(t Fataler, dir string) []string {
	t.Helper()
	return lines(t, dir, true)
}

func lines(t Fataler, dir string, whole bool) []string {
	t.Helper()
	s := tree.Scanner{
		Dir: dir, Clock: time.Now, Skip: func(path string) bool { return path == ".git" },
		Read: func(f *os.File, _ int64) (tree.Content, error) {
			var b bytes.Buffer
			n, err := b.ReadFrom(f)
			return tree.Content{Entry: tree.Entry{Content: objects.IDOf(b.Bytes())}, Size: n}, err
		},
	}
	now := tree.New()
	found, err := s.Full(context.Background(), now)
	if err != nil {
		t.Fatal(err)
	}
	if err := now.Accept(found); err != nil {
		t.Fatal(err)
	}
	var all []string
	first := map[uint64]string{}
	for path, n := range now.All() {
		e := n.Entry
		with := ""
		if e.Hard != 0 {
			if first[e.Hard] == "" {
				first[e.Hard] = path
			}
			with = first[e.Hard]
		}
		mtime := e.Mtime
		if path == "" && !whole {
			mtime = 0
			e.Mode = 0
		}
		all = append(all, fmt.Sprintf("%q %d %o %d %d %s %q %v %s", path, e.Kind, e.Mode, e.Size, mtime, e.Content, e.Target, e.Xattrs, with))
	}
	return all
}

var names = []string{"a", "b", "B", "src", "lib", "ü", "with space", "new\nline", "\xff\xfe", "-rf", "a.b", "a-b", ".env", ".hidden"}

// Edit changes a workspace at random.
func Edit(t *rapid.T, dir string) {
	paths := []string{"."}
	_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error {
		rel, _ := filepath.Rel(dir, path)
		paths = append(paths, rel)
		return nil
	})
	slices.Sort(paths)
	paths = slices.Compact(paths)
	path := filepath.Join(dir, rapid.SampledFrom(paths).Draw(t, "at"))
	info, err := os.Lstat(path)
	if err != nil {
		return
	}
	fresh := filepath.Join(path, rapid.SampledFrom(names).Draw(t, "name"))
	if !info.IsDir() {
		fresh = filepath.Join(filepath.Dir(path), filepath.Base(fresh))
	}
	content := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "content")
	switch rapid.SampledFrom([]string{"write", "write", "mkdir", "append", "truncate", "rename", "remove", "link", "symlink", "chmod", "large"}).Draw(t, "edit") {
	case "write":
		_ = os.RemoveAll(fresh)
		_ = os.WriteFile(fresh, content, 0o644)
	case "mkdir":
		_ = os.Mkdir(fresh, 0o755)
	case "append":
		if f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0); err == nil {
			_, _ = f.Write(content)
			_ = f.Close()
			_ = os.Chtimes(path, time.Time{}, info.ModTime()) // the time is put back
		}
	case "truncate":
		_ = os.Truncate(path, 3)
	case "rename":
		if path != dir {
			_ = os.Rename(path, fresh)
		}
	case "remove":
		if path != dir {
			_ = os.RemoveAll(path)
		}
	case "link":
		_ = os.Link(path, fresh)
	case "symlink":
		_ = os.Symlink(rapid.SampledFrom([]string{"/etc", "..", "a", "nowhere"}).Draw(t, "target"), fresh)
	case "chmod":
		if info.Mode().IsRegular() {
			_ = os.Chmod(path, rapid.SampledFrom([]os.FileMode{0o600, 0o755, 0o444}).Draw(t, "mode"))
		}
	case "large":
		_ = os.WriteFile(fresh, bytes.Repeat(append(content, 'x'), 30_000), 0o600)
	}
}

// Path returns the path of a line of [Read].
func Path(t Fataler, line string) string {
	t.Helper()
	var path string
	if _, err := fmt.Sscanf(line, "%q", &path); err != nil {
		t.Fatal(err)
	}
	return path
}

// Compared reports what differs between two readings of a workspace, as a watcher would.
type Compared struct {
	t   Fataler
	dir string
	was []string
	// after is true when the provider has been opened with it, and the first snapshot has compared everything.
	after bool
	more  tree.Dirty
}

// Compare begins to compare.
func Compare(t Fataler, dir string) *Compared { return &Compared{t: t, dir: dir, more: tree.Dirty{}} }

// Take returns what changed since the last call.
func (c *Compared) Take(context.Context) (tree.Dirty, bool, error) {
	now := Read(c.t, c.dir)
	dirty := c.more
	for _, one := range [][2][]string{{c.was, now}, {now, c.was}} {
		for _, line := range one[0] {
			if !slices.Contains(one[1], line) {
				path := Path(c.t, line)
				dirty.Add(tree.Parent(path), tree.Base(path))
			}
		}
	}
	whole := !c.after
	c.was, c.after, c.more = now, true, tree.Dirty{}
	return dirty, whole, nil
}

// Return takes back what could not be used.
func (c *Compared) Return(dirty tree.Dirty, whole bool) {
	c.after = c.after && !whole
	for dir, names := range dirty {
		if names == nil {
			c.more.AddAll(dir)
		}
		for name := range names {
			c.more.Add(dir, name)
		}
	}
}

// Package treetest compares directory trees, and has a second process edit them at random, for tests of what reads and
// writes a workspace.
package treetest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// Fataler is what tests of package testing and of package rapid have.
type Fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// States returns the contents in a directory, one line each: paths with kinds, modes, sizes, contents and targets, without
// the directory itself. Files in leave are left out.
func States(t Fataler, dir string, leave ...string) []string {
	t.Helper()
	var all []string
	for path, n := range scan(t, dir).All() {
		if path != "" && !slices.Contains(leave, path) {
			all = append(all, fmt.Sprintf("%q %d %o %d %s %q", path, n.Kind, n.Mode, n.Size, n.Content, n.Target))
		}
	}
	return all
}

// Read returns what is in a directory, one line each, with the content of its files, read without a store. Numbers of hard
// links are those of their first path, which a line ends with, after a tab. The mode and the time of the directory itself are left out.
func Read(t Fataler, dir string) []string {
	t.Helper()
	return lines(t, dir, false)
}

// ReadWhole is Read with the mode and the time of the directory itself.
func ReadWhole(t Fataler, dir string) []string {
	t.Helper()
	return lines(t, dir, true)
}

func scan(t Fataler, dir string) *tree.Tree {
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
	return now
}

func lines(t Fataler, dir string, whole bool) []string {
	t.Helper()
	var all []string
	first := map[uint64]string{}
	for path, n := range scan(t, dir).All() {
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
		all = append(all, fmt.Sprintf("%q %d %o %d %d %s %q %v\t%q", path, e.Kind, e.Mode, e.Size, mtime, e.Content, e.Target, e.Xattrs, with))
	}
	return all
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
				dirty.Path(Path(c.t, line))
			}
		}
	}
	whole := !c.after
	c.was, c.after, c.more = now, true, tree.Dirty{}
	return dirty, whole, nil
}

// Since returns what changed since the last call of Take. Nobody changes a workspace that is compared with itself.
func (c *Compared) Since(context.Context) (tree.Dirty, bool, error) { return nil, false, nil }

// Return takes back what could not be used.
func (c *Compared) Return(dirty tree.Dirty, whole bool) {
	c.after = c.after && !whole
	c.more.AddDirty(dirty)
}

package compare_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/compare"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// many is a workspace of 100,000 files, with a snapshot before and after each of several edits of ten files.
func many(b *testing.B, count, edits int) (c *compare.Comparer, p *tracked.Provider) {
	b.Helper()
	dir := b.TempDir()
	workspace := filepath.Join(dir, "workspace")
	path := func(i int) string {
		return filepath.Join(workspace, fmt.Sprint("d", i/1000), fmt.Sprint("e", i/20%50), fmt.Sprint("f", i))
	}
	body := func(i, edit int) []byte {
		var s strings.Builder
		for line := range 20 {
			if line%7 == 3 {
				fmt.Fprintf(&s, "line %d of file %d, edit %d\n", line, i, edit)
			} else {
				fmt.Fprintf(&s, "line %d of file %d\n", line, i)
			}
		}
		return []byte(s.String())
	}
	for i := range count {
		if i%20 == 0 {
			if err := os.MkdirAll(filepath.Dir(path(i)), 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(path(i), body(i, 0), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	changes := &listed{}
	p, err := tracked.Open(tracked.Options{Workspace: workspace, Store: filepath.Join(dir, "store"), Clock: time.Now, Changes: changes})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.Close() })
	for edit := range edits + 1 {
		if edit > 0 {
			changes.dirty = tree.Dirty{}
			for k := range 10 {
				i := k * count / 10
				if err := os.WriteFile(path(i), body(i, edit), 0o600); err != nil {
					b.Fatal(err)
				}
				name, _ := filepath.Rel(workspace, path(i))
				name = filepath.ToSlash(name)
				changes.dirty.Path(name)
			}
		}
		if _, _, err := p.Take(context.Background(), ""); err != nil {
			b.Fatal(err)
		}
	}
	return compare.New(p, redactor), p
}

// listed reports the changes that the benchmark made.
type listed struct{ dirty tree.Dirty }

func (l *listed) Take(context.Context) (tree.Dirty, bool, error) { return l.dirty, l.dirty == nil, nil }
func (*listed) Since(context.Context) (tree.Dirty, bool, error)  { return nil, false, nil }
func (l *listed) Return(tree.Dirty, bool)                        {}

// BenchmarkDiff compares two snapshots of 100,000 files of which 10 changed, with the text. The budget is 20 ms.
func BenchmarkDiff(b *testing.B) {
	c, p := many(b, 100_000, 50)
	list := p.List()
	last := list[len(list)-1].Number
	for _, test := range []struct {
		name string
		from uint64
	}{{"one step", last - 1}, {"50 steps", list[0].Number}} {
		b.Run(test.name, func(b *testing.B) {
			for b.Loop() {
				d, err := c.Diff(context.Background(), test.from, last, compare.Options{})
				if err != nil || len(d.Files) != 10 || d.Added != 30 || !d.Applies || d.Text() == "" {
					b.Fatalf("%+v %v", d, err)
				}
			}
		})
	}
	for _, path := range []string{"d0/e0/f0", "d0/e0/f1"} {
		b.Run("blame "+path, func(b *testing.B) {
			for b.Loop() {
				if _, err := c.Blame(context.Background(), path, compare.BlameOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	changes, err := p.Diff(last-1, last)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("stat", func(b *testing.B) {
		for b.Loop() {
			for _, ch := range changes {
				if _, _, _, err := c.Stat(ch.Before, ch.After); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// BenchmarkRenames moves 1,000 files with an edit in each, and adds and removes as many.
func BenchmarkRenames(b *testing.B) {
	m := newMemory()
	before, after := files{}, files{}
	for i := range 1000 {
		var s strings.Builder
		for line := range 40 {
			fmt.Fprintf(&s, "line %d of file %d\n", line, i)
		}
		before[fmt.Sprint("old/f", i)] = s.String()
		after[fmt.Sprint("new/f", i)] = s.String() + "more\n"
	}
	m.take(before)
	m.take(after)
	c := compare.New(m, redactor)
	for b.Loop() {
		d, err := c.Diff(context.Background(), 1, 2, compare.Options{})
		if err != nil || len(d.Files) != 1000 {
			b.Fatal(len(d.Files), err)
		}
	}
}

// BenchmarkManyFiles removes 50,000 files and adds 50,000 others, most of one name.
func BenchmarkManyFiles(b *testing.B) {
	m := newMemory()
	before, after := files{}, files{}
	for i := range 50_000 {
		before[fmt.Sprint("old/", i, "/index.js")] = fmt.Sprint("before ", i)
		after[fmt.Sprint("new/", i, "/index.js")] = fmt.Sprint("after ", i)
	}
	m.take(before)
	m.take(after)
	c := compare.New(m, redactor)
	for b.Loop() {
		d, err := c.Diff(context.Background(), 1, 2, compare.Options{})
		if err != nil || len(d.Files) != 100_000 || d.Uncounted != 99_500 || !d.RenamesLimited {
			b.Fatal(d, err)
		}
	}
}

// BenchmarkWorst compares texts of the largest size with nothing, or little, in common.
func BenchmarkWorst(b *testing.B) {
	m := newMemory()
	c := compare.New(m, redactor)
	random := func(lines, kinds, seed int) string {
		var s strings.Builder
		x := uint32(seed)
		for range lines {
			x = x*1664525 + 1013904223
			fmt.Fprintf(&s, "%d\n", int(x>>8)%kinds)
		}
		return s.String()
	}
	for _, test := range []struct{ lines, kinds int }{{4_900, 3}, {4_900, 500}, {90_000, 3}, {90_000, 500}, {90_000, 100_000}} {
		before, after := m.entry(random(test.lines, test.kinds, 1)), m.entry(random(test.lines, test.kinds, 2))
		b.Run(fmt.Sprint(test), func(b *testing.B) {
			for b.Loop() {
				if _, _, _, err := c.Stat(before, after); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

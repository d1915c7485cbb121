package image_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/workspace/image"
	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// made makes the image of a snapshot.
func made(p *tracked.Provider, number uint64, dir string) (*image.Image, error) {
	index, packs := filepath.Join(dir, "index"), filepath.Join(dir, "packs")
	if err := tracked.Export(p, number, packs, false, func(t *tree.Tree, s *objects.Store) error { return image.Create(index, t, s) }); err != nil {
		return nil, err
	}
	return image.Open(index, packs)
}

// lines describes an image: a line for each path, with the paths of its hard links together.
func lines(t interface{ Fatal(...any) }, m *image.Image) (all []string) {
	first := map[uint64]string{}
	var walk func(dir uint64, path string)
	walk = func(dir uint64, path string) {
		for i := 0; ; i++ {
			name, number, ok := m.Entry(dir, i)
			if !ok {
				return
			}
			if found, ok := m.Lookup(dir, name); !ok || found != number {
				t.Fatal(name, found, number)
			}
			at := filepath.Join(path, name)
			if _, known := first[number]; !known {
				first[number] = at
			}
			a, ok := m.Attr(number)
			if !ok {
				t.Fatal(at)
			}
			line := fmt.Sprintf("%q %d %o %d links %d of %q", at, a.Kind, a.Mode, a.Mtime, a.Links, first[number])
			for _, x := range m.Xattrs(number) {
				line += fmt.Sprintf(" %s=%q", x.Name, x.Value)
			}
			switch a.Kind {
			case tree.Link:
				line += fmt.Sprintf(" -> %q", m.Target(number))
			case tree.File:
				content := make([]byte, a.Size+1)
				n, err := m.ReadAt(number, content, 0)
				if err != nil || int64(n) != a.Size {
					t.Fatal(at, n, a.Size, err)
				}
				// Parts of it are the same.
				for range 3 {
					from := rand.Int64N(a.Size + 1) //nolint:gosec // a test
					part := make([]byte, rand.IntN(5000))
					n, err := m.ReadAt(number, part, from)
					if err != nil || !bytes.Equal(part[:n], content[from:min(a.Size, from+int64(len(part)))]) {
						t.Fatal(at, from, len(part), n, err)
					}
				}
				line += fmt.Sprintf(" %d %x", a.Size, objects.IDOf(content[:a.Size]))
			}
			all = append(all, line)
			if a.Kind == tree.Dir {
				walk(number, at)
			}
		}
	}
	walk(image.Root, "")
	return all
}

// scanned describes a directory in the same way, by reading it anew.
func scanned(t interface{ Fatal(...any) }, dir string) (all []string) {
	p, err := tracked.Open(tracked.Options{Workspace: dir, Store: dir + ".again", Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	s, _, err := p.Take(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	read, err := p.Tree(s.Number)
	if err != nil {
		t.Fatal(err)
	}
	links, dirs := map[uint64]int{}, map[string]int{}
	for path, n := range read.All() {
		if links[n.Hard]++; path != "" && n.Kind == tree.Dir {
			dirs[tree.Parent(path)]++
		}
	}
	first := map[uint64]string{}
	for path, n := range read.All() {
		if path == "" {
			continue
		}
		of, count := path, 1
		if n.Kind == tree.Dir {
			count = 2 + dirs[path]
		} else if n.Hard != 0 {
			if count = links[n.Hard]; first[n.Hard] == "" {
				first[n.Hard] = path
			}
			of = first[n.Hard]
		}
		line := fmt.Sprintf("%q %d %o %d links %d of %q", path, n.Kind, n.Mode, n.Mtime, count, of)
		for _, x := range n.Xattrs {
			line += fmt.Sprintf(" %s=%q", x.Name, x.Value)
		}
		switch n.Kind {
		case tree.Link:
			line += fmt.Sprintf(" -> %q", n.Target)
		case tree.File:
			var content bytes.Buffer
			if err := p.Content(&content, &n.Entry); err != nil {
				t.Fatal(err)
			}
			line += fmt.Sprintf(" %d %x", content.Len(), objects.IDOf(content.Bytes()))
		}
		all = append(all, line)
	}
	return all
}

// differ returns the lines that only one of two lists has, sorted.
func differ(a, b []string) (only []string) {
	for _, l := range a {
		if !slices.Contains(b, l) {
			only = append(only, "- "+l)
		}
	}
	for _, l := range b {
		if !slices.Contains(a, l) {
			only = append(only, "+ "+l)
		}
	}
	return only
}

func TestAnImageIsWhatACheckoutWrites(t *testing.T) {
	top := t.TempDir()
	editor := treetest.StartEditor(t)
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(top, "case")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tracked.RemoveAll(dir) }()
		workspace := filepath.Join(dir, "workspace")
		if err := os.Mkdir(workspace, 0o755); err != nil {
			t.Fatal(err)
		}
		p, err := tracked.Open(tracked.Options{Workspace: workspace, Store: filepath.Join(dir, "store"), Clock: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = p.Close() }()
		var numbers []uint64
		for range rapid.IntRange(1, 3).Draw(t, "snapshots") {
			for range rapid.IntRange(1, 12).Draw(t, "edits") {
				editor.Edit(t, workspace)
			}
			s, _, err := p.Take(context.Background(), "")
			if err != nil {
				t.Fatal(err)
			}
			numbers = append(numbers, s.Number)
		}
		number := rapid.SampledFrom(numbers).Draw(t, "of")
		at, copied := filepath.Join(dir, "image"), filepath.Join(dir, "copy")
		if err := errors.Join(os.Mkdir(at, 0o700), p.Checkout(context.Background(), number, copied, false)); err != nil {
			t.Fatal(err)
		}
		m, err := made(p, number, at)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = m.Close() }()
		got, want := lines(t, m), scanned(t, copied)
		if only := differ(want, got); len(only) > 0 {
			t.Fatal(strings.Join(only, "\n"))
		}
		// What is deleted and collected afterwards takes nothing from it.
		if _, err := p.Prune(context.Background(), slices.Compact(numbers)...); err != nil {
			t.Fatal(err)
		}
		if again := lines(t, m); !slices.Equal(again, got) {
			t.Fatal(strings.Join(differ(got, again), "\n"))
		}
	})
}

// one has a workspace with a snapshot, and its image.
func one(t *testing.T, fill func(dir string) error) (*image.Image, string) {
	t.Helper()
	dir := t.TempDir()
	workspace := filepath.Join(dir, "workspace")
	if err := errors.Join(os.Mkdir(workspace, 0o755), fill(workspace)); err != nil {
		t.Fatal(err)
	}
	p, err := tracked.Open(tracked.Options{Workspace: workspace, Store: filepath.Join(dir, "store"), Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	s, _, err := p.Take(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	m, err := made(p, s.Number, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m, dir
}

func TestHolesOfLargeFilesAreKnown(t *testing.T) {
	const size = 40 << 20
	m, _ := one(t, func(dir string) error {
		f, err := os.Create(filepath.Join(dir, "sparse"))
		if err != nil {
			return err
		}
		_, err = f.WriteAt([]byte("in the middle"), 20<<20)
		return errors.Join(err, f.Truncate(size), f.Close())
	})
	number, _ := m.Lookup(image.Root, "sparse")
	a, _ := m.Attr(number)
	if a.Size != size || !a.Sparse {
		t.Skipf("the filesystem has no holes: %+v", a)
	}
	if n := m.Allocated(number); n == 0 || n > 8<<20 {
		t.Errorf("%d bytes are allocated", n)
	}
	data, ok, err := m.Seek(number, 0, false)
	if err != nil || !ok || data == 0 || data > 20<<20 {
		t.Errorf("data at %d, %v, %v", data, ok, err)
	}
	hole, ok, err := m.Seek(number, data, true)
	if err != nil || !ok || hole <= 20<<20 || hole >= size {
		t.Errorf("a hole at %d, %v, %v", hole, ok, err)
	}
	if at, ok, err := m.Seek(number, hole, false); ok || err != nil {
		t.Errorf("more data at %d, %v", at, err)
	}
	if at, ok, _ := m.Seek(number, size, true); ok {
		t.Errorf("a hole at %d", at)
	}
	b := make([]byte, 13)
	if n, err := m.ReadAt(number, b, 20<<20); err != nil || string(b[:n]) != "in the middle" {
		t.Errorf("%q, %v", b[:n], err)
	}
}

func TestADamagedContentIsAnError(t *testing.T) {
	m, dir := one(t, func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "file"), bytes.Repeat([]byte("incompressible? no"), 1000), 0o600)
	})
	packs, err := filepath.Glob(filepath.Join(dir, "packs", "*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatal(packs, err)
	}
	data, err := os.ReadFile(packs[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := len(data) / 2; i < len(data); i++ {
		data[i] ^= 0xff
	}
	if err := os.WriteFile(packs[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	number, _ := m.Lookup(image.Root, "file")
	if n, err := m.ReadAt(number, make([]byte, 100), 0); !errors.Is(err, objects.ErrMissing) {
		t.Errorf("%d, %v", n, err)
	}
}

func TestADamagedIndexIsRefused(t *testing.T) {
	_, dir := one(t, func(dir string) error { return os.WriteFile(filepath.Join(dir, "file"), []byte("content"), 0o600) })
	index := filepath.Join(dir, "index")
	data, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		damaged := slices.Clone(data)
		damaged[i] ^= 1
		if err := os.WriteFile(index, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := image.Open(index, filepath.Join(dir, "packs")); err == nil {
			t.Fatalf("byte %d", i)
		}
		if err := os.WriteFile(index, data[:i], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := image.Open(index, filepath.Join(dir, "packs")); err == nil {
			t.Fatalf("the first %d bytes", i)
		}
	}
	if _, err := image.Open(filepath.Join(dir, "none"), dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

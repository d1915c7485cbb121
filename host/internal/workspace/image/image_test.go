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
	if _, err := tracked.Export(context.Background(), p, number, files(dir), false); err != nil {
		return nil, err
	}
	return image.Open(files(dir))
}

func files(dir string) image.Files {
	return image.Files{Index: filepath.Join(dir, "index"), Changes: filepath.Join(dir, "changes"), Packs: filepath.Join(dir, "packs")}
}

// lines describes an image: a line for each path, with the paths of its hard links together.
func lines(t interface{ Fatal(...any) }, m *image.Image) (all []string) {
	first := map[uint64]string{}
	var walk func(dir uint64, path string)
	walk = func(dir uint64, path string) {
		for i := 0; ; i++ {
			name, number, ok, _ := m.Entry(dir, i)
			if !ok {
				return
			}
			if found, ok, _ := m.Lookup(dir, name); !ok || found != number {
				t.Fatal(name, found, number)
			}
			at := strings.TrimPrefix(path+"/"+name, "/")
			if _, known := first[number]; !known {
				first[number] = at
			}
			a, ok, _ := m.Attr(number)
			if !ok {
				t.Fatal(at)
			}
			line := fmt.Sprintf("%q %d %o %d links %d of %q", at, a.Kind, a.Mode, a.Mtime, a.Links, first[number])
			xattrs, _ := m.Xattrs(number)
			for _, x := range xattrs {
				line += fmt.Sprintf(" %s=%q", x.Name, x.Value)
			}
			switch a.Kind {
			case tree.Link:
				target, _ := m.Target(number)
				line += fmt.Sprintf(" -> %q", target)
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
		number, near := rapid.SampledFrom(numbers).Draw(t, "of"), rapid.SampledFrom(numbers).Draw(t, "near")
		at, copied := filepath.Join(dir, "image"), filepath.Join(dir, "copy")
		if err := errors.Join(os.Mkdir(at, 0o700), p.Checkout(context.Background(), number, copied, false)); err != nil {
			t.Fatal(err)
		}
		// An earlier image leaves an index, from which this one is made.
		earlier := filepath.Join(dir, "earlier")
		if err := os.Mkdir(earlier, 0o700); err != nil {
			t.Fatal(err)
		}
		if m, err := made(p, near, earlier); err != nil || m.Close() != nil {
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
		if u := m.Usage(); u != used(m) {
			t.Fatal(u, used(m))
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
	number, _, _ := m.Lookup(image.Root, "sparse")
	a, _, _ := m.Attr(number)
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
	number, _, _ := m.Lookup(image.Root, "file")
	if n, err := m.ReadAt(number, make([]byte, 100), 0); !errors.Is(err, objects.ErrMissing) {
		t.Errorf("%d, %v", n, err)
	}
}

// used counts what an image has.
func used(m *image.Image) (u image.Usage) {
	seen := map[uint64]bool{}
	var add func(number uint64)
	add = func(number uint64) {
		if seen[number] {
			return
		}
		seen[number] = true
		a, _, _ := m.Attr(number)
		u.Nodes++
		u.Blocks += uint64((a.Size + image.BlockSize - 1) / image.BlockSize) //nolint:gosec // a size
		for i := 0; ; i++ {
			_, below, ok, _ := m.Entry(number, i)
			if !ok {
				return
			}
			add(below)
		}
	}
	add(image.Root)
	return u
}

// near has a workspace with two snapshots of a file, and the images of both, made of one index.
func near(t *testing.T) (p *tracked.Provider, first, second string) {
	t.Helper()
	dir := t.TempDir()
	workspace := filepath.Join(dir, "workspace")
	first, second = filepath.Join(dir, "first"), filepath.Join(dir, "second")
	if err := errors.Join(os.Mkdir(workspace, 0o755), os.Mkdir(first, 0o700), os.Mkdir(second, 0o700)); err != nil {
		t.Fatal(err)
	}
	p, err := tracked.Open(tracked.Options{Workspace: workspace, Store: filepath.Join(dir, "store"), Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	for _, at := range []string{first, second} {
		if err := os.WriteFile(filepath.Join(workspace, "file"), []byte("content of the "+filepath.Base(at)), 0o600); err != nil {
			t.Fatal(err)
		}
		s, _, err := p.Take(context.Background(), "")
		if err != nil {
			t.Fatal(err)
		}
		m, err := made(p, s.Number, at)
		if err != nil {
			t.Fatal(err)
		}
		has(t, m, "content of the "+filepath.Base(at))
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return p, first, second
}

// TestADamagedPageIsAnError: where it is needed, and nothing else is there instead.
func TestADamagedPageIsAnError(t *testing.T) {
	m, dir := one(t, func(dir string) error {
		for i := range 2000 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%04d", i)), nil, 0o600); err != nil {
				return err
			}
		}
		return nil
	})
	if _, ok, err := m.Attr(image.Root); !ok || err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(files(dir).Index, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	const page, nodeSize = 64 << 10, 96
	if _, err := f.WriteAt([]byte("damage"), page+100); err != nil {
		t.Fatal(err)
	}
	for range 2 { // what was read before is as what is read later
		whole, damaged := 0, 0
		for number := range m.Usage().Nodes {
			a, ok, err := m.Attr(number + 1)
			switch {
			case err != nil:
				damaged++
			case !ok || a.Mode == 0:
				t.Fatal(number+1, a)
			default:
				whole++
			}
		}
		if most := page/nodeSize + 2; damaged == 0 || damaged > most || whole != int(m.Usage().Nodes)-damaged { //nolint:gosec // a few thousand
			t.Errorf("%d nodes are whole, %d are damaged, of which a page has at most %d", whole, damaged, most)
		}
	}
}

// has checks the content of the only file.
func has(t *testing.T, m *image.Image, want string) {
	t.Helper()
	number, _, _ := m.Lookup(image.Root, "file")
	b := make([]byte, 100)
	if n, err := m.ReadAt(number, b, 0); err != nil || string(b[:n]) != want {
		t.Fatalf("%q, %v", b[:n], err)
	}
}

// TestImagesOfSnapshotsShareAnIndex: the cost of one is that of what differs.
func TestImagesOfSnapshotsShareAnIndex(t *testing.T) {
	_, first, second := near(t)
	a, errA := os.Stat(files(first).Index)
	b, errB := os.Stat(files(second).Index)
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(a, b) {
		t.Error("the second image has an index of its own")
	}
}

// TestAnIndexIsNotUsedAfterACollection: contents may be elsewhere then. Nor is one whose snapshot was deleted.
func TestAnIndexIsNotUsedAfterACollection(t *testing.T) {
	p, first, _ := near(t)
	if _, err := p.Prune(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	m, err := made(p, 2, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	has(t, m, "content of the second")
	a, errA := os.Stat(files(first).Index)
	b, errB := os.Stat(files(dir).Index)
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	if os.SameFile(a, b) {
		t.Error("the image has an index of a snapshot that was deleted")
	}
	kept, err := filepath.Glob(filepath.Join(filepath.Dir(first), "store", "images", "*"))
	if err != nil || len(kept) != 1 {
		t.Error(kept, err)
	}
}

// TestAnImageIsNotMadeDuringACollection: the index could name packs that the image does not link.
func TestAnImageIsNotMadeDuringACollection(t *testing.T) {
	p, _, _ := near(t)
	held, err := p.Hold(context.Background()) // as a collection has it
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := tracked.Export(ctx, p, 1, files(t.TempDir()), false); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestADamagedPartIsRefused: neither the index nor the changes since it are taken for others.
func TestADamagedPartIsRefused(t *testing.T) {
	_, first, second := near(t)
	for _, path := range []string{files(second).Index, files(second).Changes} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		// Such a small index is one page, which the changes need.
		refused := func(what string, content []byte) {
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := image.Open(files(second)); err == nil {
				t.Fatalf("%s: %s", filepath.Base(path), what)
			}
		}
		for i := range data {
			damaged := slices.Clone(data)
			damaged[i] ^= 1
			refused(fmt.Sprintf("byte %d", i), damaged)
			refused(fmt.Sprintf("the first %d bytes", i), data[:i])
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if m, err := image.Open(files(second)); err != nil || m.Close() != nil {
			t.Fatal(err)
		}
	}
	// Changes of another index.
	other, dir := t.TempDir(), files(first)
	if err := os.WriteFile(filepath.Join(other, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := tracked.Open(tracked.Options{Workspace: other, Store: t.TempDir(), Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	if _, _, err := p.Take(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if m, err := made(p, 1, to); err != nil || m.Close() != nil {
		t.Fatal(err)
	}
	dir.Index = files(to).Index
	if _, err := image.Open(dir); err == nil {
		t.Error("changes of another index are taken")
	}
	if err := os.Remove(files(second).Changes); err != nil {
		t.Fatal(err)
	}
	if _, err := image.Open(files(second)); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

package tracked_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// TestACopyBeginsWithItsSnapshot, whatever is edited afterwards on either side, and whatever either side deletes.
func TestACopyBeginsWithItsSnapshot(t *testing.T) {
	top := t.TempDir()
	editor := treetest.StartEditor(t)
	rapid.Check(t, func(t *rapid.T) {
		one := newSide(t, top, editor, false)
		one.edit(t, rapid.IntRange(1, 4).Draw(t, "snapshots"))
		from := rapid.SampledFrom(one.numbers()).Draw(t, "from")
		other := &side{dir: filepath.Join(one.base, "copy"), store: filepath.Join(one.base, "shared"), editor: editor, was: map[uint64][]string{from: one.was[from]}}
		if err := one.Checkout(context.Background(), from, other.dir, false); err != nil {
			t.Fatal(err)
		}
		copied := other.dir
		if rapid.Bool().Draw(t, "without stats") {
			copied = ""
		}
		if err := tracked.Share(context.Background(), one.Provider, from, other.store, copied); err != nil {
			t.Fatal(err)
		}
		other.open(t)
		defer func() { _ = other.Close() }()
		if list := other.List(); len(list) != 1 || list[0].Number != from {
			t.Fatalf("the copy begins with %+v instead of s%d", list, from)
		}
		s, same, err := other.Take(context.Background(), "first")
		if copied == "" { // hard links have other numbers here than in a snapshot of the filesystem
			same, other.was[s.Number] = true, one.was[from]
		}
		if err != nil || !same || copied != "" && s.Number != from {
			t.Fatalf("the first snapshot of the copy is %+v, %v: %v", s, same, err)
		}
		sides := []*side{one, other}
		for range rapid.IntRange(1, 5).Draw(t, "steps") {
			rapid.SampledFrom(sides).Draw(t, "side").step(t)
		}
		for _, s := range sides {
			s.check(t)
		}
	})
}

// side is a provider of a directory that is edited, with what each of its snapshots is.
type side struct {
	*tracked.Provider
	base, dir, store string
	editor           *treetest.Editor
	was              map[uint64][]string
	// watched is true where only the paths that may have changed are compared.
	watched bool
}

// newSide makes an empty directory with a store, both of which end with a case of a property.
func newSide(t *rapid.T, top string, editor *treetest.Editor, watched bool) *side {
	base, err := os.MkdirTemp(top, "case")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tracked.RemoveAll(base) })
	s := &side{base: base, dir: filepath.Join(base, "workspace"), store: filepath.Join(base, "store"), editor: editor, was: map[uint64][]string{}, watched: watched}
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s.open(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (s *side) open(t *rapid.T) {
	var changes tracked.Changes
	if s.watched {
		changes = treetest.Compare(t, s.dir)
	}
	s.Provider = openProvider(t, s.dir, s.store, changes)
}

func (s *side) numbers() (all []uint64) {
	for _, k := range s.List() {
		all = append(all, k.Number)
	}
	return all
}

// edit takes snapshots, each after some edits.
func (s *side) edit(t *rapid.T, snapshots int) {
	for range snapshots {
		for range rapid.IntRange(1, 8).Draw(t, "edits") {
			s.editor.Edit(t, s.dir)
		}
		k, _, err := s.Take(context.Background(), "test")
		if err != nil || len(k.Problems) > 0 {
			t.Fatal(k, err)
		}
		s.was[k.Number] = treetest.Read(t, s.dir)
	}
}

// step edits, deletes, or opens the store anew.
func (s *side) step(t *rapid.T) {
	switch rapid.IntRange(0, 2).Draw(t, "what") {
	case 0:
		s.edit(t, 1)
	case 1:
		gone := rapid.SampledFrom(s.numbers()).Draw(t, "deleted")
		if len(s.numbers()) == 1 {
			return
		}
		if _, err := s.Prune(context.Background(), gone); err != nil {
			t.Fatal(err)
		}
		delete(s.was, gone)
	case 2:
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s.open(t)
	}
}

func (s *side) check(t *rapid.T) {
	if damages := s.Check(); len(damages) > 0 {
		t.Fatal(damages)
	}
	for n, want := range s.was {
		dir := fmt.Sprintf("%s-s%d", s.dir, n)
		if err := s.Checkout(context.Background(), n, dir, false); err != nil {
			t.Fatal(err)
		}
		if got := treetest.Read(t, dir); !slices.Equal(got, want) {
			t.Fatalf("s%d of %s is\n%q\nwas\n%q", n, s.dir, got, want)
		}
	}
}

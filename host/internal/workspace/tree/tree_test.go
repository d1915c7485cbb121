package tree_test

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// names have any bytes, and some are so long that a directory of them is more than one block.
var names = rapid.Custom(func(t *rapid.T) string {
	name := rapid.SampledFrom([]string{"a", "b", "a-b", "a.b", "\xff", "ü", "\n"}).Draw(t, "name")
	return name + strings.Repeat("x", rapid.SampledFrom([]int{0, 0, 1, 200}).Draw(t, "long")) + fmt.Sprint(rapid.IntRange(0, 30).Draw(t, "number"))
})

var numbers = rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{0, -1, math.MinInt64, math.MaxInt64}))

var entries = rapid.Custom(func(t *rapid.T) *tree.Entry {
	e := &tree.Entry{
		Kind: rapid.SampledFrom([]tree.Kind{tree.File, tree.Dir, tree.Dir, tree.Link}).Draw(t, "kind"),
		Mode: rapid.Uint16Range(0, 0o7777).Draw(t, "mode"), Mtime: numbers.Draw(t, "mtime"),
	}
	if rapid.Bool().Draw(t, "plain") {
		e.Size, e.Content = 3, objects.IDOf([]byte{byte(e.Mode)})
		return e
	}
	e.Size, e.Chunked, e.Sparse = numbers.Draw(t, "size"), rapid.Bool().Draw(t, "chunked"), rapid.Bool().Draw(t, "sparse")
	e.Unread, e.Target = rapid.String().Draw(t, "unread"), rapid.String().Draw(t, "target")
	e.Hard = rapid.Uint64().Draw(t, "hard")
	for i := range rapid.IntRange(0, 2).Draw(t, "attributes") {
		e.Xattrs = append(e.Xattrs, tree.Xattr{Name: fmt.Sprint("user.", i), Value: rapid.SliceOf(rapid.Byte()).Draw(t, "value")})
	}
	return e
})

// changesOf draws changes of a state, which it makes too.
func changesOf(t *rapid.T, state map[string]*tree.Entry) []tree.Change {
	changes := map[string]tree.Change{}
	set := func(path string, e *tree.Entry) {
		c, known := changes[path]
		if !known {
			c = tree.Change{Path: path, Before: state[path]}
		}
		c.After = e
		changes[path] = c
		if state[path] = e; e == nil {
			delete(state, path)
		}
	}
	for range rapid.IntRange(0, 60).Draw(t, "edits") {
		dirs := slices.DeleteFunc(slices.Sorted(maps.Keys(state)), func(path string) bool { return state[path].Kind != tree.Dir })
		path := tree.Join(rapid.SampledFrom(dirs).Draw(t, "in"), names.Draw(t, "name"))
		var e *tree.Entry
		if rapid.IntRange(0, 3).Draw(t, "edit") > 0 {
			e = entries.Draw(t, "entry")
		} else if state[path] == nil {
			path = rapid.SampledFrom(slices.Sorted(maps.Keys(state))).Draw(t, "path")
			if path == "" {
				continue
			}
		}
		if e == nil || e.Kind != tree.Dir {
			for _, below := range slices.Sorted(maps.Keys(state)) {
				if below != path && tree.Within(below, path) {
					set(below, nil)
				}
			}
		}
		set(path, e)
	}
	all := slices.Collect(maps.Values(changes))
	tree.Sort(all)
	return all
}

// is fails unless a tree is a state.
func is(t *rapid.T, now *tree.Tree, state map[string]*tree.Entry) {
	before := ""
	n := 0
	for path, node := range now.All() {
		want := state[path]
		if want == nil || !reflect.DeepEqual(*want, node.Entry) && !want.Same(&node.Entry) {
			t.Fatalf("%q is %+v, and %+v in the tree", path, want, node.Entry)
		}
		if got := now.Lookup(path); got == nil || !reflect.DeepEqual(*got, *node) {
			t.Fatalf("%q is looked up as %+v", path, got)
		}
		if n > 0 && strings.Compare(strings.ReplaceAll(before, "/", "\x00"), strings.ReplaceAll(path, "/", "\x00")) >= 0 {
			t.Fatalf("%q comes after %q", path, before)
		}
		before = path
		n++
	}
	if n != len(state) || now.Files != n-1 {
		t.Fatalf("the tree has %d entries and counts %d, the state has %d", n, now.Files, len(state))
	}
}

// TestATreeIsWhatItWasChangedTo, after it was encoded and decoded too, and compared with what it was before.
func TestATreeIsWhatItWasChangedTo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := tree.New()
		state := map[string]*tree.Entry{"": &now.Lookup("").Entry}
		var steps [][]tree.Change
		for range rapid.IntRange(1, 5).Draw(t, "steps") {
			var kept bytes.Buffer
			if err := now.Encode(&kept); err != nil {
				t.Fatal(err)
			}
			encoded := slices.Clone(kept.Bytes())
			before, err := tree.Decode(&kept)
			if err != nil {
				t.Fatal(err)
			}
			was := maps.Clone(state)
			is(t, before, was)
			changes := changesOf(t, state)
			steps = append(steps, changes)
			if err := now.Apply(changes); err != nil {
				t.Fatal(err)
			}
			is(t, now, state)
			// The difference, applied to the tree before, gives the one after, and the other way round.
			changes = tree.Compare(before, now)
			if err := before.Apply(changes); err != nil {
				t.Fatal(err)
			}
			is(t, before, state)
			for i := range changes {
				changes[i] = changes[i].Reverse()
			}
			if err := before.Apply(changes); err != nil {
				t.Fatal(err)
			}
			is(t, before, was)
			if kept.Reset(); before.Encode(&kept) != nil || !bytes.Equal(kept.Bytes(), encoded) {
				t.Fatal("the tree is encoded otherwise after a change was undone")
			}
		}
		all := tree.New()
		if err := all.Apply(tree.Compose(steps...)); err != nil {
			t.Fatal(err)
		}
		is(t, all, state)
	})
}

func TestAChangeWithoutItsDirectoryIsAnError(t *testing.T) {
	now := tree.New()
	file := &tree.Entry{Kind: tree.File}
	if err := now.Apply([]tree.Change{{Path: "a/b", After: file}}); err == nil {
		t.Error("a file was put into a directory that does not exist")
	}
	if err := now.Apply([]tree.Change{{Path: "", After: file}}); err == nil {
		t.Error("the root became a file")
	}
	if err := now.Apply([]tree.Change{{Path: "a", After: &tree.Entry{Kind: 6}}}); err == nil {
		t.Error("an entry of an unknown kind was taken")
	}
	if err := now.Apply([]tree.Change{{Path: "a/b", Before: file}}); err != nil {
		t.Error(err)
	}
}

// FuzzDecode: what is damaged is an error, and what is decoded is encoded as a tree again.
func FuzzDecode(f *testing.F) {
	now := tree.New()
	_ = now.Apply([]tree.Change{
		{Path: "a", After: &tree.Entry{Kind: tree.Dir, Mode: 0o755}},
		{Path: "a/b", After: &tree.Entry{Kind: tree.File, Size: 1}},
		{Path: "c", After: &tree.Entry{Kind: tree.Link, Target: "a"}},
	})
	var b bytes.Buffer
	if err := now.Encode(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:b.Len()/2])
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := tree.Decode(bytes.NewReader(data))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := first.Encode(&again); err != nil {
			t.Fatal(err)
		}
		second, err := tree.Decode(&again)
		if err != nil {
			t.Fatal(err)
		}
		if changes := tree.Compare(first, second); len(changes) > 0 || first.Files != second.Files {
			t.Fatal(changes)
		}
	})
}

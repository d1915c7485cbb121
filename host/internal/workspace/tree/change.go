package tree

import (
	"cmp"
	"maps"
	"slices"
)

// Change is what happened to a path between two states. Before is nil where it was added, After where it was removed.
type Change struct {
	_msgpack struct{} `msgpack:",as_array"` //nolint:unused // it tells msgpack the form

	Path   string
	Before *Entry
	After  *Entry
}

// Reverse returns the change in the other direction.
func (c Change) Reverse() Change { return Change{Path: c.Path, Before: c.After, After: c.Before} }

// Sort sorts changes by path, with a directory before what is in it.
func Sort(changes []Change) {
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(order(a.Path), order(b.Path)) })
}

// order makes "/" sort before every other byte, so that a directory's content follows it.
func order(path string) string {
	b := []byte(path)
	for i, c := range b {
		if c == '/' {
			b[i] = 0
		}
	}
	return string(b)
}

// Compose returns the changes from the first state to the last one, from those of consecutive steps. What came and went
// is left out.
func Compose(steps ...[]Change) []Change {
	if len(steps) == 1 {
		return steps[0]
	}
	all := map[string]Change{}
	for _, step := range steps {
		for _, c := range step {
			if earlier, ok := all[c.Path]; ok {
				c.Before = earlier.Before
			}
			all[c.Path] = c
		}
	}
	maps.DeleteFunc(all, func(_ string, c Change) bool {
		return c.Before == nil && c.After == nil || c.Before != nil && c.After != nil && c.Before.Same(c.After)
	})
	changes := slices.Collect(maps.Values(all))
	Sort(changes)
	return changes
}

// Apply changes a tree. The changes must be sorted, and those of one step or composed.
func (t *Tree) Apply(changes []Change) {
	for _, c := range changes {
		if c.After == nil {
			t.Remove(c.Path)
			continue
		}
		t.Set(c.Path, &Node{Entry: *c.After})
	}
}

// Entries returns the content of a tree as changes from an empty one.
func (t *Tree) Entries() []Change {
	changes := make([]Change, 0, t.Files+1)
	for path, n := range t.All() {
		changes = append(changes, Change{Path: path, After: &n.Entry})
	}
	return changes
}

// Compare returns the changes from one tree to another one.
func Compare(from, to *Tree) []Change {
	var changes []Change
	compare("", &from.Root, &to.Root, &changes)
	return changes
}

func compare(path string, a, b *Node, changes *[]Change) {
	switch {
	case a == nil:
		*changes = append(*changes, Change{Path: path, After: &b.Entry})
	case b == nil:
		*changes = append(*changes, Change{Path: path, Before: &a.Entry})
	case !a.Same(&b.Entry):
		*changes = append(*changes, Change{Path: path, Before: &a.Entry, After: &b.Entry})
	}
	var left, right []*Node
	if a != nil {
		left = a.Children
	}
	if b != nil {
		right = b.Children
	}
	for len(left) > 0 || len(right) > 0 {
		switch {
		case len(right) == 0 || len(left) > 0 && left[0].Name < right[0].Name:
			compare(Join(path, left[0].Name), left[0], nil, changes)
			left = left[1:]
		case len(left) == 0 || left[0].Name > right[0].Name:
			compare(Join(path, right[0].Name), nil, right[0], changes)
			right = right[1:]
		default:
			compare(Join(path, left[0].Name), left[0], right[0], changes)
			left, right = left[1:], right[1:]
		}
	}
}

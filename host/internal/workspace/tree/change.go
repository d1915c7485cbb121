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

// Reversed returns changes in the other direction.
func Reversed(changes []Change) []Change {
	reversed := make([]Change, len(changes))
	for i, c := range changes {
		reversed[i] = c.Reverse()
	}
	return reversed
}

// Sort sorts changes by path, with a directory before what is in it.
func Sort(changes []Change) {
	slices.SortFunc(changes, func(a, b Change) int { return order(a.Path, b.Path) })
}

// order compares paths. "/" sorts before every other byte, so that a directory's content follows it.
func order(a, b string) int {
	n := common(a, b)
	switch {
	case n == len(a) || n == len(b):
		return len(a) - len(b)
	case a[n] == '/':
		return -1
	case b[n] == '/':
		return 1
	}
	return cmp.Compare(a[n], b[n])
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

// Apply changes a tree. The changes must be sorted, and those of one step or composed. An error means that they are not of this tree.
func (t *Tree) Apply(changes []Change) error {
	return t.put(func(yield func(string, *Node) bool) {
		for _, c := range changes {
			var n *Node
			if c.After != nil {
				n = &Node{Entry: *c.After}
			}
			if !yield(c.Path, n) {
				return
			}
		}
	})
}

// Entries returns the content of a tree as changes from an empty one.
func (t *Tree) Entries() []Change { return Compare(New(), t) }

// Compare returns the changes from one tree to another one.
func Compare(from, to *Tree) []Change {
	var changes []Change
	compare("", from.root, to.root, &changes)
	return changes
}

func compare(path string, a, b ref, changes *[]Change) {
	if a.record != b.record {
		if before, after := a.entry(), b.entry(); before == nil || after == nil || !before.Same(after) {
			*changes = append(*changes, Change{Path: path, Before: before, After: after})
		}
	}
	left, right := a.sub.cursor(), b.sub.cursor()
	moreA, moreB := left.next(), right.next()
	for moreA || moreB {
		switch {
		case !moreB || moreA && left.name < right.name:
			compare(Join(path, left.name), left.ref, ref{}, changes)
			moreA = left.next()
		case !moreA || left.name > right.name:
			compare(Join(path, right.name), ref{}, right.ref, changes)
			moreB = right.next()
		default:
			compare(Join(path, left.name), left.ref, right.ref, changes)
			moreA, moreB = left.next(), right.next()
		}
	}
}

// Count returns how many changes a reader counts: without those of directories, unless there are no others. The time of a directory
// changes with each file that is created in it.
func Count(changes []Change) int {
	dirs := 0
	for _, c := range changes {
		if cmp.Or(c.After, c.Before).Kind == Dir {
			dirs++
		}
	}
	if dirs < len(changes) {
		return len(changes) - dirs
	}
	return dirs
}

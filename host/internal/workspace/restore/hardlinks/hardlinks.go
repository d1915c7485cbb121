// Package hardlinks tells which names of two states of a workspace are one file.
//
// It guarantees: a change is the same in both states only if the file keeps all of its names.
package hardlinks

import (
	"slices"

	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// Groups are the names of the hard links of two states, by the numbers that they have in them. A number means nothing beyond its state:
// a restored file has another inode.
type Groups struct {
	Before, After map[uint64][]string
}

// Of returns the groups of the state that now is, and of the one after changes. It reads the tree only if one of the
// changes is of a hard link.
func Of(now *tree.Tree, changes []tree.Change) Groups {
	g := Groups{map[uint64][]string{}, map[uint64][]string{}}
	hard := func(e *tree.Entry) bool { return e != nil && e.Hard != 0 }
	if !slices.ContainsFunc(changes, func(c tree.Change) bool { return hard(c.Before) || hard(c.After) }) {
		return g
	}
	changed := map[string]bool{}
	for _, c := range changes {
		changed[c.Path] = true
		if hard(c.After) {
			g.After[c.After.Hard] = append(g.After[c.After.Hard], c.Path)
		}
	}
	for path, n := range now.All() {
		if n.Hard == 0 {
			continue
		}
		g.Before[n.Hard] = append(g.Before[n.Hard], path)
		if !changed[path] {
			g.After[n.Hard] = append(g.After[n.Hard], path)
		}
	}
	for _, state := range []map[uint64][]string{g.Before, g.After} {
		for _, paths := range state {
			slices.Sort(paths)
		}
	}
	return g
}

// Same reports whether a change keeps a file in its group. That of a file whose other names are outside of the workspace cannot
// be restored, so that a file of its own is the same.
func (g Groups) Same(c tree.Change) bool {
	if c.Before.Hard == 0 && c.After.Hard != 0 {
		return len(g.After[c.After.Hard]) == 1
	}
	if c.Before.Hard == 0 || c.After.Hard == 0 {
		return c.Before.Hard == c.After.Hard
	}
	return slices.Equal(g.Before[c.Before.Hard], g.After[c.After.Hard])
}

// Apart returns the changes that are more than another number of the same group.
func (g Groups) Apart(changes []tree.Change) []tree.Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c tree.Change) bool {
		return c.Before != nil && c.After != nil && Alike(c.Before, c.After) && g.Same(c)
	})
}

// Alike reports whether two entries are the same but for their hard links.
func Alike(a, b *tree.Entry) bool {
	x, y := *a, *b
	x.Hard, y.Hard = 0, 0
	return x.Same(&y)
}

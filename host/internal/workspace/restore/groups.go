package restore

import (
	"slices"

	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// groups are the hard links of two states, by the numbers that they have in them. A number means nothing beyond its state:
// a restored file has another inode.
type groups struct {
	before, after map[uint64][]string
}

// groupsOf returns the groups of the state that now is, and of the one after changes. It reads the tree only if one of the
// changes is of a hard link.
func groupsOf(now *tree.Tree, changes []tree.Change) groups {
	g := groups{map[uint64][]string{}, map[uint64][]string{}}
	hard := func(e *tree.Entry) bool { return e != nil && e.Hard != 0 }
	if !slices.ContainsFunc(changes, func(c tree.Change) bool { return hard(c.Before) || hard(c.After) }) {
		return g
	}
	changed := map[string]bool{}
	for _, c := range changes {
		changed[c.Path] = true
		if hard(c.After) {
			g.after[c.After.Hard] = append(g.after[c.After.Hard], c.Path)
		}
	}
	for path, n := range now.All() {
		if n.Hard == 0 {
			continue
		}
		g.before[n.Hard] = append(g.before[n.Hard], path)
		if !changed[path] {
			g.after[n.Hard] = append(g.after[n.Hard], path)
		}
	}
	for _, paths := range g.after {
		slices.Sort(paths)
	}
	for _, paths := range g.before {
		slices.Sort(paths)
	}
	return g
}

// same reports whether a change keeps a file in its group. That of a file whose other names are outside of the workspace cannot
// be restored, so that a file of its own is the same.
func (g groups) same(c tree.Change) bool {
	if c.Before.Hard == 0 && c.After.Hard != 0 {
		return len(g.after[c.After.Hard]) == 1
	}
	if c.Before.Hard == 0 || c.After.Hard == 0 {
		return c.Before.Hard == c.After.Hard
	}
	return slices.Equal(g.before[c.Before.Hard], g.after[c.After.Hard])
}

// apart returns the changes that are more than another number of the same group.
func (g groups) apart(changes []tree.Change) []tree.Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c tree.Change) bool {
		return c.Before != nil && c.After != nil && alike(c.Before, c.After) && g.same(c)
	})
}

// alike reports whether two entries are the same but for their hard links.
func alike(a, b *tree.Entry) bool {
	x, y := *a, *b
	x.Hard, y.Hard = 0, 0
	return x.Same(&y)
}

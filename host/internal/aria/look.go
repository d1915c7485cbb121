package aria

import (
	"slices"

	"tidemark.dev/tidemark/host/internal/aria/roles"
)

// afterLook returns a tree as an agent knows it that knew the old tree and was then shown the interactive part of the new
// one: by a difference to before, or by a listing if before is nil. What was not shown, or left out to fit, stays in its
// old state. A listing does not show whether a missing element was removed or is only no longer interactive. What is new
// counts as known with its text; unread reports that there is such text.
func afterLook(old, now, part, before *Node, left map[int]bool) (known *Node, unread bool) {
	if old == now {
		return now, false
	}
	l := &looked{was: map[int]*Node{}, is: references(now), had: map[int]bool{}, shown: references(part)}
	for ref := range left {
		delete(l.shown, ref)
	}
	switch {
	case before != nil:
		l.had = references(before)
	case len(left) == 0:
		Interactive(old).Walk(func(n *Node) { l.had[n.Ref] = roles.Operable[n.Role] || n.Role == "heading" })
	}
	old.Walk(func(n *Node) { l.was[n.Ref] = n })
	return l.known(now)[0], l.unread // the root, which every part has
}

// looked records which nodes of two trees were shown, by reference.
type looked struct {
	was            map[int]*Node
	is, had, shown map[int]bool
	// unread is true if a node counts as known of which something was not shown.
	unread bool
}

func references(root *Node) map[int]bool {
	refs := map[int]bool{}
	root.Walk(func(n *Node) { refs[n.Ref] = true })
	return refs
}

// known returns a node of the new tree as the agent knows it, or its known descendants if it is new and was not shown.
func (l *looked) known(n *Node) []*Node {
	old := l.was[n.Ref]
	if old == n {
		return []*Node{n}
	}
	var children []*Node
	for _, c := range n.Children {
		children = append(children, l.known(c)...)
	}
	if old != nil {
		children = l.withGone(old, children)
	}
	fresh := l.shown[n.Ref]
	n.Walk(func(c *Node) { fresh = fresh && l.was[c.Ref] == nil })
	switch {
	case fresh: // its text too: an agent that looks at the interactive part does not want it
		n.Walk(func(c *Node) { l.unread = l.unread || !l.shown[c.Ref] })
		return []*Node{n}
	case l.shown[n.Ref]:
		return []*Node{copyOf(n, children)}
	case old != nil:
		return []*Node{copyOf(old, children)}
	}
	return children
}

// withGone adds the removed children of a node to its known ones, unless the answer showed their removal.
func (l *looked) withGone(old *Node, children []*Node) []*Node {
	after := -1
	for _, c := range old.Children {
		if l.is[c.Ref] {
			if at := slices.IndexFunc(children, func(k *Node) bool { return k.Ref == c.Ref }); at >= 0 {
				after = at
			}
			continue
		}
		if l.had[c.Ref] {
			continue
		}
		after++
		children = slices.Insert(children, after, copyOf(c, l.withGone(c, nil)))
	}
	return children
}

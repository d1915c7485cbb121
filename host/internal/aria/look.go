package aria

import "slices"

// afterLook is a tree as it is known to somebody who knew the old one, and was then shown the interactive part of the
// new one, by a difference to what that was before or, without one, by a listing. What was not shown, or was left out
// to fit, is as it was. By a listing it is not plain that an element is gone which may only be no part of it any more.
func afterLook(old, now, part, before *Node, left map[int]bool) *Node {
	if old == now {
		return now
	}
	l := &looked{was: map[int]*Node{}, is: references(now), had: map[int]bool{}, shown: references(part)}
	for ref := range left {
		delete(l.shown, ref)
	}
	switch {
	case before != nil:
		l.had = references(before)
	case len(left) == 0:
		Interactive(old).Walk(func(n *Node) { l.had[n.Ref] = operable[n.Role] || n.Role == "heading" })
	}
	old.Walk(func(n *Node) { l.was[n.Ref] = n })
	return l.known(now)[0] // the root, which every part has
}

// looked is what was shown of two trees, by reference.
type looked struct {
	was            map[int]*Node
	is, had, shown map[int]bool
}

func references(root *Node) map[int]bool {
	refs := map[int]bool{}
	root.Walk(func(n *Node) { refs[n.Ref] = true })
	return refs
}

// known is what is known of a node of the new tree; of one that is new and was not shown, what is known in it.
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
	switch {
	case l.shown[n.Ref]:
		return []*Node{copyOf(n, children)}
	case old != nil:
		return []*Node{copyOf(old, children)}
	}
	return children
}

// withGone adds to what is known in a node what was in it and is gone, unless that was to be seen.
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

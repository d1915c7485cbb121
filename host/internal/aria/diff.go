package aria

import (
	"slices"
	"sync"
)

// Diff is what has to be done to a tree to get another one. References are those of nodes; text has some
// too, below 0.
type Diff struct {
	Changed []Change
	// Added are nodes that are new, with all that they hold: what was elsewhere before has moved there.
	// After is the node before them under the same parent, 0 for the first.
	Added []Addition
	// Moved are nodes that stand elsewhere now, in the order of the new tree.
	Moved []Move
	// Removed are the topmost of those that are gone.
	Removed []Removal
	// Gone are the references of all elements that are gone, Unlisted of those that are only no part any more of what
	// is shown of the page.
	Gone, Unlisted []int
	// Touched counts the elements that were changed, added, moved or removed, whatever else they hold;
	// Total those of the larger of the two trees.
	Touched, Total int

	touched []int // the elements that Touched counts, and text
}

// Change is a node whose own properties differ. In is the node that it stands in, and Around the one around
// that.
type Change struct{ Old, New, In, Around *Node }

// Addition is a new node with all that it holds.
type Addition struct {
	In    *Node
	After *Node // nil for the first
	Last  bool  // nothing old follows it
	Node  *Node
}

// Move is a node that stands elsewhere now.
type Move struct {
	In    *Node
	After *Node
	Node  *Node
}

// Removal is a node that is gone, and what it stood in.
type Removal struct{ Node, In *Node }

// Range is a run of references, both ends among them.
type Range struct{ From, To int }

// maxRanges is how many ranges of unchanged references are listed; of more, the longest alone.
const maxRanges = 5

// Empty says that the trees are the same.
func (d *Diff) Empty() bool {
	return len(d.Changed)+len(d.Added)+len(d.Moved)+len(d.Removed) == 0
}

// withoutFocus is a difference to a tree without where the focus went, which whoever moved it knows, and the tree as it
// is known by that: with the focus where it was.
func withoutFocus(d *Diff, now *Node) (*Diff, *Node) {
	out := *d
	out.Changed = nil
	moved := focusMoved(d)
	for _, c := range d.Changed {
		if moved[c.New.Ref] {
			old, now := *c.Old, *c.New
			old.States, now.States = unfocused(old.States), unfocused(now.States)
			if old.Role == now.Role && sameProperties(&old, &now) {
				continue
			}
			c.Old, c.New = &old, &now
		}
		out.Changed = append(out.Changed, c)
	}
	return &out, refocused(now, moved)
}

// focusMoved are the elements that got the focus or lost it.
func focusMoved(d *Diff) map[int]bool {
	moved := map[int]bool{}
	for _, c := range d.Changed {
		if c.Old.Has(focused) != c.New.Has(focused) {
			moved[c.New.Ref] = true
		}
	}
	return moved
}

// refocused is a tree in which some elements have the focus if they have not, and otherwise lose it.
func refocused(n *Node, moved map[int]bool) *Node {
	if len(moved) == 0 {
		return n
	}
	children := n.Children
	for i, c := range n.Children {
		if k := refocused(c, moved); k != c {
			if same(children, n.Children) {
				children = slices.Clone(n.Children)
			}
			children[i] = k
		}
	}
	if !moved[n.Ref] {
		if same(children, n.Children) {
			return n
		}
		return copyOf(n, children)
	}
	k := copyOf(n, children)
	if k.States = unfocused(n.States); !n.Has(focused) {
		k.States = append(k.States, focused)
	}
	return k
}

// focused is the state of the element that takes what is typed.
const focused = "focused"

func unfocused(states []string) []string {
	return slices.DeleteFunc(slices.Clone(states), func(s string) bool { return s == focused })
}

// Share is which part of the elements was touched.
func (d *Diff) Share() float64 {
	if d.Total == 0 {
		return 0
	}
	return float64(d.Touched) / float64(d.Total)
}

// differ compares two trees.
type differ struct {
	old, now refs[*Node]
	d        Diff
	touched  refs[bool]
}

// differs are kept from comparison to comparison: their lists are as long as pages are large.
var differs = sync.Pool{New: func() any { return &differ{} }}

// clear makes a differ ready for other trees.
func (df *differ) clear() {
	df.d = Diff{}
	df.old.clear()
	df.now.clear()
	df.touched.clear()
}

// refs maps references, of elements and of text, to values; references are dense, so that it is two lists.
type refs[T any] struct{ elements, texts []T }

func (r *refs[T]) at(ref int) *T {
	list, i := &r.elements, ref
	if ref < 0 {
		list, i = &r.texts, -ref
	}
	if n := i + 1 - len(*list); n > 0 {
		*list = append(*list, make([]T, n)...)
	}
	return &(*list)[i]
}

// clear empties both lists; what they are long enough for they stay.
func (r *refs[T]) clear() {
	clear(r.elements)
	clear(r.texts)
	r.elements, r.texts = r.elements[:0], r.texts[:0]
}

// Compare says what has to be done to old to get now. It takes time in proportion to the size of both.
func Compare(old, now *Node) *Diff {
	df := differs.Get().(*differ)
	defer func() {
		df.clear()
		differs.Put(df)
	}()
	if old == now {
		return df.finish(old, now)
	}
	*df.old.at(old.Ref), *df.now.at(now.Ref) = old, now
	df.index(old, now)
	if !sameProperties(old, now) {
		df.d.Changed = append(df.d.Changed, Change{Old: old, New: now})
	}
	df.children(old, now, nil)
	df.removed(old, nil, false)
	return df.finish(old, now)
}

// index notes where the nodes are in both trees. Of a subtree that both trees share, under the same node,
// only the top is noted: nothing can have happened in it.
func (df *differ) index(old, now *Node) {
	var byRef func(i, ref int) *Node
	if aligned(old.Children, now.Children) {
		byRef = func(i, _ int) *Node { return now.Children[i] }
	} else {
		here := make(map[int]*Node, len(now.Children))
		for _, c := range now.Children {
			here[c.Ref] = c
		}
		byRef = func(_, ref int) *Node { return here[ref] }
		there := make(map[int]bool, len(old.Children))
		for _, c := range old.Children {
			there[c.Ref] = true
		}
		for _, c := range now.Children {
			if !there[c.Ref] {
				note(&df.now, c)
			}
		}
	}
	for i, c := range old.Children {
		n := byRef(i, c.Ref)
		if n == nil {
			note(&df.old, c)
			continue
		}
		*df.old.at(c.Ref), *df.now.at(n.Ref) = c, n
		if c != n {
			df.index(c, n)
		}
	}
}

// aligned says whether two lists are of the same references.
func aligned(a, b []*Node) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Ref != b[i].Ref {
			return false
		}
	}
	return true
}

// note notes where a node is, and all that it holds.
func note(to *refs[*Node], n *Node) {
	*to.at(n.Ref) = n
	for _, c := range n.Children {
		note(to, c)
	}
}

// children compares what two nodes of the same reference hold.
func (df *differ) children(old, now, around *Node) {
	if old == now {
		return
	}
	stay := df.staying(old, now)
	var after *Node
	last := 0 // how many of the last ones are new
	for i := len(now.Children) - 1; i >= 0 && *df.old.at(now.Children[i].Ref) == nil; i-- {
		last++
	}
	for i, c := range now.Children {
		was := *df.old.at(c.Ref)
		switch was {
		case nil:
			df.d.Added = append(df.d.Added, Addition{In: now, After: after, Last: i >= len(now.Children)-last, Node: c})
			df.touchAll(c)
			df.touchText(c, now)
		default:
			if !stay[i] {
				df.d.Moved = append(df.d.Moved, Move{In: now, After: after, Node: c})
				df.touch(c.Ref)
				df.touchText(c, now)
			}
			if !sameProperties(was, c) {
				df.d.Changed = append(df.d.Changed, Change{Old: was, New: c, In: now, Around: around})
				df.touch(c.Ref)
				df.touchText(c, now)
			}
			df.children(was, c, now)
		}
		after = c
	}
}

// staying says which children of now are where they were among those of old: the longest run of them whose
// order is unchanged.
func (df *differ) staying(old, now *Node) []bool {
	stay := make([]bool, len(now.Children))
	if aligned(old.Children, now.Children) {
		for i := range stay {
			stay[i] = true
		}
		return stay
	}
	at := make(map[int]int, len(old.Children))
	for i, c := range old.Children {
		at[c.Ref] = i
	}
	// The longest increasing subsequence of old places.
	var tails, from []int // ends of runs by their length, as indices of now; the one before each
	from = make([]int, len(now.Children))
	place := make([]int, len(now.Children))
	for i, c := range now.Children {
		was, there := at[c.Ref]
		if !there {
			continue
		}
		place[i] = was
		n, _ := slices.BinarySearchFunc(tails, was, func(j, want int) int { return place[j] - want })
		from[i] = -1
		if n > 0 {
			from[i] = tails[n-1]
		}
		if n == len(tails) {
			tails = append(tails, i)
		} else {
			tails[n] = i
		}
	}
	if len(tails) > 0 {
		for i := tails[len(tails)-1]; i >= 0; i = from[i] {
			stay[i] = true
		}
	}
	return stay
}

// removed lists the topmost nodes that are not in the new tree, also inside what is gone: a part of it may
// have moved away.
func (df *differ) removed(n, in *Node, inside bool) {
	now := *df.now.at(n.Ref)
	if now == n {
		return
	}
	isGone := now == nil
	if isGone {
		if n.Ref > 0 {
			df.d.Gone = append(df.d.Gone, n.Ref)
		}
		if !inside {
			df.d.Removed = append(df.d.Removed, Removal{Node: n, In: in})
		}
		df.touch(n.Ref)
		df.touchText(n, in)
	}
	for _, c := range n.Children {
		df.removed(c, n, isGone)
	}
}

func (df *differ) touch(ref int) {
	if t := df.touched.at(ref); !*t {
		*t = true
		df.d.touched = append(df.d.touched, ref)
		if ref > 0 {
			df.d.Touched++
		}
	}
}

// touchText has an element count as changed when text that stands on its line did.
func (df *differ) touchText(c, in *Node) {
	if c.IsText() && in != nil && in.Role != roleDocument {
		df.touch(in.Ref)
	}
}

func (df *differ) touchAll(n *Node) {
	df.touch(n.Ref)
	for _, c := range n.Children {
		df.touchAll(c)
	}
}

func (df *differ) finish(old, now *Node) *Diff {
	d := df.d
	d.Total = max(old.Count(), now.Count())
	return &d
}

// unlist tells elements that are still on a page from those that are gone.
func (d *Diff) unlist(page *Node) {
	if len(d.Gone) == 0 {
		return
	}
	there := references(page)
	d.Gone = slices.DeleteFunc(d.Gone, func(ref int) bool {
		if there[ref] {
			d.Unlisted = append(d.Unlisted, ref)
		}
		return there[ref]
	})
}

// touchedIn are the elements, and text, that a difference is about.
func touchedIn(d *Diff) map[int]bool {
	refs := make(map[int]bool, len(d.touched))
	for _, ref := range d.touched {
		refs[ref] = true
	}
	return refs
}

// unchanged are the references that a view of a page shows, in ranges, but for those that are excepted. No range goes
// over another element of the page. Of many ranges the longest is listed, and the elements in the others are counted.
func unchanged(shown, page *Node, except ...map[int]bool) (list []Range, more int) {
	const there, named = 1, 2
	var refs refs[byte]
	page.Walk(func(n *Node) {
		if n.Ref > 0 && n != page { // the root has no line
			*refs.at(n.Ref) = there
		}
	})
	shown.Walk(func(n *Node) {
		if n.Ref > 0 && n != shown && !slices.ContainsFunc(except, func(m map[int]bool) bool { return m[n.Ref] }) {
			*refs.at(n.Ref) = named
		}
	})
	var held []int // how many elements each range holds
	open := false
	for ref, is := range refs.elements {
		switch {
		case is == there:
			open = false
		case is == named && open:
			list[len(list)-1].To = ref
			held[len(held)-1]++
		case is == named:
			list, held = append(list, Range{ref, ref}), append(held, 1)
			open = true
		}
	}
	if len(list) <= maxRanges {
		return list, 0
	}
	longest := 0 // of two of one length, the first
	for i, n := range held {
		more += n
		if n > held[longest] {
			longest = i
		}
	}
	return list[longest : longest+1], more - held[longest]
}

// Apply does to a tree what a difference says.
func (d *Diff) Apply(old *Node) *Node {
	nodes := map[int]*Node{}
	in := map[int]*Node{}
	var copyAll func(n, parent *Node) *Node
	copyAll = func(n, parent *Node) *Node {
		c := *n
		nodes[n.Ref], in[n.Ref] = &c, parent
		c.Children = make([]*Node, 0, len(n.Children))
		for _, k := range n.Children {
			c.Children = append(c.Children, copyAll(k, &c))
		}
		return &c
	}
	root := copyAll(old, nil)
	take := func(ref int) *Node {
		n := nodes[ref]
		if p := in[ref]; p != nil {
			p.Children = slices.DeleteFunc(p.Children, func(c *Node) bool { return c == n })
		}
		in[ref] = nil
		return n
	}
	put := func(n *Node, parent, after *Node) {
		p := nodes[parent.Ref]
		at := 0
		if after != nil {
			at = slices.IndexFunc(p.Children, func(c *Node) bool { return c.Ref == after.Ref }) + 1
		}
		p.Children = slices.Insert(p.Children, at, n)
		in[n.Ref] = p
	}
	for _, m := range d.Moved {
		take(m.Node.Ref)
	}
	for _, a := range d.Added {
		a.Node.Walk(func(n *Node) {
			if nodes[n.Ref] != nil {
				take(n.Ref)
			}
		})
	}
	for _, r := range d.Removed {
		take(r.Node.Ref)
	}
	for _, c := range d.Changed {
		n := nodes[c.Old.Ref]
		children := n.Children
		*n = *c.New
		n.Children = children
	}
	// Both lists are in the order of the new tree; what stands before each is there when it comes.
	order := d.Added
	moved := d.Moved
	for len(order)+len(moved) > 0 {
		placed := false
		for len(order) > 0 && ready(order[0].In, order[0].After, nodes, in, root) {
			put(copyAll(order[0].Node, nil), order[0].In, order[0].After)
			order, placed = order[1:], true
		}
		for len(moved) > 0 && ready(moved[0].In, moved[0].After, nodes, in, root) {
			put(nodes[moved[0].Node.Ref], moved[0].In, moved[0].After)
			moved, placed = moved[1:], true
		}
		if !placed {
			break
		}
	}
	return root
}

// ready says whether a place is there already.
func ready(parent, after *Node, nodes, in map[int]*Node, root *Node) bool {
	p := nodes[parent.Ref]
	return p != nil && (p == root || in[p.Ref] != nil) && (after == nil || in[after.Ref] == p)
}

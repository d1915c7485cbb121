package aria

import (
	"maps"
	"slices"
	"sync"

	"tidemark.dev/tidemark/host/internal/aria/keys"
	"tidemark.dev/tidemark/host/internal/aria/ranges"
)

// Diff is the list of changes that turn one tree into another. It refers to nodes by reference. The references of text are
// below 0.
type Diff struct {
	Changed []Change
	// Added are new nodes with their descendants, which include nodes that moved there.
	Added []Addition
	// Moved are nodes with a new place, in the order of the new tree.
	Moved []Move
	// Removed are the topmost removed nodes.
	Removed []Removal
	// Gone are the references of all removed elements. Unlisted are those of elements that are still on the page, but no
	// longer in the view.
	Gone, Unlisted []int
	// Touched counts the elements that were changed, added, moved or removed. Total counts the elements of the larger of
	// the two trees.
	Touched, Total int

	touched []int        // the elements that Touched counts, and text
	own     []int        // those of touched that differ themselves, not only in their text
	there   map[int]bool // all elements of the page, if they are known
	root    *Node        // the new tree
}

// Change is a node whose own properties differ. In is its parent, and Around the parent of that. Elsewhere is true for a link
// that leads elsewhere, where listings show that.
type Change struct {
	Old, New, In, Around *Node
	Elsewhere            bool
}

// Addition is a new node with its descendants.
type Addition struct {
	In    *Node
	After *Node // the node before it; nil for the first
	Last  bool  // no old node follows it
	Node  *Node
}

// Move is a node with a new place.
type Move struct {
	In    *Node
	After *Node
	Node  *Node
}

// Removal is a removed node and its parent.
type Removal struct{ Node, In *Node }

// maxRanges is how many ranges of unchanged references are listed. If there are more, only the longest is.
const maxRanges = 5

// Empty reports whether the trees are the same.
func (d *Diff) Empty() bool {
	return len(d.Changed)+len(d.Added)+len(d.Moved)+len(d.Removed) == 0
}

// withoutFocus removes focus changes from a difference, because the agent that moved the focus knows them. It also returns
// the tree that the remaining difference leads to, with the focus where it was.
func withoutFocus(d *Diff, now *Node) (*Diff, *Node) {
	out := *d
	out.Changed = nil
	moved := focusMoved(d)
	for _, c := range d.Changed {
		if moved[c.New.Ref] {
			old, now := *c.Old, *c.New
			old.States, now.States = unfocused(old.States), unfocused(now.States)
			if !c.Elsewhere && old.Role == now.Role && sameProperties(&old, &now) {
				continue
			}
			c.Old, c.New = &old, &now
		}
		out.Changed = append(out.Changed, c)
	}
	return &out, refocused(now, moved)
}

// focusMoved returns the elements that got or lost the focus.
func focusMoved(d *Diff) map[int]bool {
	moved := map[int]bool{}
	for _, c := range d.Changed {
		if c.Old.Has(focused) != c.New.Has(focused) {
			moved[c.New.Ref] = true
		}
	}
	return moved
}

// refocused returns a tree in which the given elements have the focus if they did not, and the reverse.
func refocused(n *Node, moved map[int]bool) *Node {
	if len(moved) == 0 {
		return n
	}
	children := n.Children
	for i, c := range n.Children {
		if k := refocused(c, moved); k != c {
			if slices.Equal(children, n.Children) {
				children = slices.Clone(n.Children)
			}
			children[i] = k
		}
	}
	if !moved[n.Ref] {
		if slices.Equal(children, n.Children) {
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

// focused is the state of the element that receives typed text.
const focused = "focused"

func unfocused(states []string) []string {
	return slices.DeleteFunc(slices.Clone(states), func(s string) bool { return s == focused })
}

// Share returns the share of elements that were touched.
func (d *Diff) Share() float64 {
	if d.Total == 0 {
		return 0
	}
	return float64(d.Touched) / float64(d.Total)
}

// differ compares two trees.
type differ struct {
	old, now ranges.Map[*Node]
	d        Diff
	touched  ranges.Map[touch]
	links    map[int]string // the addresses that listings of either tree show; nil if unknown
	roots    [2]*Node
}

// touch is how an element differs: at all, and itself.
type touch struct{ counted, own bool }

// differs are reused, because their lists are as long as pages are large.
var differs = sync.Pool{New: func() any { return &differ{} }}

// clear prepares a differ for other trees.
func (df *differ) clear() {
	df.d, df.links, df.roots = Diff{}, nil, [2]*Node{}
	df.old.Clear()
	df.now.Clear()
	df.touched.Clear()
}

// Compare returns the changes that turn old into now, in linear time.
func Compare(old, now *Node) *Diff {
	df := differs.Get().(*differ)
	defer func() {
		df.clear()
		differs.Put(df)
	}()
	if old == now {
		return df.finish(old, now)
	}
	*df.old.At(old.Ref), *df.now.At(now.Ref) = old, now
	df.roots = [2]*Node{old, now}
	df.index(old, now)
	if !sameProperties(old, now) {
		df.d.Changed = append(df.d.Changed, Change{Old: old, New: now})
	}
	df.children(old, now, nil)
	df.removed(old, nil, false)
	return df.finish(old, now)
}

// index records the nodes of both trees by reference. Of a subtree that both trees share in the same place, it records
// only the top, because nothing in it changed.
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
		*df.old.At(c.Ref), *df.now.At(n.Ref) = c, n
		if c != n {
			df.index(c, n)
		}
	}
}

// aligned reports whether two lists have the same references.
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

// note records a node and its descendants by reference.
func note(to *ranges.Map[*Node], n *Node) {
	*to.At(n.Ref) = n
	for _, c := range n.Children {
		note(to, c)
	}
}

// children compares the children of two nodes with the same reference.
func (df *differ) children(old, now, around *Node) {
	if old == now {
		return
	}
	stay := df.staying(old, now)
	var after *Node
	last := 0 // how many new ones are at the end
	for i := len(now.Children) - 1; i >= 0 && *df.old.At(now.Children[i].Ref) == nil; i-- {
		last++
	}
	for i, c := range now.Children {
		was := *df.old.At(c.Ref)
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
			if elsewhere := df.leadsElsewhere(was, c); elsewhere || !sameProperties(was, c) {
				df.d.Changed = append(df.d.Changed, Change{Old: was, New: c, In: now, Around: around, Elsewhere: elsewhere})
				df.touch(c.Ref)
				df.touchText(c, now)
			}
			df.children(was, c, now)
		}
		after = c
	}
}

// leadsElsewhere reports whether a link's address differs that a listing of either tree shows.
func (df *differ) leadsElsewhere(old, now *Node) bool {
	if old == now || now.Role != "link" || now.Name == "" || keys.Address(old.Keys) == keys.Address(now.Keys) {
		return false
	}
	if df.links == nil {
		df.links = map[int]string{}
		for _, root := range df.roots {
			maps.Copy(df.links, addresses(root.Children))
		}
	}
	return df.links[now.Ref] != ""
}

// staying marks the children of now that did not move: the longest run of old children in unchanged order.
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

// removed lists the topmost removed nodes. It also descends into them, because parts of them may have moved elsewhere.
func (df *differ) removed(n, in *Node, inside bool) {
	now := *df.now.At(n.Ref)
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
	if t := df.touched.At(ref); !t.own {
		t.own = true
		df.d.own = append(df.d.own, ref)
	}
	df.count(ref)
}

func (df *differ) count(ref int) {
	if t := df.touched.At(ref); !t.counted {
		t.counted = true
		df.d.touched = append(df.d.touched, ref)
		if ref > 0 {
			df.d.Touched++
		}
	}
}

// touchText counts an element as touched if text on its line was.
func (df *differ) touchText(c, in *Node) {
	if c.IsText() && in != nil && in.Role != roleDocument {
		df.count(in.Ref)
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
	d.root = now
	return &d
}

// unlist moves elements that are still on the page from Gone to Unlisted.
func (d *Diff) unlist(page *Node) {
	if len(d.Gone) == 0 {
		return
	}
	d.there = references(page)
	d.Gone = slices.DeleteFunc(d.Gone, func(ref int) bool {
		if d.there[ref] {
			d.Unlisted = append(d.Unlisted, ref)
		}
		return d.there[ref]
	})
}

// touchedIn returns the elements and text that a difference touches.
func touchedIn(d *Diff) map[int]bool { return ranges.Set(d.touched) }

// unchanged returns the references in a view of a page as ranges, except for the excepted ones. A range includes nothing but
// these: what lies between may be another element of the page, or one that was removed. If there are more than
// [maxRanges], it returns the longest and how many elements the others have.
func unchanged(shown *Node, except ...map[int]bool) (list []ranges.Range, more int) {
	var named ranges.Map[bool]
	shown.Walk(func(n *Node) {
		if n.Ref > 0 && n != shown && !slices.ContainsFunc(except, func(m map[int]bool) bool { return m[n.Ref] }) { // the root has no line
			*named.At(n.Ref) = true
		}
	})
	var held []int // how many elements each range has
	open := false
	for ref, is := range named.Elements {
		switch {
		case is && open:
			list[len(list)-1].To = ref
			held[len(held)-1]++
		case is:
			list, held = append(list, ranges.Range{From: ref, To: ref}), append(held, 1)
		}
		open = is
	}
	if len(list) <= maxRanges {
		return list, 0
	}
	longest := 0 // the first one among equals
	for i, n := range held {
		more += n
		if n > held[longest] {
			longest = i
		}
	}
	return list[longest : longest+1], more - held[longest]
}

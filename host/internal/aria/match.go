package aria

import (
	"fmt"
	"hash/maphash"
	"strings"

	"tidemark.dev/tidemark/host/internal/aria/keys"
	"tidemark.dev/tidemark/host/internal/aria/roles"
)

// matcher finds the new elements that clearly replace removed ones: a framework that re-renders replaces nodes by new
// ones that look the same to users.
//
// If an element could match two others, it matches neither and gets a new reference.
type matcher struct {
	// gone are the nodes that left the tree and are not matched yet.
	gone   map[*Node]bool
	lists  []*places
	of     map[*entry]*places
	unsure []int
	sums   map[*Node]uint64
	// divided are the children of nodes, as unlisted blocks divide them.
	divided map[*Node][]*Node
}

// places are the removed children of a parent that still exists.
type places struct {
	parent *entry
	old    []*Node
}

var seed = maphash.MakeSeed()

func (m *matcher) under(parent *entry, old *Node) {
	if m.of == nil {
		m.of = map[*entry]*places{}
	}
	p := m.of[parent]
	if p == nil {
		p = &places{parent: parent}
		m.of[parent] = p
		m.lists = append(m.lists, p)
	}
	p.old = append(p.old, old)
}

// run matches removed nodes after the new tree was built and before its new nodes get references. before is the root of
// the old tree, or nil.
func (m *matcher) run(before, after *Node) {
	if len(m.gone) == 0 {
		return
	}
	m.sums, m.divided = map[*Node]uint64{}, map[*Node][]*Node{}
	for _, p := range m.lists {
		e := p.parent
		if e.node == nil || e.doc.entries[e.ID] != e {
			continue
		}
		old := p.old
		if e.was != nil {
			old = m.within(e.was) // with those that still exist, in their old order
		}
		m.children(old, m.within(e.node))
	}
	m.elsewhere(before, after)
	for n := range m.gone {
		if n.home == nil {
			delete(m.gone, n) // a block
		}
	}
}

func fresh(list []*Node) []*Node {
	var out []*Node
	for _, n := range list {
		if n.Ref == 0 {
			out = append(out, n)
		}
	}
	return out
}

func (m *matcher) goneOf(list []*Node) []*Node {
	var out []*Node
	for _, n := range list {
		if m.gone[n] {
			out = append(out, n)
		}
	}
	return out
}

// pair gives an old node's reference to a new one and matches their children.
func (m *matcher) pair(old, now *Node, sure bool) {
	now.Ref = old.Ref
	delete(m.gone, old)
	if !sure && old.Ref > 0 {
		m.unsure = append(m.unsure, old.Ref)
	}
	m.children(m.within(old), m.within(now))
}

// children matches two lists of the same place. To find nodes with duplicates, it uses the whole lists, with the nodes
// that still exist.
func (m *matcher) children(allOld, allNow []*Node) {
	old, now := m.goneOf(allOld), fresh(allNow)
	steps := []struct {
		sign    func(*Node) string
		byPlace bool // match duplicates if their surroundings match too
		sure    bool
	}{
		{m.byKeys, false, true},
		{m.byContent, true, true},
		{byName, true, true},
		{byFoldedName, false, false},
		{byPlace, false, false},
	}
	for _, s := range steps {
		if len(old) == 0 || len(now) == 0 {
			return
		}
		manyOld, manyNow := group(allOld, s.sign), group(allNow, s.sign)
		var places map[string]*Node // of the old list
		var placeOf map[*Node]string
		for _, n := range now {
			sign := s.sign(n)
			if sign == "" || n.Ref != 0 || len(manyOld[sign]) == 0 {
				continue
			}
			o := manyOld[sign][0]
			if len(manyOld[sign]) > 1 || len(manyNow[sign]) > 1 {
				if !s.byPlace {
					continue
				}
				if places == nil {
					places, placeOf = map[string]*Node{}, map[*Node]string{}
					m.places(allOld, allNow, s.sign, func(place string, o *Node) { places[place] = o })
					m.places(allNow, allOld, s.sign, func(place string, n *Node) { placeOf[n] = place })
				}
				if o = places[placeOf[n]]; o == nil {
					continue
				}
			}
			if m.gone[o] && !conflict(o, n, s.sure) {
				m.pair(o, n, s.sure)
			}
		}
		old, now = m.goneOf(old), fresh(now)
	}
	m.byLikeness(allOld, allNow)
}

// places calls each with the place of each node of a list. Nodes of both lists with the same place are the same. A place
// is made of the nearest neighbors that are unique in both lists, the run of nodes between these, and the position in the
// run. If a node of the run was moved, added or removed, no node of the other list has the same place.
func (m *matcher) places(list, other []*Node, sign func(*Node) string, each func(place string, n *Node)) {
	here, there := group(list, m.byContent), group(other, m.byContent)
	var h maphash.Hash
	between := func(begin string, run []*Node, end string) {
		h.SetSeed(seed)
		writeString(&h, begin)
		writeString(&h, end)
		for _, n := range run {
			writeString(&h, n.Role)
			writeString(&h, sign(n))
		}
		around := h.Sum64()
		for i, n := range run {
			each(fmt.Sprint(around, " ", i), n)
		}
	}
	begin, run := "", list[:0:0]
	for _, n := range list {
		content := m.byContent(n)
		if len(here[content]) == 1 && len(there[content]) == 1 {
			between(begin, run, content)
			begin, run = content, run[:0]
			continue
		}
		run = append(run, n)
	}
	between(begin, run, "")
}

// within returns a node's children, with a node for each unlisted block that divides them. So rows that are not listed are
// matched as a whole, by their content or their keys.
func (m *matcher) within(n *Node) []*Node {
	if n.shape == "" {
		return n.Children
	}
	if list, known := m.divided[n]; known {
		return list
	}
	list := m.divide(n)
	m.divided[n] = list
	return list
}

func (m *matcher) divide(n *Node) []*Node {
	top := &Node{}
	open := []*Node{top}
	at, block := 0, 0
	for i := 0; i < len(n.shape); {
		inner := open[len(open)-1]
		switch c := n.shape[i]; {
		case c == '(':
			b := &Node{}
			if block < len(n.blocks) {
				b.Keys = n.blocks[block]
			}
			block++
			inner.Children = append(inner.Children, b)
			open = append(open, b)
			i++
		case c == ')' && len(open) > 1:
			// A block is removed, or new, if something in it is.
			inner.Ref = blockRef
			for _, kid := range inner.Children {
				if m.gone[kid] {
					m.gone[inner] = true
				}
				if kid.Ref == 0 {
					inner.Ref = 0
				}
			}
			open = open[:len(open)-1]
			i++
		case c >= '0' && c <= '9':
			count := 0
			for ; i < len(n.shape) && n.shape[i] >= '0' && n.shape[i] <= '9' && count <= len(n.Children); i++ {
				count = 10*count + int(n.shape[i]-'0')
			}
			if count > len(n.Children)-at {
				return n.Children
			}
			inner.Children = append(inner.Children, n.Children[at:at+count]...)
			at += count
		default:
			return n.Children
		}
	}
	if len(open) != 1 || at != len(n.Children) {
		return n.Children // the shape does not include the contents of an iframe
	}
	return top.Children
}

// blockRef is the reference of blocks without new nodes.
const blockRef = -1 << 30

func group(list []*Node, sign func(*Node) string) map[string][]*Node {
	groups := map[string][]*Node{}
	for _, n := range list {
		if s := sign(n); s != "" {
			groups[s] = append(groups[s], n)
		}
	}
	return groups
}

// byKeys identifies an element by the page's own keys.
func (m *matcher) byKeys(n *Node) string {
	if k := keys.Identity(n.Keys); k != "" {
		return n.Role + "\x00" + k
	}
	return ""
}

// conflict reports whether two nodes cannot be the same: their keys, their hints, or the addresses in two rows contradict
// each other. alike means that they look the same.
func conflict(a, b *Node, alike bool) bool {
	if keys.Conflict(a.Keys, b.Keys, alike) || hintOf(a) != "" && hintOf(b) != "" && hintOf(a) != hintOf(b) {
		return true
	}
	return roles.Rows[a.Role] && leadElsewhere(a, b)
}

// leadElsewhere reports whether both nodes hold links, and no address is the same.
func leadElsewhere(a, b *Node) bool {
	theirs, ours, shared := map[string]bool{}, 0, false
	a.Walk(func(n *Node) { theirs[keys.Address(n.Keys)] = true })
	b.Walk(func(n *Node) {
		if address := keys.Address(n.Keys); address != "" {
			ours++
			shared = shared || theirs[address]
		}
	})
	delete(theirs, "")
	return len(theirs) > 0 && ours > 0 && !shared
}

// byContent identifies a node by the content of its subtree.
func (m *matcher) byContent(n *Node) string {
	sum := m.sum(n)
	var b [8]byte
	for i := range b {
		b[i] = byte(sum >> (8 * i))
	}
	return string(b[:])
}

// sum returns a hash of a subtree without values and states, which change while the element stays the same.
func (m *matcher) sum(n *Node) uint64 {
	if s, known := m.sums[n]; known {
		return s
	}
	var h maphash.Hash
	h.SetSeed(seed)
	writeString(&h, n.Role)
	writeString(&h, n.Name)
	writeString(&h, hintOf(n))
	writeString(&h, keys.Content(n.Keys))
	for _, c := range n.Children {
		s := m.sum(c)
		for i := range 8 {
			_ = h.WriteByte(byte(s >> (8 * i)))
		}
	}
	s := h.Sum64()
	m.sums[n] = s
	return s
}

func writeString(h *maphash.Hash, s string) {
	_, _ = h.WriteString(s)
	_ = h.WriteByte(0)
}

func byName(n *Node) string {
	if n.Name == "" {
		return ""
	}
	return n.Role + "\x00" + n.Name
}

// byFoldedName treats "Save (1)" and "Save (2)" as the same.
func byFoldedName(n *Node) string {
	folded := keys.FoldDigits(n.Name)
	if strings.Trim(folded, "# ") == "" {
		return ""
	}
	return n.Role + "\x00" + folded
}

// byPlace identifies nodes without a name by their role.
func byPlace(n *Node) string {
	if n.Name != "" && !n.IsText() {
		return ""
	}
	return n.Role
}

// byLikeness matches containers without a name, such as rows, by text that is unique among their siblings. At least half
// of it must be in one new container, and none of it in a second one.
func (m *matcher) byLikeness(allOld, allNow []*Node) {
	if len(m.goneOf(allOld)) == 0 || len(fresh(allNow)) == 0 {
		return
	}
	olds, news := owners(allOld), owners(allNow)
	shared := map[*Node]map[*Node]int{} // old → new → how many unique texts they share
	rivals := map[*Node]map[*Node]bool{}
	own := map[*Node]int{}
	for said, o := range olds {
		if o == nil {
			continue
		}
		own[o]++
		n := news[said]
		if n == nil {
			continue
		}
		if shared[o] == nil {
			shared[o] = map[*Node]int{}
		}
		shared[o][n]++
		if rivals[n] == nil {
			rivals[n] = map[*Node]bool{}
		}
		rivals[n][o] = true
	}
	for _, o := range m.goneOf(allOld) {
		if o.Name != "" || len(shared[o]) != 1 {
			continue
		}
		for n, count := range shared[o] {
			if n.Ref == 0 && n.Name == "" && n.Role == o.Role && len(rivals[n]) == 1 && 2*count >= own[o] && !conflict(o, n, false) {
				m.pair(o, n, false)
			}
		}
	}
}

// owners maps each text in the given nodes to the node that contains it, or to nil if several do.
func owners(list []*Node) map[string]*Node {
	by := map[string]*Node{}
	for _, n := range list {
		if len(n.Children) == 0 {
			continue
		}
		for s := range sayings(n) {
			if _, another := by[s]; another {
				by[s] = nil
			} else {
				by[s] = n
			}
		}
	}
	return by
}

// sayings returns the names and texts in a node.
func sayings(n *Node) map[string]bool {
	out := map[string]bool{}
	n.Walk(func(c *Node) {
		if c.Name != "" && len(out) < 200 {
			out[c.Role+"\x00"+c.Name] = true
		}
	})
	return out
}

// elsewhere matches elements that moved while they were re-rendered. It matches only elements that are unique on the whole
// page, before and after, by identity and surroundings.
func (m *matcher) elsewhere(before, after *Node) {
	left := map[string]bool{} // the roles of unmatched nodes
	for o := range m.gone {
		if !o.IsText() && (o.Name != "" || keys.Identity(o.Keys) != "") {
			left[o.Role] = true
		}
	}
	if len(left) == 0 || before == nil {
		return
	}
	signs := func(root *Node, wanted func(*Node) bool) map[string][]*Node {
		found := map[string][]*Node{}
		var visit func(n, parent *Node)
		visit = func(n, parent *Node) {
			if wanted(n) {
				if s := m.anywhere(n, parent); s != "" {
					found[s] = append(found[s], n)
				}
			}
			for _, c := range n.Children {
				visit(c, n)
			}
		}
		visit(root, nil)
		return found
	}
	lone := map[string]bool{} // roles and names of candidates
	olds := signs(before, func(n *Node) bool { return m.gone[n] && left[n.Role] })
	news := signs(after, func(n *Node) bool { return n.Ref == 0 && left[n.Role] })
	for s, o := range olds {
		if len(o) == 1 && len(news[s]) == 1 {
			lone[byRoleAndName(o[0])] = true
			lone[byRoleAndName(news[s][0])] = true
		}
	}
	if len(lone) == 0 {
		return
	}
	alike := func(n *Node) bool { return lone[byRoleAndName(n)] }
	allOld, allNew := signs(before, alike), signs(after, alike)
	for s, o := range olds {
		n := news[s]
		if len(o) == 1 && len(n) == 1 && len(allOld[s]) == 1 && len(allNew[s]) == 1 && m.gone[o[0]] && n[0].Ref == 0 && !conflict(o[0], n[0], true) {
			m.pair(o[0], n[0], false)
		}
	}
}

// anywhere identifies an element independent of its place: by its keys, or by its name and surroundings.
func (m *matcher) anywhere(n, parent *Node) string {
	if k := m.byKeys(n); k != "" {
		return k
	}
	if n.Name == "" || n.IsText() || parent == nil || len(parent.Children) < 2 {
		return ""
	}
	return byName(n) + m.byContent(parent)
}

func byRoleAndName(n *Node) string { return n.Role + "\x00" + n.Name }

// likeliest returns the element most similar to a removed one: of the same role, with the same or a similar name.
func likeliest(was, root *Node) *Node {
	var best *Node
	most := 0
	root.Walk(func(n *Node) {
		if n.Ref <= 0 || n.Role != was.Role {
			return
		}
		score := 0
		switch {
		case was.Keys != "" && n.Keys == was.Keys:
			score = 4
		case n.Name == was.Name:
			score = 3
		case keys.FoldDigits(n.Name) == keys.FoldDigits(was.Name):
			score = 2
		case was.Name != "" && n.Name != "" && (strings.Contains(n.Name, was.Name) || strings.Contains(was.Name, n.Name)):
			score = 1
		}
		if score > most {
			best, most = n, score
		}
	})
	return best
}

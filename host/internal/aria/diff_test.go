package aria

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/aria/brief"
)

// tree is a tree of elements numbered in the order in which they stand.
func el(ref int, role, name string, children ...*Node) *Node {
	return &Node{Ref: ref, Role: role, Name: name, Children: children}
}

func said(ref int, text string) *Node { return &Node{Ref: -ref, Role: RoleText, Name: text} }

func form() *Node {
	card := el(4, "textbox", "Card Number")
	card.HasValue = true
	pay := el(5, "button", "Pay Now")
	pay.States = []string{"disabled"}
	return el(1, roleDocument, "", el(2, "heading", "Checkout"), el(3, "form", "Payment", card, pay), el(6, "status", "", said(1, "Ready")))
}

func TestTwoIdenticalTreesDifferInNothing(t *testing.T) {
	d := Compare(form(), form())
	if !d.Empty() || d.Touched != 0 || untouched(d, form()) != "e2-e6" {
		t.Errorf("%+v", d)
	}
}

func TestOneChangedElementIsTheOnlyChange(t *testing.T) {
	now := form()
	now.Children[1].Children[0].Value = "4242"
	d := Compare(form(), now)
	if len(d.Changed) != 1 || d.Changed[0].New.Ref != 4 || d.Touched != 1 || untouched(d, now) != "e2-e3, e5-e6" {
		t.Errorf("%+v", d)
	}
	if text := compactDiff(d); text != "Changed:\n- textbox \"Card Number\" [e4]: \"4242\"  # was \"\"\n" {
		t.Error(text)
	}
}

func TestAClearedStateIsAChange(t *testing.T) {
	now := form()
	now.Children[1].Children[1].States = nil
	if text := compactDiff(Compare(form(), now)); text != "Changed:\n- button \"Pay Now\" [e5]  # was [disabled]\n" {
		t.Error(text)
	}
	if text := compactDiff(Compare(now, form())); text != "Changed:\n- button \"Pay Now\" [e5] [disabled]  # was not [disabled]\n" {
		t.Error(text)
	}
}

func TestChangedTextIsToldOnTheLineThatItStandsOn(t *testing.T) {
	now := form()
	now.Children[2].Children[0].Name = "Saved"
	if text := compactDiff(Compare(form(), now)); text != "Changed:\n- status [e6]: \"Saved\"  # was \"Ready\"\n" {
		t.Error(text)
	}
}

func TestNewElementsAreToldInFullUnderWhatWasThere(t *testing.T) {
	now := form()
	now.Children = append(now.Children, el(7, "dialog", "Sure?", el(8, "button", "Yes"), el(9, "button", "No")))
	f := now.Children[1]
	f.Children = append([]*Node{el(10, "alert", "", said(2, "Wrong"))}, f.Children...)
	text := compactDiff(Compare(form(), now))
	want := "Added:\n- in form \"Payment\" [e3] first:\n  - alert [e10]: \"Wrong\"\n- in the page:\n  - dialog \"Sure?\" [e7]:\n    - button \"Yes\" [e8]\n    - button \"No\" [e9]\n"
	if text != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
}

func TestRemovedElementsAreToldByTheirReferences(t *testing.T) {
	now := form()
	now.Children = now.Children[:1]
	d := Compare(form(), now)
	if text := compactDiff(d); text != "Removed: [e3-e6]\n" {
		t.Error(text)
	}
	if is := untouched(d, now); is != "e2" {
		t.Error(is)
	}
}

func TestAMoveIsAMove(t *testing.T) {
	now := form()
	now.Children[0], now.Children[2] = now.Children[2], now.Children[0]
	d := Compare(form(), now)
	if len(d.Added)+len(d.Removed)+len(d.Changed) != 0 || len(d.Moved) != 2 {
		t.Errorf("%s", compactDiff(d))
	}
	one := form()
	one.Children = []*Node{one.Children[1], one.Children[2], one.Children[0]}
	if text := compactDiff(Compare(form(), one)); text != "Moved:\n- heading \"Checkout\" [e2]: in the page after [e6]\n" {
		t.Error(text)
	}
}

// untouched are the ranges that a difference leaves as they are.
func untouched(d *Diff, now *Node) string {
	list, more := unchanged(now, touchedIn(d))
	if more > 0 {
		return fmt.Sprintf("%s and %d more", spans(list), more)
	}
	return spans(list)
}

func TestOfManyRangesTheLongestAreNamedAndTheRestIsCounted(t *testing.T) {
	old, now := el(1, roleDocument, ""), el(1, roleDocument, "")
	for i := 2; i < 40; i++ {
		old.Children = append(old.Children, el(i, "button", "b"))
		c := el(i, "button", "b")
		if i%4 == 0 {
			c.Name = "changed"
		}
		now.Children = append(now.Children, c)
	}
	if is := untouched(Compare(old, now), now); is != "e5-e7 and 26 more" {
		t.Error(is)
	}
}

// TestNoRangeThatIsNamedIsShorterThanOneThatIsNot: whatever the lengths, and in whichever order.
func TestNoRangeThatIsNamedIsShorterThanOneThatIsNot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOfN(rapid.IntRange(1, 9), maxRanges+1, 12).Draw(t, "lengths")
		page, ref, gaps, all := el(1, roleDocument, ""), 2, map[int]bool{}, 0
		for _, n := range lengths {
			for range n {
				page.Children = append(page.Children, el(ref, "button", "b"))
				ref++
			}
			page.Children = append(page.Children, el(ref, "button", "changed"))
			gaps[ref] = true
			ref++
			all += n
		}
		list, more := unchanged(page, gaps)
		var is []int
		for i, r := range list {
			is = append(is, r.To-r.From+1)
			more += r.To - r.From + 1
			if i > 0 && list[i-1].To >= r.From {
				t.Fatalf("%v", list)
			}
		}
		slices.Sort(is)
		slices.Sort(lengths)
		if want := lengths[len(lengths)-1:]; !slices.Equal(is, want) || more != all {
			t.Fatalf("ranges of %v, want %v; %d elements, want %d", is, want, more, all)
		}
	})
}

// TestADiffAppliedToTheOldTreeGivesTheNewOne: for random trees and random edits.
func TestADiffAppliedToTheOldTreeGivesTheNewOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &generator{t: t}
		old := g.tree(1, rapid.IntRange(0, 40).Draw(t, "size"))
		now := g.edit(old)
		d := Compare(old, now)
		got := applied(d, old)
		if a, b := dump(got), dump(now); a != b {
			t.Fatalf("from\n%sto\n%sgot\n%sby\n%s", dump(old), b, a, compactDiff(d))
		}
		touched := 0
		before := map[int]*Node{}
		old.Walk(func(n *Node) { before[n.Ref] = n })
		now.Walk(func(n *Node) {
			if b := before[n.Ref]; n != now && n.Ref > 0 && b != nil && sameProperties(b, n) {
				touched++
			}
		})
		if d.Empty() != (dump(old) == dump(now)) {
			t.Fatalf("empty is %v", d.Empty())
		}
		ranges, _ := unchanged(now, touchedIn(d))
		for _, r := range ranges {
			for ref := r.From; ref <= r.To; ref++ {
				path := find(now, ref)
				if path == nil {
					t.Fatalf("e%d is said to be unchanged, and is not on the page", ref)
				}
				if b := before[ref]; b == nil || !sameProperties(b, path[len(path)-1]) {
					t.Fatalf("e%d is said to be unchanged", ref)
				}
			}
		}
	})
}

// TestALookAtTheInteractivePartHidesNothing: of what it does not show every change is still to be told, and of what
// it shows none.
func TestALookAtTheInteractivePartHidesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &generator{t: t}
		old := g.tree(1, rapid.IntRange(0, 40).Draw(t, "size"))
		now := g.edit(old)
		known, _ := afterLook(old, now, Interactive(now), Interactive(old), nil)
		d := Compare(known, now)
		if a, b := dump(applied(d, known)), dump(now); a != b {
			t.Fatalf("from\n%sto\n%sgot\n%s", dump(old), b, a)
		}
		shown := references(Interactive(now))
		left := map[int]bool{}
		for _, c := range d.Changed {
			left[c.New.Ref] = true
			if shown[c.New.Ref] {
				t.Errorf("e%d was shown", c.New.Ref)
			}
		}
		for _, c := range Compare(old, now).Changed {
			if !shown[c.New.Ref] && !left[c.New.Ref] {
				t.Errorf("the change of e%d is lost", c.New.Ref)
			}
		}
	})
}

type generator struct {
	t    *rapid.T
	next int
}

func (g *generator) fresh(name string) *Node {
	g.next++
	if rapid.IntRange(0, 4).Draw(g.t, "kind") == 0 {
		return &Node{Ref: -g.next - 1, Role: RoleText, Name: name}
	}
	return &Node{Ref: g.next + 1, Role: "group", Name: name}
}

func (g *generator) tree(ref, size int) *Node {
	root := &Node{Ref: ref, Role: roleDocument}
	all := []*Node{root}
	for range size {
		in := all[rapid.IntRange(0, len(all)-1).Draw(g.t, "in")]
		n := g.fresh("old")
		in.Children = append(in.Children, n)
		if !n.IsText() {
			all = append(all, n)
		}
	}
	return root
}

// edit is a copy with changes, additions, removals and moves; what it does not touch is shared.
func (g *generator) edit(old *Node) *Node {
	root := deepCopy(old)
	type spot struct{ node, in *Node }
	for range rapid.IntRange(0, 12).Draw(g.t, "edits") {
		var spots []spot
		var visit func(n, in *Node)
		visit = func(n, in *Node) {
			spots = append(spots, spot{n, in})
			for _, c := range n.Children {
				visit(c, n)
			}
		}
		visit(root, nil)
		s := spots[rapid.IntRange(0, len(spots)-1).Draw(g.t, "spot")]
		to := spots[rapid.IntRange(0, len(spots)-1).Draw(g.t, "to")].node
		switch rapid.IntRange(0, 3).Draw(g.t, "edit") {
		case 0:
			s.node.Name += "!"
		case 1:
			if !to.IsText() {
				insert(to, g.fresh("new"), rapid.IntRange(0, len(to.Children)).Draw(g.t, "at"))
			}
		case 2:
			if s.in != nil {
				remove(s.in, s.node)
			}
		case 3:
			if s.in != nil && !to.IsText() && find(s.node, to.Ref) == nil {
				remove(s.in, s.node)
				insert(to, s.node, rapid.IntRange(0, len(to.Children)).Draw(g.t, "at"))
			}
		}
	}
	return shareWith(old, root)
}

// shareWith uses the nodes of old where nothing in them differs, as trees of a page do.
func shareWith(old, now *Node) *Node {
	known := map[string]*Node{}
	old.Walk(func(n *Node) { known[dump(n)] = n })
	var visit func(n *Node) *Node
	visit = func(n *Node) *Node {
		if k := known[dump(n)]; k != nil {
			return k
		}
		for i, c := range n.Children {
			n.Children[i] = visit(c)
		}
		return n
	}
	return visit(now)
}

func insert(in, n *Node, at int) {
	in.Children = append(in.Children[:at:at], append([]*Node{n}, in.Children[at:]...)...)
}

func remove(in, n *Node) {
	for i, c := range in.Children {
		if c == n {
			in.Children = append(in.Children[:i:i], in.Children[i+1:]...)
			return
		}
	}
}

func deepCopy(n *Node) *Node {
	c := &Node{Ref: n.Ref, Role: n.Role, Name: n.Name, Value: n.Value, HasValue: n.HasValue, States: n.States}
	for _, k := range n.Children {
		c.Children = append(c.Children, deepCopy(k))
	}
	return c
}

// dump is a tree in one string.
func dump(n *Node) string {
	var b strings.Builder
	var visit func(*Node, int)
	visit = func(n *Node, depth int) {
		fmt.Fprintf(&b, "%s%d %s %q %q %v\n", strings.Repeat(" ", depth), n.Ref, n.Role, n.Name, n.Value, n.States)
		for _, c := range n.Children {
			visit(c, depth+1)
		}
	}
	visit(n, 0)
	return b.String()
}

func BenchmarkCompare(b *testing.B) {
	for _, n := range []int{5000, 20_000, 80_000} {
		old, now := wide(n, nil), wide(n, map[int]bool{100: true, n / 2: true})
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Compare(old, now)
			}
		})
	}
}

func wide(n int, changed map[int]bool) *Node {
	root := el(1, roleDocument, "")
	for ref := 2; ref < n; ref += 20 {
		list := el(ref, "list", "")
		for i := 1; i < 20; i++ {
			c := el(ref+i, "button", fmt.Sprint(ref+i))
			if changed[ref+i] {
				c.Name = "changed"
			}
			list.Children = append(list.Children, c)
		}
		root.Children = append(root.Children, list)
	}
	return root
}

func TestChangedCellsOfARowShareALine(t *testing.T) {
	row := func(price, left string) *Node {
		return el(1, roleDocument, "", el(2, "table", "", el(3, "row", "", el(4, "cell", "", said(1, "Mug")), el(5, "cell", "", said(2, price)), el(6, "cell", "", said(3, left)))))
	}
	text := compactDiff(Compare(row("12 €", "3"), row("13 €", "2")))
	if text != "Changed:\n- row [e3]: {e5: \"13 €\", e6: \"2\"}  # was \"12 €\", \"3\"\n" {
		t.Error(text)
	}
	text = compactDiff(Compare(row("12 €", "3"), row("12 €", "2")))
	if text != "Changed:\n- cell [e6]: \"2\"  # was \"3\"\n" {
		t.Error(text)
	}
}

func TestOfALongTextTheDifferenceIsShown(t *testing.T) {
	long := strings.Repeat("a", 500) + "X" + strings.Repeat("b", 500)
	for _, c := range []struct {
		old, now       string
		oldCut, nowCut int
		want           string
	}{
		{"short", "shorter", 0, 0, `"shorter"  # was "short"`},
		{long, strings.Replace(long, "X", "new", 1), 0, 0, `"…aaaaaaaaaaaaaaaaaaaanewbbbbbbbbbbbbbbbbbbbb…"  # (1003 characters), was "…aaaaaaaaaaaaaaaaaaaaXbbbbbbbbbbbbbbbbbbbb…" (1001 characters)`},
		{long, long + "!", 0, 0, `"…bbbbbbbbbbbbbbbbbbbb!"  # (1002 characters), was "…bbbbbbbbbbbbbbbbbbbb" (1001 characters)`},
		{long, long, 5000, 5001, `"…bbbbbbbbbbbbbbbbbbbb"  # (5001 characters), changed beyond the first 1001, was "…bbbbbbbbbbbbbbbbbbbb" (5000 characters)`},
		{"aaa" + strings.Repeat("é", 300), "aa" + strings.Repeat("é", 300), 0, 0, `"aaéééééééééééééééééééé…"  # (302 characters), was "aaaéééééééééééééééééééé…" (303 characters)`},
	} {
		is, note, was := brief.Contrast(c.old, c.now, c.oldCut, c.nowCut, maxValue)
		if got := is + "  # " + note + "was " + was; got != c.want {
			t.Errorf("%.10s… %d → %.10s… %d:\n got %s\nwant %s", c.old, c.oldCut, c.now, c.nowCut, got, c.want)
		}
	}
}

// applied applies a difference to a tree.
func applied(d *Diff, old *Node) *Node {
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
	// Both lists are in the order of the new tree, so the node before each one is already in place.
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

// ready reports whether a place already exists.
func ready(parent, after *Node, nodes, in map[int]*Node, root *Node) bool {
	p := nodes[parent.Ref]
	return p != nil && (p == root || in[p.Ref] != nil) && (after == nil || in[after.Ref] == p)
}

package aria

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Seen is what one agent was shown of one tab. The zero value has been shown nothing. It is not safe for
// concurrent use.
//
// It guarantees: what an answer calls unchanged is as the agent was shown it last. What an answer did not print, by
// whatever it was narrowed or cut, is not taken for shown.
type Seen struct {
	// whole is the page as the agent knows it, with what answers about its interactive part left out as it was before;
	// part is the interactive part.
	whole, part view
	// known is the number of the newest tree of which the agent knows all, but for where the focus is.
	known int
	// moved, when not nil, is the whole with the focus where actions have put it, which whoever acted knows.
	moved *Node
	// labels are rows that were shown with a label made of text that is otherwise still to be told.
	labels map[int]bool
	// unsaid are elements of which text changed that a first look at the interactive part left out.
	unsaid map[int]bool
}

// view is what was shown of one of the two trees: the whole or the interactive part.
type view struct {
	tree   *Tree
	shown  *Node
	at     time.Time
	unsure int // up to which tree uncertain references were told
	// listed is set once the agent was given a listing that changes can follow on.
	listed bool
	// left are elements that were left out of that listing, to fit.
	left map[int]bool
	// again are elements and text of which an answer told that this view does not follow, because it was cut or
	// narrowed: should they be as before again, the agent would not know.
	again map[int]bool
}

// Reset forgets what was shown: the next snapshot is a full one.
func (s *Seen) Reset() { *s = Seen{} }

// Told is the number of the newest tree that the agent was shown.
func (s *Seen) Told() int { return max(s.whole.unsure, s.part.unsure) }

// Knows says whether the agent was told all that changed up to a tree.
func (s *Seen) Knows(number int) bool { return s.whole.shown != nil && s.known >= number }

// Node is what an element was when the agent was shown it last; nil when it never was.
func (s *Seen) Node(ref int) *Node {
	views := []*view{&s.part, &s.whole}
	if s.whole.at.After(s.part.at) {
		slices.Reverse(views)
	}
	for _, v := range views {
		if v.shown == nil || v == &s.whole && !v.listed { // what was never listed is only taken for known
			continue
		}
		if path := find(v.shown, ref); path != nil {
			return path[len(path)-1]
		}
	}
	return nil
}

// sawAll notes that the agent was told all that changed up to a tree, which it knows as shown, by a difference.
func (s *Seen) sawAll(t *Tree, shown *Node, d *Diff, now time.Time) {
	part := Interactive(shown)
	if s.part.shown != nil && samePage(s.part.tree, t) {
		part = s.partAfter(part, d)
	}
	var untold map[int]bool // where the focus is known to be elsewhere
	if shown != t.Root && len(s.whole.again)+len(s.part.again) > 0 {
		untold = touchedIn(Compare(shown, t.Root))
	}
	again := func(v view) map[int]bool {
		maps.DeleteFunc(v.again, func(ref int, _ bool) bool { return !untold[ref] })
		return v.again
	}
	s.whole = view{tree: t, shown: shown, at: now, unsure: t.Number, listed: s.whole.listed, left: s.whole.left, again: again(s.whole)}
	s.part = view{tree: t, shown: part, at: now, unsure: t.Number, listed: s.part.listed, left: s.part.left, again: again(s.part)}
	s.known, s.labels, s.moved = t.Number, nil, nil
	if shown != t.Root {
		s.moved = t.Root
	}
}

// partAfter is the interactive part of a tree as it is known after a difference of the whole: without elements that
// belong to it only now and that nobody has listed, and with the labels of rows as they were shown.
func (s *Seen) partAfter(now *Node, d *Diff) *Node {
	if d.Empty() {
		return s.part.shown
	}
	touched, added, was := touchedIn(d), map[int]bool{}, map[int]*Node{}
	for _, a := range d.Added {
		a.Node.Walk(func(n *Node) { added[n.Ref] = true })
	}
	s.part.shown.Walk(func(n *Node) { was[n.Ref] = n })
	var known func(n *Node) []*Node
	known = func(n *Node) []*Node {
		var children []*Node
		for _, c := range n.Children {
			children = append(children, known(c)...)
		}
		old := was[n.Ref]
		switch {
		case old == nil && !added[n.Ref] && (!s.whole.listed || s.whole.left[n.Ref]):
			return children
		case old != nil && !touched[n.Ref] && !sameProperties(old, n):
			return []*Node{copyOf(old, children)}
		case same(children, n.Children):
			return []*Node{n}
		}
		return []*Node{copyOf(n, children)}
	}
	return known(now)[0] // the root, which every part has
}

// sawWhole notes an answer that was about the whole page.
func (s *Seen) sawWhole(t *Tree, d *Diff, now time.Time, a *Answer) {
	if a.Kind != KindFull {
		s.sawAll(t, t.Root, d, now)
		return
	}
	s.whole = view{tree: t, shown: t.Root, at: now, unsure: t.Number, listed: true, left: a.left}
	s.known, s.labels, s.unsaid, s.moved = t.Number, nil, nil, nil
	part := Interactive(t.Root)
	if len(a.left) == 0 || s.part.shown == nil || !samePage(s.part.tree, t) {
		s.part = view{tree: t, shown: part, at: now, unsure: t.Number, listed: s.part.listed && len(a.left) == 0}
		return
	}
	s.part.toldOf(Compare(s.part.shown, part)) // as far as it was not left out
}

// sawPart notes an answer that was about the interactive part of the page.
func (s *Seen) sawPart(t *Tree, part *Node, now time.Time, a *Answer) {
	before, left := s.part.shown, s.part.left
	if a.Kind == KindFull {
		before, left = nil, a.left
	}
	s.part = view{tree: t, shown: part, at: now, unsure: t.Number, listed: true, left: left}
	if s.whole.shown == nil || !samePage(s.whole.tree, t) {
		s.firstLook(t, now)
		return
	}
	known := afterLook(s.whole.shown, t.Root, part, before, left)
	d := Compare(known, t.Root)
	if d.Share() > MaxChanged {
		s.firstLook(t, now)
		s.unsaid = touchedIn(d)
		return
	}
	if d.Empty() {
		known, s.known = t.Root, t.Number
	}
	s.whole = view{tree: t, shown: known, at: s.whole.at, unsure: t.Number, listed: s.whole.listed, left: s.whole.left, again: s.whole.again}
	s.moved = nil
	shown, there := references(part), references(t.Root)
	for ref := range s.whole.again {
		if shown[ref] || !there[ref] {
			delete(s.whole.again, ref)
		}
	}
	s.labels = touchedIn(Compare(Interactive(known), part))
}

// firstLook takes all of a page for known of which only the interactive part was shown: at a page that is mostly new,
// text that is not shown is no change. A request for the whole is answered by a listing then.
func (s *Seen) firstLook(t *Tree, now time.Time) {
	s.whole = view{tree: t, shown: t.Root, at: now, unsure: t.Number}
	s.known, s.labels, s.unsaid, s.moved = t.Number, nil, nil, nil
}

// toldInPart notes a difference that was cut: it is told again, as a whole.
func (s *Seen) toldInPart(d *Diff) {
	s.whole.toldOf(d)
	s.part.toldOf(d)
}

// toldOf notes that an answer told of a difference that the view does not follow.
func (v *view) toldOf(d *Diff) {
	if v.again == nil {
		v.again = map[int]bool{}
	}
	for _, ref := range d.touched {
		v.again[ref] = true
	}
}

// glimpsed notes that some nodes were shown by an answer that the next difference does not follow on.
func (s *Seen) glimpsed(t *Tree, nodes []*Node) {
	shown := map[int]bool{}
	for _, n := range nodes {
		n.Walk(func(n *Node) { shown[n.Ref] = true })
	}
	for v, now := range map[*view]*Node{&s.whole: t.Root, &s.part: Interactive(t.Root)} {
		if v.shown == nil || !samePage(v.tree, t) {
			continue
		}
		d := Compare(v.shown, now)
		d.touched = slices.DeleteFunc(d.touched, func(ref int) bool { return !shown[ref] })
		v.toldOf(d)
	}
}

// outdated says whether the agent takes something for changed that is as it was, according to what an answer told
// that a view did not follow.
func (s *Seen) outdated(d *Diff, v *view, now *Node, t *Tree) bool {
	if len(v.again)+len(s.labels) == 0 {
		return false
	}
	touched, there := touchedIn(d), references(t.Root)
	was, is := references(v.shown), references(now)
	for ref := range v.again {
		if !touched[ref] && (was[ref] || is[ref] || !there[ref]) {
			return true
		}
	}
	for _, r := range d.Removed {
		if r.Node.Role == RoleText && v.again[r.Node.Ref] { // it would be told by other words than the agent knows
			return true
		}
	}
	for ref := range s.labels {
		told := false
		if path := find(now, ref); path != nil {
			path[len(path)-1].Walk(func(n *Node) { told = told || touched[n.Ref] })
		}
		if !told && is[ref] && now == t.Root {
			return true
		}
	}
	return false
}

// Caused says what changed since the agent was told of the page last, its text included, for an answer that is
// about something else: without headings where it is the same page, and what is interactive in full where it is
// another one. It is "" when nothing changed. Where the focus went is told only when that is asked for.
func (s *Seen) Caused(p *Page, t *Tree, now time.Time, maxTokens int, focus bool) string {
	r := Request{Interactive: true, Format: FormatCompact, Now: now, MaxTokens: maxTokens}
	before := s.whole
	if before.shown == nil || !samePage(before.tree, t) {
		return s.anew(t, full(t, Interactive(t.Root), r, ""), now)
	}
	var text string
	if before.tree.URL != t.URL {
		text = "[URL: " + oneLine(t.URL, maxHeader) + "]\n"
	}
	d, known := Compare(before.shown, t.Root), t.Root
	outdated := s.outdated(d, &before, t.Root, t)
	switch {
	case !focus:
		d, known = withoutFocus(d, t.Root)
	case s.moved != nil: // where it was moved before this is told by the next snapshot
		pending := focusMoved(d)
		d = Compare(s.moved, t.Root)
		for ref := range focusMoved(d) {
			delete(pending, ref)
		}
		known = refocused(t.Root, pending)
	}
	if unsure := newlyUnsure(p, &before, t.Root); len(unsure) > 0 {
		text += "[Rendered anew, probably the same: " + spans(rangesOf(unsure)) + "]\n"
	}
	if d.Empty() && !outdated {
		s.sawAll(t, known, d, now)
		return text
	}
	changes := compactDiff(d)
	reduced := Interactive(t.Root)
	if outdated || d.Share() > MaxChanged && atLeast(reduced) <= len(changes) {
		if whole := full(t, reduced, r, ""); outdated || len(whole.Text) <= len(changes) {
			listing := s.anew(t, whole, now)
			if head := heading(t, r); head == heading(before.tree, r) {
				listing = "[The page now]\n" + strings.TrimPrefix(listing, head)
			}
			return listing
		}
	}
	if most := r.bytes(); most > 0 && len(changes) > most {
		s.toldInPart(d)
		return text + cutDiff(changes, r).Text // what did not fit comes again
	}
	s.sawAll(t, known, d, now)
	return text + incomplete(t) + changes
}

// anew notes that a page was told by a listing of its interactive part, and returns that. Nobody asked for it to be
// cut: if it was, the next snapshot lists the part again.
func (s *Seen) anew(t *Tree, a *Answer, now time.Time) string {
	before, part := s.whole, Interactive(t.Root)
	s.firstLook(t, now)
	if before.shown != nil && samePage(before.tree, t) {
		s.unsaid = touchedIn(Compare(afterLook(before.shown, t.Root, part, nil, a.left), t.Root))
	}
	s.part = view{tree: t, shown: part, at: now, unsure: t.Number, listed: len(a.left) == 0}
	return a.Text
}

package aria

import (
	"maps"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/aria/brief"
	"tidemark.dev/tidemark/host/internal/aria/ranges"
	"tidemark.dev/tidemark/host/internal/tokens"
)

// Seen records what one agent was shown of one tab. The zero value is an empty record. It is not safe for concurrent use.
//
// It guarantees:
//   - What an answer calls unchanged is as the agent was last shown it.
//   - What an answer did not print, because it was narrowed or cut, does not count as shown.
type Seen struct {
	// whole is the page as the agent knows it. Parts that interactive answers left out are in their earlier state. part is
	// the interactive part.
	whole, part view
	// known is the number of the newest tree that the agent knows completely, except for the focus.
	known int
	// moved, if not nil, is the whole with the focus where actions moved it. The agent that acted knows that.
	moved *Node
	// labels are rows that were shown with a label from text whose change is not reported yet.
	labels map[int]bool
	// unshown are elements with changed text that a first look at the interactive part left out.
	unshown map[int]bool
}

// view records what was shown of one of the two trees: the whole or the interactive part.
type view struct {
	tree   *Tree
	shown  *Node
	at     time.Time
	unsure int // number of the tree up to which uncertain references were reported
	// listed means that the agent has a listing on which differences can be based.
	listed bool
	// left are elements that were left out of that listing to fit, which was at most most tokens.
	left map[int]bool
	most int
	// again are elements and text with changes in an answer that this view does not include, because the answer was cut or
	// narrowed. If these changes are undone, a difference would not show it.
	again map[int]bool
	// focus are elements of which such an answer showed only that they got or lost the focus. Actions do not report that.
	focus map[int]bool
	// unread means that something in shown was not printed, because it is not interactive. A request for the whole then
	// returns a listing.
	unread bool
}

// Newest returns the number of the newest tree that the agent was shown.
func (s *Seen) Newest() int { return max(s.whole.unsure, s.part.unsure) }

// Knows reports whether the agent knows all changes up to a tree.
func (s *Seen) Knows(number int) bool { return s.whole.shown != nil && s.known >= number }

// Node returns an element as the agent was last shown it, or nil.
func (s *Seen) Node(ref int) *Node {
	views := []*view{&s.part, &s.whole}
	if s.whole.at.After(s.part.at) {
		slices.Reverse(views)
	}
	for _, v := range views {
		if v.shown == nil || v == &s.whole && !v.listed { // a view without a listing only assumes what the agent knows
			continue
		}
		if path := find(v.shown, ref); path != nil {
			return path[len(path)-1]
		}
	}
	return nil
}

// sawAll records that a difference reported all changes up to a tree, which the agent knows as shown: those of the focus only if
// focus is set.
func (s *Seen) sawAll(t *Tree, shown *Node, d *Diff, now time.Time, focus bool) {
	part := Interactive(shown)
	if s.part.shown != nil && sameDocument(s.part.tree, t) {
		part = s.partAfter(part, d)
	}
	left := s.whole.left
	again := func(reported map[int]bool, shown, now *Node) map[int]bool { // without elements that are now known as they are
		if len(reported) == 0 || shown == now && len(left) == 0 {
			return nil
		}
		unreported, own := touchedIn(Compare(shown, now)), ranges.Set(d.own)
		maps.DeleteFunc(reported, func(ref int, _ bool) bool { return !unreported[ref] && (own[ref] || !left[ref]) })
		return reported
	}
	whole, inPart := s.whole.focus, s.part.focus
	if focus {
		whole, inPart = again(whole, shown, t.Root), again(inPart, part, Interactive(t.Root))
	}
	s.whole = view{tree: t, shown: shown, at: now, unsure: t.Number, listed: s.whole.listed, left: left, most: s.whole.most, again: again(s.whole.again, shown, t.Root), focus: whole, unread: s.whole.unread}
	s.part = view{tree: t, shown: part, at: now, unsure: t.Number, listed: s.part.listed, left: s.part.left, most: s.part.most, again: again(s.part.again, part, Interactive(t.Root)), focus: inPart}
	s.known, s.labels, s.moved = t.Number, nil, nil
	if shown != t.Root {
		s.moved = t.Root
	}
}

// partAfter returns the interactive part of a tree as the agent knows it after a difference of the whole. It excludes
// elements that became interactive and were never listed, and it has the labels of rows as they were shown.
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
		case slices.Equal(children, n.Children):
			return []*Node{n}
		}
		return []*Node{copyOf(n, children)}
	}
	return known(now)[0] // the root, which every part has
}

// sawWhole records an answer about the whole page.
func (s *Seen) sawWhole(t *Tree, d *Diff, now time.Time, a *Answer) {
	if a.Kind != KindFull {
		s.sawAll(t, t.Root, d, now, true)
		return
	}
	unshown := map[int]bool{} // elements that were left out this time, and have changed since they were shown
	if len(a.left) > 0 && s.whole.shown != nil && sameDocument(s.whole.tree, t) {
		maps.Copy(unshown, s.unshown)
		maps.Copy(unshown, touchedIn(Compare(s.whole.shown, t.Root)))
		maps.DeleteFunc(unshown, func(ref int, _ bool) bool { return !a.left[ref] })
	}
	s.whole = view{tree: t, shown: t.Root, at: now, unsure: t.Number, listed: true, left: a.left, most: a.most}
	s.known, s.labels, s.unshown, s.moved = t.Number, nil, unshown, nil
	part := Interactive(t.Root)
	if len(a.left) == 0 || s.part.shown == nil || !sameDocument(s.part.tree, t) {
		s.part = view{tree: t, shown: part, at: now, unsure: t.Number, listed: s.part.listed && len(a.left) == 0}
		return
	}
	s.part.addReported(Compare(s.part.shown, part)) // except for what was left out
}

// sawPart records an answer about the interactive part of the page.
func (s *Seen) sawPart(t *Tree, part *Node, now time.Time, a *Answer) {
	before, left, most := s.part.shown, s.part.left, s.part.most
	if a.Kind == KindFull {
		before, left, most = nil, a.left, a.most
	}
	s.part = view{tree: t, shown: part, at: now, unsure: t.Number, listed: s.part.listed || a.Kind == KindFull, left: left, most: most}
	if s.whole.shown == nil || !sameDocument(s.whole.tree, t) {
		s.firstLook(t, now)
		return
	}
	known, unread := afterLook(s.whole.shown, t.Root, part, before, left)
	d := Compare(known, t.Root)
	if d.Share() > MaxChanged || !sameRoute(s.whole.tree, t) {
		unshown := touchedIn(d)
		if a.Kind != KindFull { // what was not listed again stays unshown
			maps.Copy(unshown, s.unshown)
			maps.Copy(unshown, s.whole.again)
		}
		s.firstLook(t, now)
		s.unshown = unshown
		return
	}
	if d.Empty() {
		known, s.known = t.Root, t.Number
	}
	s.whole = view{tree: t, shown: known, at: s.whole.at, unsure: t.Number, listed: s.whole.listed, left: s.whole.left, most: s.whole.most, again: s.whole.again, focus: s.whole.focus, unread: s.whole.unread || unread}
	s.moved = nil
	shown, there := references(part), references(t.Root)
	for _, reported := range []map[int]bool{s.whole.again, s.whole.focus} {
		maps.DeleteFunc(reported, func(ref int, _ bool) bool { return shown[ref] || !there[ref] })
	}
	s.labels = touchedIn(Compare(Interactive(known), part))
}

// firstLook treats a page as known although only its interactive part was shown. On a page that is mostly new, or another
// view of an application, text that was not shown is not a change. A request for the whole then returns a listing.
func (s *Seen) firstLook(t *Tree, now time.Time) {
	s.whole = view{tree: t, shown: t.Root, at: now, unsure: t.Number}
	s.known, s.labels, s.unshown, s.moved = t.Number, nil, nil, nil
}

// sawCut records a difference that was cut. The next answer repeats all of it.
func (s *Seen) sawCut(d *Diff) {
	s.whole.addReported(d)
	s.part.addReported(d)
}

// addReported records that an answer reported a difference that the view does not include.
func (v *view) addReported(d *Diff) {
	rest, _ := withoutFocus(d, d.root)
	focus := focusMoved(d)
	for _, c := range rest.Changed {
		delete(focus, c.New.Ref)
	}
	for _, m := range d.Moved {
		delete(focus, m.Node.Ref)
	}
	for _, ref := range d.own {
		reported := &v.again
		if focus[ref] {
			reported = &v.focus
		}
		if *reported == nil {
			*reported = map[int]bool{}
		}
		(*reported)[ref] = true
	}
}

// glimpsed records nodes in an answer on which the next difference is not based.
func (s *Seen) glimpsed(t *Tree, nodes []*Node) {
	shown := map[int]bool{}
	for _, n := range nodes {
		n.Walk(func(n *Node) { shown[n.Ref] = true })
	}
	for v, now := range map[*view]*Node{&s.whole: t.Root, &s.part: Interactive(t.Root)} {
		if v.shown == nil || !sameDocument(v.tree, t) {
			continue
		}
		d := Compare(v.shown, now)
		d.own = slices.DeleteFunc(d.own, func(ref int) bool { return !shown[ref] })
		v.addReported(d)
	}
}

// outdated reports whether an answer that the view does not include reported changes that were undone since. Those of the focus
// count only if focus is set.
func (s *Seen) outdated(d *Diff, v *view, now *Node, t *Tree, focus bool) bool {
	again := slices.Collect(maps.Keys(v.again))
	if focus {
		again = slices.AppendSeq(again, maps.Keys(v.focus))
	}
	if len(again)+len(s.labels) == 0 {
		return false
	}
	touched, own, there := touchedIn(d), ranges.Set(d.own), references(t.Root)
	was, is := references(v.shown), references(now)
	for _, ref := range again {
		if !own[ref] && (was[ref] || is[ref] || !there[ref]) {
			return true
		}
	}
	for _, c := range d.Changed {
		if c.New.HasValue && c.Old.Value == c.New.Value && v.again[c.New.Ref] { // its line would not show the value
			return true
		}
	}
	for _, r := range d.Removed {
		if r.Node.Role == RoleText && v.again[r.Node.Ref] { // the difference would name it in words unknown to the agent
			return true
		}
	}
	for ref := range s.labels {
		reported := false
		if path := find(now, ref); path != nil {
			path[len(path)-1].Walk(func(n *Node) { reported = reported || touched[n.Ref] })
		}
		if !reported && is[ref] && now == t.Root {
			return true
		}
	}
	return false
}

// Caused returns the changes, text included, since the last answer about the page. It is part of the answer of an action.
// It names the address and the title if they changed, and lists the interactive part of a different document in full. It
// returns "" if nothing changed. Focus changes are included only if focus is set.
//
// Where an application changes its address to show another view, the answer has no more than a listing would have: all
// changes if they are short, else those of the interactive part.
func (s *Seen) Caused(p *Page, t *Tree, now time.Time, maxTokens int, focus bool) string {
	text, _ := s.caused(p, t, now, maxTokens, focus)
	return text
}

// Left returns the changes of a page that another document has replaced, as [Seen.Caused] does. Where that would list the page,
// it returns only a new title and address.
func (s *Seen) Left(p *Page, t *Tree, now time.Time, maxTokens int) string {
	before := s.whole.tree
	text, listed := s.caused(p, t, now, maxTokens, false)
	switch {
	case !listed:
		return text
	case before == nil:
		return ""
	}
	return moved(before, t)
}

// caused is [Seen.Caused]. listed is true if the text lists the page instead of its changes.
func (s *Seen) caused(p *Page, t *Tree, now time.Time, maxTokens int, focus bool) (text string, listed bool) {
	r := Request{Interactive: true, Format: FormatCompact, Now: now, MaxTokens: maxTokens}
	before := s.whole
	if before.shown == nil || !sameDocument(before.tree, t) {
		return s.relist(t, full(t, Interactive(t.Root), r, ""), now), true
	}
	text = moved(before.tree, t)
	d, known := Compare(before.shown, t.Root), t.Root
	d.unlist(t.Root)
	outdated := s.outdated(d, &before, t.Root, t, focus)
	switch {
	case !focus:
		d, known = withoutFocus(d, t.Root)
	case s.moved != nil: // the next snapshot reports earlier moves of the focus
		pending := focusMoved(d)
		d = Compare(s.moved, t.Root)
		d.unlist(t.Root)
		for ref := range focusMoved(d) {
			delete(pending, ref)
		}
		known = refocused(t.Root, pending)
	}
	text += rerendered(newlyUnsure(p, &before, t, t.Root))
	if d.Empty() && !outdated {
		s.sawAll(t, known, d, now, focus)
		return text, false
	}
	changes := compactDiff(d)
	reduced := Interactive(t.Root)
	if !outdated && !sameRoute(before.tree, t) && len(text)+len(changes) > len(full(t, reduced, r, "").Text) {
		return s.routed(p, t, r, now, focus)
	}
	if r.Interactive = !before.listed; before.listed { // an agent that was shown the text is shown the new one
		reduced = t.Root
	}
	if outdated || d.Share() > MaxChanged && atLeast(reduced) <= len(changes) {
		if whole := full(t, reduced, r, ""); outdated || len(whole.Text) <= len(changes) {
			whole.Text = marked(whole.Text, before.tree, t, r)
			if r.Interactive {
				return s.relist(t, whole, now), true
			}
			s.sawWhole(t, d, now, whole)
			s.whole.listed = len(whole.left) == 0 // the agent did not request the cut: the next snapshot lists it again
			return whole.Text, true
		}
	}
	if !r.fits(changes) {
		s.sawCut(d)
		return text + cutDiff(changes, r).Text, false // the next answer repeats what did not fit
	}
	s.sawAll(t, known, d, now, focus)
	return text + incomplete(t) + changes, false
}

// partOnly is the line above what is of the interactive part of a page that has more.
const partOnly = "[Interactive elements only; interactive_only: false shows the text]\n"

// marked is a listing of a document that the agent knows, without its title and address if they are the same, and with a
// line that says so if text is left out.
func marked(listing string, before, t *Tree, r Request) string {
	head := heading(t, r)
	listing = strings.TrimPrefix(listing, head)
	if head == heading(before, r) {
		head = "[The page now]\n"
	}
	if r.Interactive && Interactive(t.Root).Count() < t.Root.Count() {
		head += partOnly
	}
	return head + listing
}

// shellShare is how much longer than a listing the changes of another view may be: the listing repeats what stayed.
const shellShare = 1.1

// routed is the part of [Seen.Caused] for another view of an application with more text than its listing has: the changes of
// the interactive part, or the listing if that is much shorter.
func (s *Seen) routed(p *Page, t *Tree, r Request, now time.Time, focus bool) (text string, listed bool) {
	reduced := Interactive(t.Root)
	d, known := Compare(s.part.shown, reduced), reduced
	outdated := s.outdated(d, &s.part, reduced, t, focus)
	if !focus {
		d, known = withoutFocus(d, reduced)
	}
	d.unlist(t.Root)
	text = moved(s.whole.tree, t) + partOnly
	if s.part.listed {
		text += s.unchanged(&s.part, t, reduced, d, true)
	}
	text += rerendered(newlyUnsure(p, &s.part, t, reduced)) + incomplete(t) + compactDiff(d)
	uncut := full(t, reduced, Request{Interactive: true, Format: r.Format}, "").Text
	if outdated || !r.fits(text) || float64(tokens.Estimate(text)) >= shellShare*float64(tokens.Estimate(uncut)) {
		whole := full(t, reduced, r, "")
		whole.Text = marked(whole.Text, s.whole.tree, t, r)
		return s.relist(t, whole, now), true
	}
	s.sawPart(t, known, now, &Answer{Kind: KindDiff})
	return text, false
}

// moved returns the lines that name a new title and a new address, "" if both are the same.
func moved(before, t *Tree) string {
	var text string
	if !sameTitle(before, t) {
		text = "[Page: " + brief.Title(t.Title, maxHeader) + "]\n"
	}
	switch {
	case !sameRoute(before, t):
		text += "[URL: " + brief.Address(t.URL, len(t.URL)) + "]\n"
	case before.URL != t.URL:
		text += "[URL: " + brief.Address(t.URL, maxHeader) + "]\n"
	}
	return text
}

// relist records a listing of the interactive part of a page and returns its text. If the listing was cut, the next snapshot
// lists the part again, because the agent did not request the cut.
func (s *Seen) relist(t *Tree, a *Answer, now time.Time) string {
	before, part := s.whole, Interactive(t.Root)
	s.firstLook(t, now)
	if before.shown != nil && sameDocument(before.tree, t) {
		known, _ := afterLook(before.shown, t.Root, part, nil, a.left)
		s.unshown = touchedIn(Compare(known, t.Root))
	}
	s.part = view{tree: t, shown: part, at: now, unsure: t.Number, listed: len(a.left) == 0}
	return a.Text
}

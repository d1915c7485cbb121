package aria

import (
	"errors"
	"fmt"
	"slices"

	"tidemark.dev/tidemark/host/internal/aria/brief"
	"tidemark.dev/tidemark/protocol"
)

// Page is the known state of one tab: the tree of each frame's document, and the references of all elements, removed ones
// included. It is not safe for concurrent use.
type Page struct {
	docs    map[string]*document
	top     string // the name of the top document
	tree    *Tree
	numbers int
	texts   int
	homes   map[int]*entry
	gone    map[int]*Node // the elements that were removed last
	fading  []int         // the keys of gone, oldest first
	unsure  map[int]int   // references that were matched without certainty, with the number of the tree
}

// maxGone is how many removed elements are kept, so that errors can describe them.
const maxGone = 2000

// document is one frame's document.
type document struct {
	name    string
	frame   protocol.AriaFrame // without its nodes
	entries map[int]*entry
	frames  []*entry // its iframes
	// retired are the references of elements that left the tree and may return.
	retired map[int]int
	node    *Node // its root; nil if stale
}

// entry is one node of a document.
type entry struct {
	protocol.AriaNode
	doc    *document
	parent *entry
	kids   []*entry
	ref    int
	node   *Node // nil if stale
	was    *Node // the previous node
	inner  *document
	// listed is the last version of the document in which a changed parent listed it.
	listed int
}

// ErrOutOfStep means that the browser sent changes to a tree that is not the known one. Request the whole tree.
var ErrOutOfStep = errors.New("the browser sent changes to a different version of the page")

// NewPage returns an empty page.
func NewPage() *Page {
	return &Page{docs: map[string]*document{}, homes: map[int]*entry{}, gone: map[int]*Node{}, unsure: map[int]int{}}
}

// Known returns the versions of documents against which to request changes.
func (p *Page) Known() []protocol.AriaKnown {
	known := []protocol.AriaKnown{}
	for _, d := range p.docs {
		known = append(known, protocol.AriaKnown{Document: d.name, Version: d.frame.Version})
	}
	return known
}

// Forget drops the known documents. Their references are not used again.
func (p *Page) Forget() {
	for _, d := range p.docs {
		p.leave(d)
	}
	p.docs, p.top = map[string]*document{}, ""
}

// Tree returns the newest tree, or nil.
func (p *Page) Tree() *Tree { return p.tree }

// Apply updates the page with what the browser sent and returns the new tree.
func (p *Page) Apply(r *protocol.AriaResult) (*Tree, error) {
	if len(r.Frames) == 0 {
		return nil, errors.New("the browser sent no frame")
	}
	for _, f := range r.Frames {
		if d := p.docs[f.Document]; f.Since != 0 && (d == nil || d.frame.Version != f.Since) {
			return nil, ErrOutOfStep
		}
	}
	here := map[string]bool{}
	left := 0
	m := &matcher{gone: map[*Node]bool{}}
	for _, f := range r.Frames {
		here[f.Document] = true
		left += f.Left
		d := p.docs[f.Document]
		if d == nil || f.Since == 0 && len(d.entries) > 0 {
			if d != nil {
				p.leave(d)
			}
			d = &document{name: f.Document, entries: map[int]*entry{}, retired: map[int]int{}}
			p.docs[f.Document] = d
		}
		if err := p.patch(d, f, m); err != nil {
			p.Forget()
			return nil, err
		}
	}
	for name, d := range p.docs {
		if !here[name] {
			p.leave(d)
			delete(p.docs, name)
		}
	}
	top := p.docs[r.Frames[0].Document]
	p.top = top.name
	var before *Node
	if p.tree != nil {
		before = p.tree.Root
	}
	t := &Tree{URL: top.frame.URL, Title: top.frame.Title, Document: top.name, Left: left, Unread: r.Unread, Number: 1}
	if p.tree != nil {
		t.Number = p.tree.Number + 1
	}
	t.Root = p.build(top, nil)
	m.run(before, t.Root)
	for _, u := range m.unsure {
		p.unsure[u] = t.Number
	}
	p.number(t.Root)
	p.settle(m)
	p.tree = t
	return t, nil
}

// patch applies the changes of one document.
func (p *Page) patch(d *document, f protocol.AriaFrame, m *matcher) error {
	nodes := f.Nodes
	f.Nodes = nil
	if f.Root == 0 { // the document is empty, as after document.open
		nodes = []protocol.AriaNode{{Role: roleDocument}}
	}
	sameRoot := d.frame.Root == f.Root
	d.frame = f
	if len(nodes) == 0 && sameRoot {
		return nil
	}
	for _, n := range nodes {
		e := d.entries[n.ID]
		if e == nil {
			e = &entry{doc: d, ref: d.retired[n.ID]}
			delete(d.retired, n.ID)
			d.entries[n.ID] = e
		}
		e.AriaNode = n
		e.stale()
	}
	var loose []*entry
	for _, n := range nodes {
		e := d.entries[n.ID]
		before := e.kids
		e.kids = make([]*entry, 0, len(n.Children))
		for _, id := range n.Children {
			kid := d.entries[id]
			if kid == nil {
				return fmt.Errorf("the browser sent node %d without its child %d", n.ID, id)
			}
			e.kids = append(e.kids, kid)
			kid.listed = f.Version
		}
		loose = append(loose, before...)
	}
	for _, n := range nodes {
		e := d.entries[n.ID]
		for _, kid := range e.kids {
			kid.parent = e
		}
	}
	for _, kid := range loose {
		if d.entries[kid.ID] == kid && kid.listed != f.Version {
			p.drop(kid, m, true)
		}
	}
	root := d.entries[f.Root]
	if root == nil {
		return fmt.Errorf("the browser sent a tree without its root %d", f.Root)
	}
	root.parent = nil
	root.stale()
	d.frames = slices.DeleteFunc(d.frames, func(e *entry) bool { return e.Role != roleFrame || d.entries[e.ID] != e })
	for _, n := range nodes {
		if e := d.entries[n.ID]; e != nil && n.Role == roleFrame && !slices.Contains(d.frames, e) {
			d.frames = append(d.frames, e)
		}
	}
	return nil
}

// stale marks the nodes of an entry and its ancestors for rebuilding.
func (e *entry) stale() {
	for at := e; at != nil; at = at.parent {
		if at.node != nil {
			at.was, at.node = at.node, nil
		} else if at != e {
			return
		}
	}
	e.doc.node = nil
}

// drop removes an entry and its descendants from its document, except those that moved elsewhere.
func (p *Page) drop(e *entry, m *matcher, top bool) {
	d := e.doc
	delete(d.entries, e.ID)
	if e.ref != 0 {
		d.retired[e.ID] = e.ref
	}
	old := e.node
	if old == nil {
		old = e.was
	}
	if old != nil {
		m.gone[old] = true
		if top && e.parent != nil {
			m.under(e.parent, old)
		}
	}
	for _, kid := range e.kids {
		if kid.parent == e && d.entries[kid.ID] == kid {
			p.drop(kid, m, false)
		}
	}
	if e.inner != nil {
		e.inner = nil
	}
}

// leave records that a document's elements were removed.
func (p *Page) leave(d *document) {
	for _, e := range d.entries {
		n := e.node
		if n == nil {
			n = e.was
		}
		if n != nil && p.homes[e.ref] == e {
			p.bury(n)
		}
	}
}

func (p *Page) bury(n *Node) {
	delete(p.homes, n.Ref)
	if n.Ref <= 0 {
		return
	}
	if _, known := p.gone[n.Ref]; !known {
		p.fading = append(p.fading, n.Ref)
		if len(p.fading) > maxGone {
			delete(p.gone, p.fading[0])
			p.fading = p.fading[1:]
		}
	}
	p.gone[n.Ref] = n
}

// build returns the root of a document and rebuilds stale nodes.
func (p *Page) build(d *document, within []*document) *Node {
	for _, w := range within {
		if w == d {
			return nil // frames that claim to contain each other
		}
	}
	within = append(within, d)
	for _, e := range d.frames {
		inner := p.inner(e)
		var before, now *Node
		if e.inner != nil {
			before = e.inner.node
		}
		changed := inner != e.inner
		if inner != nil {
			now = p.build(inner, within)
		}
		if changed || before != now || e.node == nil {
			e.inner = inner
			e.stale()
		}
	}
	if d.node == nil {
		d.node = d.entries[d.frame.Root].build()
	}
	return d.node
}

// inner returns the document that an iframe shows, or nil if it is unknown.
func (p *Page) inner(e *entry) *document {
	var shown *document
	for _, d := range p.docs {
		if f := d.frame; f.Owner == e.ID && f.Parent == e.doc.frame.Frame && f.Frame != 0 && (shown == nil || f.Frame < shown.frame.Frame) {
			shown = d
		}
	}
	return shown
}

func (e *entry) build() *Node {
	if e.node != nil {
		return e.node
	}
	n := &Node{
		Ref: e.ref, Role: e.Role, Name: e.Name, Description: e.Description, States: e.States, Keys: e.Keys, shape: e.Shape, blocks: e.ShapeKeys, home: e,
	}
	if e.Value != nil {
		n.Value, n.HasValue = *e.Value, true
	}
	if c := e.Cut; len(c) == 4 {
		n.Cut = Cut{c[0], c[1], c[2], c[3]}
	}
	n.Children = make([]*Node, 0, len(e.kids))
	for _, kid := range e.kids {
		if kid.parent == e { // an element has one parent, whatever the browser sent
			n.Children = append(n.Children, kid.build())
		}
	}
	if e.inner != nil && e.inner.node != nil {
		n.Children = append(n.Children, e.inner.node.Children...)
	}
	e.node = n
	return n
}

// number assigns references to the nodes without one, in page order.
func (p *Page) number(n *Node) {
	if n.numbered {
		return // and so are its descendants
	}
	if n.Ref == 0 {
		if n.IsText() {
			p.texts++
			n.Ref = -p.texts
		} else {
			p.numbers++
			n.Ref = p.numbers
		}
	}
	if e := n.home; e.ref != n.Ref || p.homes[n.Ref] != e {
		e.ref = n.Ref
		p.homes[n.Ref] = e
	}
	n.numbered = true
	for _, c := range n.Children {
		p.number(c)
	}
}

// settle records the removed elements that have no successor.
func (p *Page) settle(m *matcher) {
	for n := range m.gone {
		if n.Ref == 0 {
			continue
		}
		e := p.homes[n.Ref]
		if e == n.home && e.doc.entries[e.ID] != e {
			p.bury(n)
		} else if e != nil && e != n.home {
			// A successor has the reference now. If the old element returns, it gets a new one.
			delete(n.home.doc.retired, n.home.ID)
		}
	}
}

// Element identifies an element in the browser.
type Element struct {
	// Frame is the browser's id of the frame, Document the name of its document, and ID the element's id in it.
	Frame    int
	Document string
	ID       int
	Node     *Node
}

// Find returns the element of a reference. For a removed one it returns a [GoneError] with the likeliest successor.
func (p *Page) Find(ref int) (*Element, error) {
	if e := p.homes[ref]; e != nil && e.doc.entries[e.ID] == e {
		n := e.node
		if n == nil {
			n = e.was
		}
		return &Element{e.doc.frame.Frame, e.doc.name, e.ID, n}, nil
	}
	was := p.gone[ref]
	if was == nil && (ref > p.numbers || ref < 1) {
		return nil, &GoneError{Ref: ref, Unknown: true}
	}
	gone := &GoneError{Ref: ref, Was: was}
	if was != nil && p.tree != nil {
		gone.Successor = likeliest(was, p.tree.Root)
	}
	return nil, gone
}

// Path returns the path to the element of a reference: the iframes around it, outermost first, then the element. Its
// errors are those of [Page.Find].
func (p *Page) Path(ref int) ([]Element, error) {
	last, err := p.Find(ref)
	if err != nil {
		return nil, err
	}
	path := []Element{*last}
	for d := p.docs[last.Document]; d != nil && d.name != p.top; {
		outer := p.owner(d)
		if outer == nil || len(path) > len(p.docs) {
			return nil, &GoneError{Ref: ref, Was: last.Node} // its frame has just left the page
		}
		path = append([]Element{{Frame: outer.doc.frame.Frame, Document: outer.doc.name, ID: outer.ID, Node: outer.node}}, path...)
		d = outer.doc
	}
	return path, nil
}

// owner returns the iframe that shows a document, or nil.
func (p *Page) owner(d *document) *entry {
	for _, other := range p.docs {
		for _, e := range other.frames {
			if e.inner == d {
				return e
			}
		}
	}
	return nil
}

// At returns the reference and the node of an element in the browser, or 0 if it has no reference.
func (p *Page) At(document string, id int) (int, *Node) {
	d := p.docs[document]
	if d == nil || d.entries[id] == nil {
		return 0, nil
	}
	e := d.entries[id]
	return e.ref, e.node
}

// GoneError means that a reference names no element on the page.
type GoneError struct {
	Ref int
	// Unknown means that the reference never existed.
	Unknown bool
	// Was is the removed element, and Successor the most similar one now. Either may be nil.
	Was, Successor *Node
}

func (e *GoneError) Error() string {
	if e.Unknown {
		return fmt.Sprintf("there is no element %s on this tab. Call browser_snapshot for current references.", Reference(e.Ref))
	}
	if e.Was == nil {
		return fmt.Sprintf("element %s no longer exists. Call browser_snapshot for current references.", Reference(e.Ref))
	}
	said := fmt.Sprintf("element %s (%s) no longer exists", Reference(e.Ref), Brief(e.Was))
	if e.Successor == nil {
		return said + ", and nothing on the page is like it. Call browser_snapshot."
	}
	return fmt.Sprintf("%s. The closest match is %s [%s].", said, Brief(e.Successor), Reference(e.Successor.Ref))
}

// Brief returns an element's role and name.
func Brief(n *Node) string {
	if n.Name == "" {
		return n.Role
	}
	return n.Role + " " + Quote(n.Name)
}

// Quote returns a name or a value in quotation marks, cut to 60 characters.
func Quote(s string) string { return brief.Quote(s, 60) }

// Unsure returns the references that passed to other elements after the tree since, without certainty.
func (p *Page) Unsure(since int) []int {
	var refs []int
	for ref, number := range p.unsure {
		if number > since && p.homes[ref] != nil {
			refs = append(refs, ref)
		}
	}
	return refs
}

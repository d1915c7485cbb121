package capture

import (
	"cmp"
	"maps"
	"slices"

	"tidemark.dev/tidemark/host/internal/event"
)

// Change is an entry of the DOM buffer.
type Change struct {
	event.Head
	// Op is "appeared" or "gone" (an error element), "navigated", "crashed" or "closed" (the tab), "emptied" (the page lost
	// its content because its code failed) or "filled" (it has content again).
	Op string
	// Element is set for the first two.
	Element ElementKey
	// How, From and URL are set for a tab: how as in event.Navigation, the address before ("" when not known)
	// and after.
	How, From, URL string
	// Alert is true for an element that appeared and calls for attention.
	Alert bool
	// Since is when From had become the tab's address, or when it was first seen there, in milliseconds since 1970; 0 when not known.
	Since int64
}

// ElementKey is what makes two error elements the same to a reader, across reloads.
type ElementKey struct {
	Tab            int
	Origin         string
	Selector, Text string
}

// DOMState is what the DOM section knows at one moment: which error elements are visible (and how often), the address
// of each tab, and which tabs show an empty page. A DOMState that was shared never changes.
type DOMState struct {
	elements map[ElementKey]int
	urls     map[int]string
	empty    map[int]int64
	shared   bool
}

// Elements returns how often each visible error element is there. The map must not be changed.
func (p *DOMState) Elements() map[ElementKey]int {
	if p == nil {
		return nil
	}
	return p.elements
}

// Shown returns how often an element was visible.
func (p *DOMState) Shown(k ElementKey) int {
	if n := p.Elements()[k]; n > 0 {
		return n
	}
	k.Tab = 0 // a state from elsewhere knows no tabs, and whatever is there has come since
	return p.Elements()[k]
}

// URL returns the address of a tab, "" when it is not known.
func (p *DOMState) URL(tab int) string {
	if p == nil {
		return ""
	}
	return p.urls[tab]
}

// URLs returns the address of every tab known. The map must not be changed.
func (p *DOMState) URLs() map[int]string {
	if p == nil {
		return nil
	}
	return p.urls
}

// Empty returns since when tabs show a page that is empty because its code failed, in milliseconds since the Unix
// epoch. The map must not be changed.
func (p *DOMState) Empty() map[int]int64 {
	if p == nil {
		return nil
	}
	return p.empty
}

// WasEmpty reports whether a page at an address was empty in a tab of another time. Such tabs have negative ids.
func (p *DOMState) WasEmpty(url string) bool {
	for tab := range p.Empty() {
		if tab < 0 && p.urls[tab] == url {
			return true
		}
	}
	return false
}

// NewDOMState makes a state of the error elements that are visible, and how often, the address of each tab, and since
// when tabs are empty. The maps may be nil.
func NewDOMState(elements map[ElementKey]int, urls map[int]string, empty map[int]int64) *DOMState {
	p := &DOMState{elements: map[ElementKey]int{}, urls: map[int]string{}, empty: map[int]int64{}}
	maps.Copy(p.elements, elements)
	maps.Copy(p.urls, urls)
	maps.Copy(p.empty, empty)
	return p
}

// apply takes one more change in and returns the state to use from now on.
func (p *DOMState) apply(c *Change) *DOMState {
	if p == nil || p.shared {
		p = NewDOMState(p.Elements(), p.URLs(), p.Empty())
	}
	switch c.Op {
	case "appeared":
		p.elements[c.Element]++
	case "gone":
		if p.elements[c.Element]--; p.elements[c.Element] <= 0 {
			delete(p.elements, c.Element)
		}
	case "navigated":
		p.urls[c.Tab()] = c.URL
		if c.How == "load" || c.How == "reload" {
			delete(p.empty, c.Tab())
		}
	case "emptied":
		p.empty[c.Tab()] = c.At
	case "filled":
		delete(p.empty, c.Tab())
	case "closed":
		delete(p.urls, c.Tab())
		delete(p.empty, c.Tab())
	}
	return p
}

func (p *DOMState) share() *DOMState {
	if p != nil && !p.shared { // a state that is shared is read without the lock
		p.shared = true
	}
	return p
}

// elementID names one element in one document.
type elementID struct {
	tab, frame int
	document   string
	id         int
}

// elementEvent turns an element event into changes of the DOM buffer.
func (s *Store) elementEvent(e *event.Element) {
	id := elementID{e.Tab(), e.Frame, e.Document, e.ID}
	key := ElementKey{Tab: e.Tab(), Origin: e.Origin(), Selector: e.Selector, Text: e.Text}
	switch e.Op {
	case "appeared", "changed":
		old, known := s.live[id]
		if known && old == key {
			return
		}
		if known {
			s.change(Change{Head: e.Head, Op: "gone", Element: old})
		}
		s.live[id], s.keep.live = key, true
		s.change(Change{Head: e.Head, Op: "appeared", Element: key, Alert: e.Alert})
	case "gone":
		if old, known := s.live[id]; known {
			delete(s.live, id)
			s.keep.live = true
			s.change(Change{Head: e.Head, Op: "gone", Element: old})
		}
	case "emptied":
		if t := s.tabs[e.Tab()]; t != nil && e.Frame == 0 && s.domState.Empty()[e.Tab()] == 0 {
			t.failure.emptied = e
			t.failure.record(s)
		}
	case "filled":
		if t := s.tabs[e.Tab()]; t != nil {
			t.failure.emptied = nil
		}
		if s.domState.Empty()[e.Tab()] != 0 {
			s.change(Change{Head: e.Head, Op: "filled"})
		}
	case "reset":
		s.forgetElements(e.Head, func(id elementID) bool {
			return id.tab == e.Tab() && id.frame == e.Frame && id.document != e.Document
		})
	}
}

// forgetElements reports the visible elements that which names as gone, in the order in which they
// came.
func (s *Store) forgetElements(head event.Head, which func(elementID) bool) {
	var ids []elementID
	for id := range s.live {
		if which(id) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b elementID) int {
		return cmp.Or(cmp.Compare(a.frame, b.frame), cmp.Compare(a.document, b.document), cmp.Compare(a.id, b.id))
	})
	for _, id := range ids {
		s.change(Change{Head: head, Op: "gone", Element: s.live[id]})
		delete(s.live, id)
		s.keep.live = true
	}
}

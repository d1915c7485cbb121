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
	// Op is "appeared" or "gone" (an error element), "navigated" or "crashed" (the tab).
	Op string
	// Element is set for the first two.
	Element ElementKey
	// How, From and URL are set for the others: how as in event.Navigation, the address before (""
	// when not known) and after.
	How, From, URL string
}

// ElementKey is what makes two error elements the same to a reader, across reloads.
type ElementKey struct {
	Tab            int
	Origin         string
	Selector, Text string
}

// DOMState is what the DOM section knows at one moment: which error elements are visible (and how often)
// and the address of each tab. A DOMState that was shared never changes.
type DOMState struct {
	elements map[ElementKey]int
	urls     map[int]string
	shared   bool
}

// Elements returns how often each visible error element is there. The map must not be changed.
func (p *DOMState) Elements() map[ElementKey]int {
	if p == nil {
		return nil
	}
	return p.elements
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

// apply takes one more change in and returns the state to use from now on.
func (p *DOMState) apply(c *Change) *DOMState {
	switch {
	case p == nil:
		p = &DOMState{elements: map[ElementKey]int{}, urls: map[int]string{}}
	case p.shared:
		p = &DOMState{elements: maps.Clone(p.elements), urls: maps.Clone(p.urls)}
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
	case "closed":
		delete(p.urls, c.Tab())
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
		s.change(Change{Head: e.Head, Op: "appeared", Element: key})
	case "gone":
		if old, known := s.live[id]; known {
			delete(s.live, id)
			s.keep.live = true
			s.change(Change{Head: e.Head, Op: "gone", Element: old})
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

package alike

import (
	"cmp"
	"maps"
	"slices"
)

// Entry identifies an entry of an answer in later answers. Of is what it is about, such as an endpoint; As also says how
// that failed.
type Entry struct{ Of, As uint64 }

// maxGiven bounds the entries that are remembered for a client. Beyond it, a quarter is forgotten: those that occurred
// longest ago. A forgotten entry is shown in full again.
const maxGiven = 2000

// Given are the entries that answers showed to a client. It never changes. The nil Given has none.
type Given struct {
	of   map[uint64]uint64 // what each entry is about
	last map[uint64]uint64 // the answer that had it last
	// answers counts the answers.
	answers uint64
}

// Has reports whether an entry was shown.
func (g *Given) Has(as uint64) bool {
	if g == nil {
		return false
	}
	_, has := g.of[as]
	return has
}

// Entries returns the entries, those that occurred longest ago first.
func (g *Given) Entries() []Entry {
	if g == nil {
		return nil
	}
	list := make([]Entry, 0, len(g.of))
	for as, of := range g.of {
		list = append(list, Entry{of, as})
	}
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Or(cmp.Compare(g.last[a.As], g.last[b.As]), cmp.Compare(a.As, b.As)) })
	return list
}

// NewGiven returns entries as [Given.Entries] lists them.
func NewGiven(list []Entry) *Given {
	g := &Given{of: map[uint64]uint64{}, last: map[uint64]uint64{}}
	for _, e := range list {
		g.answers++
		g.add(e)
	}
	return g
}

// With returns the entries after an answer that showed some, and that reported others as over.
func (g *Given) With(shown []Entry, over []uint64) *Given {
	if len(shown) == 0 && (len(over) == 0 || g == nil) {
		return g
	}
	next := NewGiven(nil)
	if g != nil {
		next = &Given{of: maps.Clone(g.of), last: maps.Clone(g.last), answers: g.answers + 1}
	}
	for as, of := range next.of {
		if slices.Contains(over, of) {
			next.forget(as)
		}
	}
	for _, e := range shown {
		next.add(e)
	}
	if len(next.of) > maxGiven {
		for _, e := range next.Entries()[:len(next.of)-maxGiven*3/4] {
			next.forget(e.As)
		}
	}
	return next
}

func (g *Given) add(e Entry) {
	g.of[e.As] = e.Of
	g.last[e.As] = g.answers
}

func (g *Given) forget(as uint64) {
	delete(g.of, as)
	delete(g.last, as)
}

package capture

import (
	"iter"
	"slices"

	"tidemark.dev/tidemark/host/internal/event"
)

// Past reads what has left the buffers and is kept on disk: one reading, which does not change until
// it is closed.
type Past interface {
	// First are the oldest positions that can be read.
	First() Positions
	// After are the first positions whose entries are later than a time, in milliseconds.
	After(ms int64) Positions
	// Endpoints is the table before the request at a position; nil if it is unknown.
	Endpoints(pos uint64) *Table
	// DOMState is the state before the change at a position; nil if it is unknown.
	DOMState(pos uint64) *DOMState

	// Entries yields the entries of a section from one position up to another, oldest first.
	Entries(s Section, from, to uint64) iter.Seq2[uint64, event.Event]
}

// Behind is the view with what was kept of the entries that have left the buffers.
func (v *View) Behind(p Past) *View {
	u := *v
	u.past = p
	first := p.First()
	for t, s := range v.tracks {
		u.tracks[t] = s.behind(first[t], p, Track(t).Section())
	}
	return &u
}

// Holds reports whether the buffers have everything from a moment on.
func (v *View) Holds(m Moment) bool {
	for t, s := range v.tracks {
		if m.Pos[t] < s.First() {
			return false
		}
	}
	return true
}

// HoldsTime reports whether the buffers have everything later than a time.
func (v *View) HoldsTime(ms int64) bool { return slices.Max(v.gone[:]) <= ms }

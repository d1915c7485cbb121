package capture

import (
	"iter"
	"slices"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/ring"
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
	behind[event.Console](&u.Console, Console, first, p)
	behind[event.Network](&u.Network, Network, first, p)
	behind[event.WebSocket](&u.WebSocket, WebSocket, first, p)
	behind[event.Action](&u.Actions, Actions, first, p)
	behind[Change](&u.DOM, DOM, first, p)
	return &u
}

func behind[T any, P event.Pointer[T]](v *ring.View[T], t Track, first Positions, p Past) {
	*v = v.Behind(first[t], func(from, to uint64) iter.Seq2[uint64, *T] {
		return func(yield func(uint64, *T) bool) {
			for pos, e := range p.Entries(sections[t], from, to) {
				if !yield(pos, e.(P)) {
					return
				}
			}
		}
	})
}

// Holds reports whether the buffers have everything from a moment on.
func (v *View) Holds(m Moment) bool {
	for t, s := range v.spans() {
		if m.Pos[t] < s.First() {
			return false
		}
	}
	return true
}

// HoldsTime reports whether the buffers have everything later than a time.
func (v *View) HoldsTime(ms int64) bool { return slices.Max(v.gone[:]) <= ms }

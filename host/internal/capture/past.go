package capture

import (
	"iter"

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

	Console(from, to uint64) iter.Seq2[uint64, *event.Console]
	Network(from, to uint64) iter.Seq2[uint64, *event.Network]
	WebSocket(from, to uint64) iter.Seq2[uint64, *event.WebSocket]
	Actions(from, to uint64) iter.Seq2[uint64, *event.Action]
	DOM(from, to uint64) iter.Seq2[uint64, *Change]
}

// Behind is the view with what was kept of the entries that have left the buffers.
func (v *View) Behind(p Past) *View {
	u := *v
	u.past = p
	first := p.First()
	u.Console = v.Console.Behind(first.Console, p.Console)
	u.Network = v.Network.Behind(first.Network, p.Network)
	u.WebSocket = v.WebSocket.Behind(first.WebSocket, p.WebSocket)
	u.Actions = v.Actions.Behind(first.Actions, p.Actions)
	u.DOM = v.DOM.Behind(first.DOM, p.DOM)
	return &u
}

// Holds reports whether the buffers have everything from a moment on.
func (v *View) Holds(m Moment) bool {
	return m.Pos.Console >= v.Console.First() && m.Pos.Network >= v.Network.First() && m.Pos.WebSocket >= v.WebSocket.First() &&
		m.Pos.Actions >= v.Actions.First() && m.Pos.DOM >= v.DOM.First()
}

// HoldsTime reports whether the buffers have everything later than a time.
func (v *View) HoldsTime(ms int64) bool {
	g := v.gone
	return max(g.console, g.network, g.websocket, g.actions, g.dom) <= ms
}

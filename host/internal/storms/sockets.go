package storms

import (
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/window"
)

// Socket is what makes connections the same. The query may have a token.
type Socket struct {
	tab int
	url string
}

// SocketOf returns the connection of a step.
func SocketOf(e *event.WebSocket) Socket {
	origin, path := capture.SplitURL(e.URL)
	return Socket{e.Tab(), origin + path}
}

// Sockets finds connections that are made again and again, and returns which.
func (f *Finder) Sockets() map[Socket]bool {
	found := repetitions[Socket]{w: f.w, tempo: &socketTempo}
	start := f.w.From.Pos[capture.WebSocket]
	for pos, e := range f.w.View.WebSocket().Marked(before(f.w.View.WebSocket(), start, f.w.From.At.UnixMilli())) {
		if e.Op != "close" && e.Op != "error" || !f.w.Options.InScope(e.Subject) || !window.Reportable(e) || f.w.KeepsOut(e) || e.At <= f.updated[e.Tab()] {
			continue
		}
		found.add(SocketOf(e), pos, e, e.At, e.At, pos >= start)
	}
	stormy := map[Socket]bool{}
	for k, r := range found.storms {
		stormy[k] = true
		e := r.newest.(*event.WebSocket)
		if s := f.storm("WebSocket "+report.SocketAddress(e.Origin(), e.URL), &socketTempo, r); s != nil {
			s.socket = k
		}
	}
	return stormy
}

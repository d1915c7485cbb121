package observe

import (
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/ring"
)

// rawTokens estimates the tokens of the raw entries in a report's window, as the tools for logs, bodies, sockets and
// actions would return them.
func rawTokens(from capture.Moment, v *capture.View, o *diff.Options) int {
	return TokensOf(rawBytes(v.Console, from.Pos[capture.Console], o, capture.RawConsole) +
		rawBytes(v.Network, from.Pos[capture.Network], o, capture.RawNetwork) +
		rawBytes(v.WebSocket, from.Pos[capture.WebSocket], o, capture.RawWebSocket) +
		rawBytes(v.Actions, from.Pos[capture.Actions], o, capture.RawAction))
}

func rawBytes[T any, P interface {
	*T
	event.Event
}](v ring.View[T], from uint64, o *diff.Options, raw func(*T) int) (bytes int) {
	if o.Everything() {
		bytes, v = v.Weight(from), v.Until(v.InRing().First())
	}
	for _, e := range v.From(from) {
		if h := P(e).Header(); o.InScope(h.Origin, h.Tab) {
			bytes += raw(e)
		}
	}
	return bytes
}

// TokensOf estimates the tokens of so many bytes, as the specification does.
func TokensOf(bytes int) int { return bytes / 4 }

package event

import (
	"strings"

	"github.com/tidwall/gjson"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// connectError is a packet by which a server of Socket.IO refuses a connection, within a message of Engine.IO
// (https://socket.io/docs/v4/socket-io-protocol/#connection-to-a-namespace). It begins a frame, or the answer to a poll.
var connectError = lazyregexp.New(`^(?:[0-9]{1,9}:)?44(?:/[^,{"]*,)?([{"])`)

// isEngineIO reports whether an address is one through which a client of Socket.IO talks to its server.
func isEngineIO(url string) bool {
	_, query, _ := strings.Cut(url, "?")
	return strings.Contains(query, "EIO=")
}

// connectRefusal returns why a server of Socket.IO refused a connection. ok is false for any other text.
func connectRefusal(url, text string) (why string, ok bool) {
	if !isEngineIO(url) {
		return "", false
	}
	m := connectError().FindStringSubmatchIndex(text)
	if m == nil {
		return "", false
	}
	said := gjson.Parse(text[m[2]:])
	if said.IsObject() {
		said = said.Get("message")
	}
	return said.Str, said.Type == gjson.String
}

// refusesConnection reports whether a frame is such a refusal.
func refusesConnection(e *WebSocket) bool {
	_, ok := connectRefusal(e.URL, e.Text)
	return ok
}

// EngineIO reports whether it is a poll of a client of Socket.IO, or what such a client sends beside.
func (n *Network) EngineIO() bool { return isEngineIO(n.URL) }

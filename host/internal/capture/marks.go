package capture

import (
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
)

// What a report reads of the console and of sockets is little of what there is: the buffers mark it.

func notableMessage(e *event.Console) bool { return e.Level >= event.Warning || TellsOfRefresh(e) }

func notableFrame(e *event.WebSocket) bool { return !e.IsFrame() || e.Bad }

// TellsOfRefresh reports whether a message is one of Next.js about a hot update.
func TellsOfRefresh(e *event.Console) bool { return strings.HasPrefix(e.Text, "[Fast Refresh]") }

// The raw functions give about what a tool that answers with whole entries takes for one, in bytes. They are what the
// views weigh.

// rawEntry is about what the names of fields, position and time of an entry take, in bytes.
const rawEntry = 110

// rawConsole is for get_browser_logs.
func rawConsole(e *event.Console) int {
	n := rawEntry + len(e.Text) + len(e.URL)
	for _, line := range e.Stack {
		n += len(line) + 3
	}
	return n
}

// rawNetwork is for get_network_bodies.
func rawNetwork(e *event.Network) int {
	n := rawEntry + len(e.URL) + len(e.RequestBody) + len(e.ResponseBody)
	for _, headers := range []map[string]string{e.RequestHeaders, e.ResponseHeaders} {
		for name, value := range headers {
			n += len(name) + len(value) + 6
		}
	}
	return n
}

// rawWebSocket is for get_websocket_events.
func rawWebSocket(e *event.WebSocket) int { return rawEntry + len(e.URL) + len(e.Text) }

// rawAction is for get_enhanced_actions.
func rawAction(e *event.Action) int {
	return rawEntry + len(e.Target) + len(e.Selector) + len(e.Value)
}

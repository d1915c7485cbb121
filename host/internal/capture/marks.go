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

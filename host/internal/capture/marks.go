package capture

import (
	"hash/maphash"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
)

// What a report reads of the console and of sockets is little of what there is: the buffers mark it, and label what it counts.

func notableMessage(e *event.Console) bool { return e.Level >= event.Warning || TellsOfRefresh(e) }

// labels makes the labels of lines. Nobody outside can choose addresses that get the same one.
var labels = maphash.MakeSeed()

// labelOfLine is the same for messages that one line of code logs at one level in one tab. Warnings and errors, which are
// read one by one, have 0.
func labelOfLine(e *event.Console) uint64 {
	if e.Level >= event.Warning {
		return 0
	}
	return max(1, maphash.Comparable(labels, struct {
		event.Subject
		event.Level
		url  string
		line int
	}{e.Subject, e.Level, e.URL, e.Line}))
}

func notableFrame(e *event.WebSocket) bool { return !e.IsFrame() || e.Bad }

// TellsOfRefresh reports whether a message is one of Next.js about a hot update.
func TellsOfRefresh(e *event.Console) bool { return strings.HasPrefix(e.Text, "[Fast Refresh]") }

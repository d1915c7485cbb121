package loads

import (
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// givenUpWithin is how far apart the end of a request and the error that it caused may be, in milliseconds.
const givenUpWithin = 100

// GivenUp returns the requests that ended without an answer when an error was reported that has no stack, and that says no more
// than that the page waits no longer. The browser makes such an error when a time limit is over.
func GivenUp(v *capture.View, c *event.Console) (ended []*event.Network) {
	text := strings.TrimPrefix(c.Text, "Uncaught (in promise) ")
	if v == nil || c.Via != "rejection" || len(c.Stack) > 0 || !strings.HasPrefix(text, "TimeoutError:") && !strings.HasPrefix(text, "AbortError:") {
		return nil
	}
	for _, n := range v.Network().InRing().From(0) {
		apart := n.At - c.At
		if n.Tab() == c.Tab() && -givenUpWithin <= apart && apart <= givenUpWithin && len(n.Stack) > 0 && (n.Canceled || n.Status == 0 && n.Error != "") {
			ended = append(ended, n)
		}
	}
	return ended
}

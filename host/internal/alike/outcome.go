package alike

import (
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// Outcome is what makes requests the same that differ in numbers alone: their endpoint, and what became of them.
type Outcome struct {
	Endpoint      capture.EndpointKey
	Tab, Status   int
	Error, Detail string
}

// OutcomeOf returns what became of a request.
func OutcomeOf(e *event.Network) Outcome {
	k := capture.KeyOf(e)
	k.Path = WithoutNumbers(k.Path)
	text, added := e.Said() // what was added is no place any more without its numbers
	return Outcome{k, e.Tab(), e.Status, e.Error, WithoutNumbers(text) + added}
}

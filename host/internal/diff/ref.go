package diff

import (
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// MaxRefs bounds how many positions a [Ref] has.
const MaxRefs = 100

// Ref says which entries of its section's buffer something in a report was made of. Reports have them where
// [Options.Refs] asks for it.
type Ref struct {
	// Positions are those of the newest entries, oldest first, at most [MaxRefs].
	Positions []uint64
	// Event is the first of them; of a failure the newest.
	Event event.Event
	// Endpoint is set for what speaks of one, Element for an error element.
	Endpoint capture.EndpointKey
	Element  capture.ElementKey
	// Tab is where it happened.
	Tab int
}

// ref begins a reference; nil where none is asked for.
func (c *computation) ref(pos uint64, ev event.Event) *Ref {
	if !c.o.Refs {
		return nil
	}
	return &Ref{Positions: []uint64{pos}, Event: ev, Tab: ev.Header().Tab()}
}

// add has one more entry belong to it.
func (r *Ref) add(pos uint64) {
	if r == nil {
		return
	}
	r.Positions = append(r.Positions, pos)
	if len(r.Positions) >= 2*MaxRefs {
		r.trim()
	}
}

// trim leaves the newest.
func (r *Ref) trim() {
	if n := len(r.Positions) - MaxRefs; n > 0 {
		r.Positions = append(r.Positions[:0], r.Positions[n:]...)
	}
}

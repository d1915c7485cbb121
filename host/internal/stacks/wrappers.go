package stacks

import (
	"hash/maphash"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
)

// Wrappers finds the functions of a project through which its other code makes its requests. Their line says nothing of a
// request: requests to several endpoints, made by several callers, went through it, or through the only function that calls it.
type Wrappers struct {
	seed   maphash.Seed
	passed map[uint64]passed // by frame
}

// passed is what went through a frame.
type passed struct {
	endpoint, caller   uint64 // the first ones
	endpoints, callers bool   // others went through it as well
}

// maxFrames bounds the frames that are remembered. Beyond it, all are forgotten.
const maxFrames = 8192

// Add takes the stack of a request to an endpoint.
func (w *Wrappers) Add(endpoint event.EndpointKey, stack []string) {
	if len(stack) < 2 {
		return // no frame has a caller
	}
	if w.passed == nil || len(w.passed) > maxFrames {
		w.seed, w.passed = maphash.MakeSeed(), map[uint64]passed{}
	}
	to := maphash.Comparable(w.seed, endpoint)
	frame := uint64(0) // the one before, further in
	for _, line := range stack {
		if IsLibrary(line) {
			continue
		}
		caller := w.key(line)
		if frame != 0 && frame != caller {
			p, known := w.passed[frame]
			if !known {
				p.endpoint, p.caller = to, caller
			}
			p.endpoints, p.callers = p.endpoints || p.endpoint != to, p.callers || p.caller != caller
			w.passed[frame] = p
		}
		frame = caller
	}
}

// maxInside bounds how many functions are called one by the other before a wrapper calls the innermost.
const maxInside = 16

// Has reports whether a line of a stack is one of a wrapper. What only a wrapper calls is inside of it.
func (w *Wrappers) Has(line string) bool {
	if w.passed == nil {
		return false
	}
	at := w.key(line)
	for range maxInside {
		p := w.passed[at]
		if !p.endpoints || p.callers {
			return p.endpoints
		}
		at = p.caller
	}
	return false
}

// key identifies a frame. The query of its address is left out: development servers count the versions of a file there.
func (w *Wrappers) key(line string) uint64 {
	var h maphash.Hash
	h.SetSeed(w.seed)
	_, place, _ := event.CutFrame(line)
	if i := strings.IndexByte(place, '?'); i >= 0 {
		h.WriteString(place[:i])
		place = place[i:]
		place = place[max(0, strings.IndexByte(place, ':')):]
	}
	h.WriteString(place)
	return h.Sum64()
}

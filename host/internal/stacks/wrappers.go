package stacks

import (
	"hash/maphash"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
)

// Wrappers finds the functions of a project through which its other code makes its requests. Their line says nothing of a
// request: it goes to where their caller says. Requests to several endpoints went through such a line, and not all callers have the
// same ones. A function that makes several requests itself makes them for each of its callers, and is none. The only function
// that calls it may be one in its place, unless it calls what it is given.
type Wrappers struct {
	seed   maphash.Seed
	passed map[uint64]passed // by frame
	called map[uint64]uint64 // the function that a frame called, or given; by frame
}

// given stands for several functions that were called by one frame: it calls what it is given.
const given = 0

// passed is what went through a frame, by caller.
type passed []calls

// calls are the endpoints of a caller's requests, the first ones. A caller that waits for a call has its frame where it waits, at
// another column of the line than the call: one call may have two frames.
type calls struct {
	frame, line uint64
	waits       bool
	endpoints   []uint64
}

// Bounds of what is remembered of a frame.
const (
	maxCallers = 8
	maxTo      = 6
)

// add adds a request of a caller, given without endpoints.
func (p passed) add(caller calls, to uint64) passed {
	for i := range p {
		if c := &p[i]; c.frame == caller.frame {
			if len(c.endpoints) < maxTo && !slices.Contains(c.endpoints, to) {
				c.endpoints = append(c.endpoints, to)
			}
			return p
		}
	}
	if len(p) < maxCallers {
		caller.endpoints = []uint64{to}
		p = append(p, caller)
	}
	return p
}

// byCall joins callers that may be one call: where a line waits, and the calls in that line.
func (p passed) byCall() (joined passed) {
	for _, c := range p {
		other := func(o calls) bool { return o.line == c.line && o.waits != c.waits }
		if c.waits && slices.ContainsFunc(p, other) {
			continue // it is part of the calls
		}
		c.endpoints = slices.Clone(c.endpoints)
		for _, o := range p {
			if other(o) {
				c.endpoints = append(c.endpoints, o.endpoints...)
			}
		}
		joined = append(joined, c)
	}
	return joined
}

// several reports whether there are several endpoints.
func (p passed) several() bool {
	return slices.ContainsFunc(p, func(c calls) bool { return len(c.endpoints) > 1 || c.endpoints[0] != p[0].endpoints[0] })
}

// varies reports whether there are two endpoints of which no caller has both.
func (p passed) varies() bool {
	for i, first := range p {
		for _, a := range first.endpoints {
			for _, second := range p[i+1:] {
				for _, b := range second.endpoints {
					if a != b && !slices.ContainsFunc(p, func(c calls) bool { return slices.Contains(c.endpoints, a) && slices.Contains(c.endpoints, b) }) {
						return true
					}
				}
			}
		}
	}
	return false
}

// maxFrames bounds the frames that are remembered. Beyond it, all are forgotten.
const maxFrames = 8192

// Add takes the stack of a request to an endpoint.
func (w *Wrappers) Add(endpoint event.EndpointKey, stack []string) {
	if len(stack) < 2 {
		return // no frame has a caller
	}
	if w.passed == nil || len(w.passed) > maxFrames {
		w.seed, w.passed, w.called = maphash.MakeSeed(), map[uint64]passed{}, map[uint64]uint64{}
	}
	to := maphash.Comparable(w.seed, endpoint)
	frame, function := uint64(0), uint64(0) // those before, further in
	for _, line := range stack {
		if IsLibrary(line) {
			continue
		}
		outer := w.key(line)
		if frame != 0 && frame != outer {
			caller := calls{frame: outer, line: w.lineOf(line), waits: strings.HasPrefix(line, event.Waits)}
			w.passed[frame] = w.passed[frame].add(caller, to)
			if other, known := w.called[outer]; !known {
				w.called[outer] = function
			} else if other != function {
				w.called[outer] = given
			}
		}
		frame, function = outer, w.functionOf(line)
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
		p := w.passed[at].byCall()
		if len(p) != 1 || !p.several() {
			return p.varies()
		}
		if at = p[0].frame; w.called[at] == given {
			return false
		}
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

// longLine is the column from which on the calls of a line stay apart: a tool put the code into few lines.
const longLine = 200

// lineOf identifies the function and the line of a frame.
func (w *Wrappers) lineOf(line string) uint64 {
	f, ok := Parse(line)
	if !ok || f.Column >= longLine {
		return w.key(line)
	}
	address, _, _ := strings.Cut(f.URL, "?")
	return maphash.Comparable(w.seed, Frame{Function: strings.TrimPrefix(f.Function, event.Waits), URL: address, Line: f.Line})
}

// functionOf identifies the function of a frame, as far as it has a name.
func (w *Wrappers) functionOf(line string) uint64 {
	f, _ := Parse(line)
	address, _, _ := strings.Cut(f.URL, "?")
	return maphash.Comparable(w.seed, Frame{Function: strings.TrimPrefix(f.Function, event.Waits), URL: address})
}

// Package rhythm recognizes a loop whose requests differ: one place in the code that asks one endpoint at a steady rhythm,
// for another id or page each time.
//
// It guarantees: the same requests give the same answer. It is pure: no clock, no files, no network.
package rhythm

import "strings"

// A loop lasts at least loopSpan, with a mean gap of at most loopFast. Its gaps vary by less than half of their mean. A longer
// gap than loopStall ends it. All times are in milliseconds.
//
// Code that loads a list item by item begins a request as soon as it has the answer to the one before, within soon. So do
// loops, but these go on for longer than any list. Somebody who types asks for what was asked before and a little more.
const (
	loopSpan  = 5_000
	loopFast  = 225
	loopStall = 900
	soon      = 30
)

// Loop takes the requests of one endpoint. The zero value has seen none.
type Loop struct {
	by, address string
	began, last int64 // of the loop, and of its newest request
	ended       int64
	gaps        int
	squares     int64 // of the gaps, summed up
	waited      int   // requests that began as soon as the one before had ended
	found       bool
}

// Take takes the next request: the line of the stack that made it, its address, and when it began and ended.
func (l *Loop) Take(by, address string, began, ended int64) {
	gap := max(0, began-l.last)
	if by == "" || by != l.by || gap > loopStall || isTyped(l.address, address) {
		*l = Loop{by: by, address: address, began: began, last: began, ended: ended, found: l.found}
		return
	}
	if pause := began - l.ended; pause >= 0 && pause <= soon {
		l.waited++
	}
	l.gaps++
	l.squares += gap * gap
	l.address, l.last, l.ended = address, max(l.last, began), max(l.ended, ended)
	l.found = l.found || l.isSteady()
}

// isTyped reports whether one of two addresses is the other with more at its end.
func isTyped(a, b string) bool {
	return a != b && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a))
}

func (l *Loop) isSteady() bool {
	span, n := l.last-l.began, int64(l.gaps)
	// The variance is the mean of the squares without the square of the mean.
	return span >= loopSpan && span <= n*loopFast && n*l.squares < span*span*5/4 && 2*l.waited < l.gaps
}

// Found reports whether there was a loop.
func (l *Loop) Found() bool { return l.found }

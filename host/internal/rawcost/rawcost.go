// Package rawcost estimates what the raw reads of a window would cost an agent, which is what a report saves.
//
// It guarantees: an estimate looks at no more entries than a raw read shows, whatever the window's length.
package rawcost

import (
	"hash/maphash"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/ring"
	"tidemark.dev/tidemark/host/internal/tokens"
	"tidemark.dev/tidemark/host/internal/window"
)

// The default limits of a raw read: its entries, its estimated tokens, and the lines that it shows of one stack.
const (
	Entries = 100
	Tokens  = 2000
	Frames  = 6
)

// Of returns what estimates the tokens that the raw reads of logs, requests, connections and actions would take for
// a report's window, within their default limits.
func Of(from capture.Moment, v *capture.View, o *window.Options) func() int {
	inScope := o.InScope
	if o.EveryTab() {
		inScope = nil
	}
	return func() int {
		return rawCost(v.Console(), from.Pos[capture.Console], inScope, rawConsole) +
			rawCost(v.Network(), from.Pos[capture.Network], inScope, rawNetwork) +
			rawCost(v.WebSocket(), from.Pos[capture.WebSocket], inScope, rawWebSocket) +
			rawCost(v.Actions(), from.Pos[capture.Actions], inScope, rawAction)
	}
}

// Estimated tokens of the lines of a raw read: those around the entries, what each entry has beside its texts (position,
// time, level), and the numbers of a request.
const (
	rawAround = 15
	rawEach   = 8
	rawNumber = 9
)

// rawLine is what tells the lines of entries apart.
type rawLine struct{ what, text string }

// The tokens of the first rawExact lines of a raw read are estimated, and those of one line of rawSample after them. The
// others are estimated by their bytes.
const (
	rawExact  = 8
	rawSample = 8
)

// rawCost estimates the tokens of one raw read. It looks at the newest entries alone, as the read does.
func rawCost[T any, P event.Pointer[T]](v *ring.View[T], from uint64, inScope func(event.Subject) bool, lineOf func(*T) (l rawLine, more int, ok bool)) int {
	each, texts, sampled, cost := 0, 0, 0, 0 // tokens beside texts; bytes of texts; bytes and tokens of the sample
	n, lines := 0, 0
	var known lineSet
	for pos := v.Next() - 1; pos >= max(from, v.FirstInRing()) && n < Entries; pos-- {
		e := v.At(pos)
		if e == nil || inScope != nil && !inScope(P(e).Header().Subject) {
			continue
		}
		l, more, ok := lineOf(e)
		if !ok {
			continue
		}
		if n++; !known.add(l) {
			continue
		}
		what, text := atMost(l.what), atMost(l.text)
		each, texts = each+rawEach+more, texts+len(what)+len(text)
		if lines < rawExact || lines%rawSample == 0 {
			sampled, cost = sampled+len(what)+len(text), cost+tokens.Estimate(what)+tokens.Estimate(text)
		}
		lines++
	}
	return min(rawAround+each+texts*cost/max(1, sampled), Tokens)
}

// lineSet is a set of at most Entries lines, by their hashes.
type lineSet [2 * Entries]uint64

var lineSeed = maphash.MakeSeed()

// add adds a line, and reports whether it is new.
func (s *lineSet) add(l rawLine) bool {
	h := maphash.String(lineSeed, l.what)*31 + maphash.String(lineSeed, l.text) | 1
	for i := h % uint64(len(s)); ; i = (i + 1) % uint64(len(s)) {
		switch s[i] {
		case h:
			return false
		case 0:
			s[i] = h
			return true
		}
	}
}

// atMost returns as much of a text as a raw read can show.
func atMost(s string) string { return s[:min(len(s), Tokens)] }

func rawConsole(c *event.Console) (l rawLine, more int, ok bool) {
	if c.Level >= event.Warning && len(c.Stack) > 1 {
		for _, frame := range c.Stack[:min(len(c.Stack), Frames)] {
			more += len(frame) / 4
		}
	}
	return rawLine{c.URL, c.Text}, more, true
}

func rawNetwork(n *event.Network) (l rawLine, more int, ok bool) {
	_, path := capture.SplitURL(n.URL)
	return rawLine{n.Method, path}, rawNumber, !capture.IsFile(n)
}

func rawWebSocket(w *event.WebSocket) (l rawLine, more int, ok bool) {
	_, path := capture.SplitURL(w.URL)
	return rawLine{path, w.Text}, 1, true
}

func rawAction(a *event.Action) (l rawLine, more int, ok bool) {
	return rawLine{a.Target, a.Value}, 1, true
}

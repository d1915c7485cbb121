package observe

import (
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/ring"
	"tidemark.dev/tidemark/host/internal/tokens"
)

// rawTokens estimates the tokens that the raw reads of logs, requests, connections and actions would take for a report's
// window, within their default limits.
func rawTokens(from capture.Moment, v *capture.View, o *diff.Options) int {
	inScope := o.InScope
	if o.EveryTab() {
		inScope = nil
	}
	return rawCost(v.Console(), from.Pos[capture.Console], inScope, rawConsole) +
		rawCost(v.Network(), from.Pos[capture.Network], inScope, rawNetwork) +
		rawCost(v.WebSocket(), from.Pos[capture.WebSocket], inScope, rawWebSocket) +
		rawCost(v.Actions(), from.Pos[capture.Actions], inScope, rawAction)
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

// rawCost estimates the tokens of one raw read. It looks at the newest entries alone, as the read does.
func rawCost[T any, P event.Pointer[T]](v *ring.View[T], from uint64, inScope func(event.Subject) bool, lineOf func(*T) (l rawLine, more int, ok bool)) int {
	sum, n := 0, 0
	known := map[rawLine]bool{}
	for pos := v.Next() - 1; pos >= max(from, v.FirstInRing()) && n < defaultLimit; pos-- {
		e := v.At(pos)
		if e == nil || inScope != nil && !inScope(P(e).Header().Subject) {
			continue
		}
		l, more, ok := lineOf(e)
		if !ok {
			continue
		}
		if n++; known[l] {
			continue
		}
		known[l] = true
		if sum += rawEach + more + tokens.Estimate(atMost(l.what)) + tokens.Estimate(atMost(l.text)); sum > defaultMaxTokens {
			return defaultMaxTokens
		}
	}
	return sum + rawAround
}

// atMost returns as much of a text as a raw read can show.
func atMost(s string) string { return s[:min(len(s), defaultMaxTokens)] }

func rawConsole(c *event.Console) (l rawLine, more int, ok bool) {
	if c.Level >= event.Warning && len(c.Stack) > 1 {
		for _, frame := range c.Stack[:min(len(c.Stack), maxFrames)] {
			more += len(frame) / 4
		}
	}
	return rawLine{c.URL, c.Text}, more, true
}

func rawNetwork(n *event.Network) (l rawLine, more int, ok bool) {
	_, path := capture.SplitURL(n.URL)
	return rawLine{n.Method, path}, rawNumber, !isFile(n)
}

func rawWebSocket(w *event.WebSocket) (l rawLine, more int, ok bool) {
	_, path := capture.SplitURL(w.URL)
	return rawLine{path, w.Text}, 1, true
}

func rawAction(a *event.Action) (l rawLine, more int, ok bool) {
	return rawLine{a.Target, a.Value}, 1, true
}

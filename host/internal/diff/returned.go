package diff

import (
	"slices"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/window"
)

// maxReturned bounds the entries of a window that are looked at.
const maxReturned = 20

// givenBut are entries that a reader was given, without those that an edit brought back.
type givenBut struct {
	window.Given
	returned []uint64
}

// Has implements [window.Given].
func (g givenBut) Has(as uint64) bool { return !slices.Contains(g.returned, as) && g.Given.Has(as) }

// withoutReturned returns what the reader was given, without what was gone and what an edit brought back: that is news. What a window
// has first of each entry decides.
func withoutReturned(w *window.Window) window.Given {
	o := &w.Options
	if o.Given == nil || o.Introduced == nil || o.Returned == nil {
		return o.Given
	}
	var back, looked []uint64
	isFirst := func(entry alike.Entry) bool {
		return len(looked) < maxReturned && o.WasGiven(entry) && !slices.Contains(looked, entry.As)
	}
	look := func(e event.Event, as ...alike.Entry) {
		looked = append(looked, as[0].As)
		if o.Returned(e) {
			for _, entry := range as {
				back = append(back, entry.As)
			}
		}
	}
	if o.Includes(capture.ConsoleSection) {
		for pos, e := range w.View.Console().Marked(w.From.Pos[capture.Console]) {
			if !w.Tells(pos, e) {
				continue
			}
			if entry := alike.Console(e, w.Level(e)); isFirst(entry) && w.BuiltIn(e) == nil {
				look(e, entry, alike.Storm(e))
			}
		}
	}
	if o.Includes(capture.NetworkSection) {
		for _, e := range w.View.Network().From(w.From.Pos[capture.Network]) {
			if !e.Failed() || !o.InScope(e.Subject) || !capture.Counts(e) {
				continue
			}
			if entry := alike.Failure(e); isFirst(entry) {
				bare := *e
				bare.Detail = ""
				look(e, entry, alike.Failure(&bare), alike.Failures(e), others(entry))
			}
		}
	}
	if o.Includes(capture.DOMSection) {
		for _, e := range w.View.DOM().From(w.From.Pos[capture.DOM]) {
			if e.Op != "appeared" || !o.InScope(e.Subject) {
				continue
			}
			if entry := alike.Element(e.Element, 0); isFirst(entry) {
				look(e, entry)
			}
		}
	}
	if len(back) == 0 {
		return o.Given
	}
	return givenBut{o.Given, back}
}

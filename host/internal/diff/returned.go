package diff

import (
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
	returned map[uint64]bool
}

// Has implements [window.Given].
func (g givenBut) Has(as uint64) bool { return !g.returned[as] && g.Given.Has(as) }

// withoutReturned returns what the reader was given, without what was gone and what an edit brought back: that is news. What a window
// has first of each entry decides.
func withoutReturned(w *window.Window) window.Given {
	o := &w.Options
	if o.Given == nil || o.Introduced == nil || o.Returned == nil {
		return o.Given
	}
	back, looked := map[uint64]bool{}, map[uint64]bool{}
	look := func(e event.Event, entry alike.Entry, as ...alike.Entry) {
		if looked[entry.As] || len(looked) == maxReturned || !o.WasGiven(entry) {
			return
		}
		looked[entry.As] = true
		if o.Returned(e) {
			for _, a := range append(as, entry) {
				back[a.As] = true
			}
		}
	}
	if o.Includes(capture.ConsoleSection) {
		for pos, e := range w.View.Console().Marked(w.From.Pos[capture.Console]) {
			if w.Tells(pos, e) && w.BuiltIn(e) == nil {
				look(e, alike.Console(e, w.Level(e)), alike.Storm(e))
			}
		}
	}
	if o.Includes(capture.NetworkSection) {
		for _, e := range w.View.Network().From(w.From.Pos[capture.Network]) {
			if e.Failed() && o.InScope(e.Subject) && capture.Counts(e) {
				bare := *e
				bare.Detail = ""
				look(e, alike.Failure(e), alike.Failure(&bare), alike.Failures(e), others(alike.Failure(e)))
			}
		}
	}
	if o.Includes(capture.DOMSection) {
		for _, e := range w.View.DOM().From(w.From.Pos[capture.DOM]) {
			if e.Op == "appeared" && o.InScope(e.Subject) {
				look(e, alike.Element(e.Element, 0))
			}
		}
	}
	if len(back) == 0 {
		return o.Given
	}
	return givenBut{o.Given, back}
}

package engine_test

import (
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

const elsewhere = "http://localhost:9000"

func tabAt(path string, watched bool) protocol.Tab {
	return protocol.Tab{ID: 8, URL: elsewhere + path, Watched: watched, Capture: "debugger", DOM: true}
}

func TestATabThatHasNotMovedBeforeATimeIsKnownToHaveBeenWhereItLeaves(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.Pass(time.Second)
	at := w.Now.Format(time.RFC3339Nano)
	w.Pass(time.Second)
	w.Send("navigation", `"how":"history","url":"http://localhost:5173/cart"`)
	w.Send("navigation", `"how":"history","url":"http://localhost:5173/pay"`)
	r := w.Changes(w.Agent(), params{Checkpoint: at})
	expect(t, r.DOM.URLChanged != nil && r.DOM.URLChanged.From == enginetest.Page+"/" && r.DOM.URLChanged.To == enginetest.Page+"/pay", r)
	r = w.Changes(w.Agent(), params{Checkpoint: w.Now.Format(time.RFC3339Nano)})
	expect(t, r.DOM.URLChanged == nil, r)
}

func TestATabThatWasOpenedAfterATimeHasNotMoved(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	at := w.Now.Format(time.RFC3339Nano)
	w.Pass(time.Second)
	w.SetTab(protocol.Tab{ID: 8, URL: "about:blank", Watched: true, Capture: "debugger", DOM: true})
	w.Send("navigation", `"tab":8,"how":"load","url":"http://localhost:9000/"`)
	w.Send("navigation", `"tab":8,"how":"history","url":"http://localhost:9000/cart"`)
	r := w.Changes(w.Agent(), params{Checkpoint: at})
	expect(t, r.DOM.URLChanged == nil, r)
}

func TestATabThatIsSwitchedOnIsWhereItWasThen(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.SetTab(tabAt("/", false))
	w.SetTab(tabAt("/", true))
	w.Changes(a, params{})
	w.Send("navigation", `"tab":8,"how":"history","url":"http://localhost:9000/cart"`)
	r := w.Changes(a, params{})
	expect(t, r.DOM.URLChanged != nil && r.DOM.URLChanged.From == elsewhere+"/" && r.DOM.URLChanged.To == elsewhere+"/cart", r)

	// It moves while it is switched off.
	w.SetTab(tabAt("/unseen", false))
	w.SetTab(tabAt("/on_again", true))
	w.Changes(a, params{})
	w.Send("navigation", `"tab":8,"how":"history","url":"http://localhost:9000/pay"`)
	r = w.Changes(a, params{})
	expect(t, r.DOM.URLChanged != nil && r.DOM.URLChanged.From == elsewhere+"/on_again" && r.DOM.URLChanged.To == elsewhere+"/pay", r)
}

func TestWhereATabIsSaysItsNavigationNotTheListOfTabs(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Changes(a, params{})
	w.Send("navigation", `"how":"history","url":"http://localhost:5173/cart"`)
	w.SetTab(protocol.Tab{ID: 7, URL: enginetest.Page + "/later", Watched: true, Capture: "debugger", DOM: true})
	r := w.Changes(a, params{})
	expect(t, r.DOM.URLChanged != nil && r.DOM.URLChanged.To == enginetest.Page+"/cart", r)
	// Events of a tab can be there before the list that says that it is watched.
	w.SetTab(tabAt("/", false))
	w.Send("navigation", `"tab":8,"how":"load","url":"http://localhost:9000/first"`)
	w.SetTab(tabAt("/second", true))
	w.Changes(a, params{})
	w.Send("navigation", `"tab":8,"how":"history","url":"http://localhost:9000/second"`)
	r = w.Changes(a, params{})
	expect(t, r.DOM.URLChanged != nil && r.DOM.URLChanged.From == elsewhere+"/first" && r.DOM.URLChanged.To == elsewhere+"/second", r)
}

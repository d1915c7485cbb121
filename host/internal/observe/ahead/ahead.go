// Package ahead requests the source maps of what arrives, so that a later answer need not wait for them.
//
// It guarantees: a burst of entries is looked at once for each [every], and of it no more than the newest [most].
package ahead

import (
	"context"
	"time"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/ring"
	"tidemark.dev/tidemark/host/internal/sourcemap"
	"tidemark.dev/tidemark/host/internal/stacks"
)

// Maps for a burst of errors are requested once per every, for at most the newest most entries. Older entries come from the same
// few scripts, or their maps are requested when they are shown.
const (
	every = 50 * time.Millisecond
	most  = 256
)

// Places find the original places in one view, and request the maps that they need.
type Places interface {
	CalledAt(*event.Network) report.Place
	InitiatorPlace(event.Event) report.Place
	Source(*event.Console) (stacks.Frame, sourcemap.Position, bool)
	Stack(*event.Console) []string
	Overlaid(tab int, since int64, message string, named alike.OverlayPlace) alike.OverlayPlace
}

// positions are those up to which entries have been looked at.
type positions struct{ console, network, socket, dom uint64 }

func end(v *capture.View) positions {
	return positions{v.Console().Next(), v.Network().Next(), v.WebSocket().Next(), v.DOM().Next()}
}

// Ask requests the maps of errors, warnings, error overlays, requests that failed or write, and connections that failed or closed as
// they arrive. It returns when ctx ends.
func Ask[P Places](ctx context.Context, store *capture.Store, clock func() time.Time, rules func() *noise.Rules, in func(*capture.View) P) {
	next := end(store.View(clock()))
	for {
		changed := store.Changed()
		if v := store.View(clock()); end(v) != next {
			ask(v, next, rules(), in(v))
			next = end(v)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
}

// ask requests the maps of what arrived since some positions.
func ask(v *capture.View, since positions, rules *noise.Rules, places Places) {
	for _, n := range v.Network().InRing().From(newest(v.Network(), since.network)) {
		if (n.Failed() || n.Writes()) && rules.Network(n) == nil {
			places.CalledAt(n)
		}
	}
	for _, e := range v.WebSocket().Marked(newest(v.WebSocket(), since.socket)) {
		if e.Op == "error" || e.Op == "close" && !e.Leaving {
			places.InitiatorPlace(e)
		}
	}
	for _, c := range v.Console().Marked(newest(v.Console(), since.console)) {
		if c.Level >= event.Warning && !c.Joined && rules.Console(c) == nil {
			places.Source(c)
			places.Stack(c)
		}
	}
	for _, e := range v.DOM().InRing().From(newest(v.DOM(), since.dom)) {
		if k := e.Element; e.Op == "appeared" && alike.IsOverlay(k.Selector) {
			message, at := alike.CutOverlay(k.Text)
			places.Overlaid(k.Tab, e.At, message, at)
		}
	}
}

// newest is where the newest entries since a position begin.
func newest[E any](of *ring.View[E], since uint64) uint64 {
	return max(since, of.Next()-min(of.Next(), most))
}

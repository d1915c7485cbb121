// Package window is what a report covers: two moments, what happened between them as far as it is in scope, what noise rules
// keep out of it, and what was not observed.
//
// It guarantees: one entry is covered or kept out for every reader in the same way, whichever section, storm or action it is
// part of. It is pure: no clock, no files, no network.
package window

import (
	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/ring"
)

// Window is what is between two moments. What it finds out about its entries, it finds out when it is needed, and once.
type Window struct {
	From    capture.Moment
	View    *capture.View // of its end
	Options Options
	// NoiseHidden counts the entries that [Window.Hides] kept out.
	NoiseHidden int

	tabs       *bool                 // whether entries name their tab
	seen       map[seenKey]bool      // before the window, as far as noise rules match it
	loads      map[int]int64         // when each tab last loaded a page
	mended     map[failedUpdate]bool // whether a later update of the same module was applied
	left       map[int]alike.Moments // when tabs left their pages for others
	backfilled map[tabURL]bool       // failed requests that were found afterwards
}

// New returns the window from a moment to that of a view.
func New(from capture.Moment, v *capture.View, o Options) *Window {
	return &Window{From: from, View: v, Options: o}
}

// Tab is a tab as entries name it: 0 where one alone is covered.
func (w *Window) Tab(id int) int {
	if w.tabs == nil {
		many := w.hasTabs()
		w.tabs = &many
	}
	if *w.tabs {
		return id
	}
	return 0
}

// hasTabs reports whether several tabs are covered, be it that they are watched, that they were not observed for a while, or
// that entries of the window are from them. What has left the buffers is not read for this alone.
func (w *Window) hasTabs() bool {
	if w.Options.Tab != 0 {
		return false
	}
	covered := map[int]bool{}
	for _, t := range w.View.Tabs {
		if t.Watched && w.Options.InScope(t.Subject()) {
			covered[t.ID] = true
		}
	}
	for _, g := range w.View.Gaps {
		if tab := g.Tab(); tab != 0 && w.covers(g) && w.Options.InScope(g.Subject) {
			covered[tab] = true
		}
	}
	known := w.View.SubjectsSince(w.From.Pos, func(s event.Subject) {
		if tab := s.Tab(); tab != 0 && w.Options.InScope(s) {
			covered[tab] = true
		}
	})
	if known {
		return len(covered) > 1
	}
	for _, section := range capture.Sections {
		from := max(w.From.Pos[section.Track()], w.View.FirstInRing(section))
		for _, e := range w.View.Events(section, from) {
			if h := e.Header(); h.Tab() != 0 && w.Options.InScope(h.Subject) {
				if covered[h.Tab()] = true; len(covered) > 1 {
					return true
				}
			}
		}
	}
	return len(covered) > 1
}

// Ref begins a reference; nil where none is asked for.
func (w *Window) Ref(pos uint64, ev event.Event) *report.Ref {
	if !w.Options.Refs {
		return nil
	}
	return &report.Ref{Positions: []uint64{pos}, Event: ev, Tab: ev.Header().Tab()}
}

// InScope calls each with the entries of a buffer that are in scope, and returns how many there are. Where everything
// is, entries that the buffer does not mark are left out of the calls, and counted in left.
func InScope[T any, P event.Pointer[T]](o *Options, s capture.Section, v *ring.View[T], from uint64, each func(pos uint64, e *T)) (total, left int) {
	if !o.EveryTab() || o.First != nil {
		for pos, e := range v.From(from) {
			if h := P(e).Header(); o.Covers(s, pos, h.Subject, h.At) {
				total++
				each(pos, e)
			}
		}
		return total, 0
	}
	held := v.InRing()
	left = int(held.Next() - min(max(from, held.First()), held.Next()))
	total = left
	for pos, e := range v.Marked(from) {
		if pos < held.First() {
			total++
		} else {
			left--
		}
		each(pos, e)
	}
	return total, left
}

// PagesLeft returns when tabs left their pages for others.
func (w *Window) PagesLeft() map[int]alike.Moments {
	if w.left == nil {
		w.left = alike.MomentsOf(func(add func(int, int64)) {
			for _, u := range w.View.Updates.From(0) {
				if u.How == "load" || u.How == "reload" {
					add(u.Tab(), u.At)
				}
			}
		})
	}
	return w.left
}

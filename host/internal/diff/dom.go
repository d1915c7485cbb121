package diff

import (
	"cmp"
	"slices"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// elementWindow is what happened to one error element in the window.
type elementWindow struct {
	before, now int // how often it was and is visible
	appeared    Time
	gone        *Time
	last        uint64
	isNew       bool
	ref         *Ref
}

func (c *computation) dom() *DOMDiff {
	d := &DOMDiff{}
	found := map[capture.ElementKey]*elementWindow{}
	var order []capture.ElementKey
	at := func(k capture.ElementKey) *elementWindow {
		w := found[k]
		if w == nil {
			n := c.from.DOMState.Elements()[k]
			w = &elementWindow{before: n, now: n}
			if n == 0 {
				// A state from elsewhere knows no tabs, and whatever is there has come since.
				anywhere := k
				anywhere.Tab = 0
				w.before = c.from.DOMState.Elements()[anywhere]
			}
			found[k] = w
			order = append(order, k)
		}
		return w
	}
	moved := map[int]uint64{} // tabs that changed their address, and where
	for pos, e := range c.v.DOM().From(c.from.Pos[capture.DOM]) {
		origin := e.Origin()
		if e.Element != (capture.ElementKey{}) {
			origin = e.Element.Origin // it belongs to the page that it was on, whatever took its place
		}
		if !c.o.InScope(event.InTab(e.Tab(), origin)) {
			continue
		}
		switch e.Op {
		case "appeared":
			w := at(e.Element)
			if w.now++; w.now > w.before && !w.isNew {
				w.isNew, w.appeared = true, Time{e.Time()}
			}
			w.gone, w.last = nil, pos
			w.refer(c, pos, e)
		case "gone":
			w := at(e.Element)
			if w.now = max(0, w.now-1); w.now == 0 {
				w.gone = &Time{e.Time()}
			}
			w.last = pos
			w.refer(c, pos, e)
		case "navigated":
			moved[e.Tab()] = pos
		case "crashed":
			d.Crashed = append(d.Crashed, Crash{URL: e.URL, At: Time{e.Time()}, Tab: c.tab(e.Tab()), Ref: c.ref(pos, e)})
		}
	}
	if c.v.Evicted(capture.DOMSection, c.from.Pos[capture.DOM], c.o.InScope) {
		for _, k := range c.changedUnseen() {
			w := at(k)
			w.now = c.v.DOMState.Elements()[k]
			w.isNew = w.isNew || w.now > w.before
			if w.now > 0 {
				w.gone = nil
			}
		}
	}
	var fresh []*tally[NewElement]
	var gone []*tally[GoneElement]
	for _, k := range order {
		w := found[k]
		switch {
		case w.isNew:
			fresh = append(fresh, &tally[NewElement]{entry: NewElement{k.Selector, Shorten(k.Text), w.appeared, w.gone, c.tab(k.Tab), w.ref}, count: 1, last: w.last})
		case w.before > 0 && w.now == 0 && !c.closed(k.Tab):
			gone = append(gone, &tally[GoneElement]{entry: GoneElement{k.Selector, Shorten(k.Text), c.tab(k.Tab), w.ref}, count: 1, last: w.last})
		}
	}
	d.URLChanged = c.urlChange(moved)
	c.count(len(d.Crashed), "crashed page", Error)
	c.count(len(fresh), "new error element", Warning)

	r := newRoom()
	d.Crashed = take(r, d.Crashed)
	d.NewErrorElements = entries(take(r, byFrequency(fresh)))
	d.DisappearedElements = entries(take(r, byFrequency(gone)))
	d.Omitted = r.omitted
	return d
}

// closed says whether a tab has gone, and with it what it showed: that is not mended.
func (c *computation) closed(tab int) bool {
	_, open := c.v.DOMState.URLs()[tab]
	return tab != 0 && !open
}

// refer has a change belong to what is told of the element.
func (w *elementWindow) refer(c *computation, pos uint64, e *capture.Change) {
	if w.ref != nil {
		w.ref.add(pos)
	} else if w.ref = c.ref(pos, e); w.ref != nil {
		w.ref.Element = e.Element
	}
}

// changedUnseen are the elements in scope that are visible now and were not, or the other way round, in
// a fixed order: where changes of the window were evicted, what the page was and is stands in for them.
func (c *computation) changedUnseen() []capture.ElementKey {
	before, now := c.from.DOMState.Elements(), c.v.DOMState.Elements()
	var changed []capture.ElementKey
	for k, n := range now {
		if n > before[k] && c.o.InScope(event.InTab(k.Tab, k.Origin)) {
			changed = append(changed, k)
		}
	}
	for k := range before {
		if now[k] == 0 && c.o.InScope(event.InTab(k.Tab, k.Origin)) {
			changed = append(changed, k)
		}
	}
	slices.SortFunc(changed, func(a, b capture.ElementKey) int {
		return cmp.Or(cmp.Compare(a.Tab, b.Tab), cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.Selector, b.Selector), cmp.Compare(a.Text, b.Text))
	})
	return changed
}

// urlChange tells of the tab that changed its address last and is not back where it was.
func (c *computation) urlChange(moved map[int]uint64) *URLChange {
	tabs := make([]int, 0, len(moved))
	for tab := range moved {
		tabs = append(tabs, tab)
	}
	slices.SortFunc(tabs, func(a, b int) int { return int(int64(moved[b]) - int64(moved[a])) })
	for _, tab := range tabs {
		from, to := c.from.DOMState.URL(tab), c.v.DOMState.URL(tab)
		if from != "" && to != "" && from != to {
			change := &URLChange{From: from, To: to, Tab: c.tab(tab)}
			if c.o.Refs {
				change.Ref = &Ref{Positions: []uint64{moved[tab]}, Tab: tab}
			}
			return change
		}
	}
	return nil
}

// domUnavailable says whether a watched tab's error elements cannot be read.
func (c *computation) domUnavailable() bool {
	return slices.ContainsFunc(c.v.Tabs, func(t capture.Tab) bool {
		return t.Watched && !t.DOM && c.o.InScope(t.Subject())
	})
}

func (d *DOMDiff) filter(errorsOnly bool) int {
	n := dropAll(&d.DisappearedElements)
	if errorsOnly {
		n += dropAll(&d.NewErrorElements)
	}
	return n
}

func (d *DOMDiff) quotes() bool {
	return len(d.NewErrorElements)+len(d.DisappearedElements)+len(d.Crashed) > 0 || d.URLChanged != nil
}

func (d *DOMDiff) omitted() int { return d.Omitted }

func (d *DOMDiff) empty() bool {
	return len(d.NewErrorElements)+len(d.DisappearedElements)+len(d.Crashed) == 0 && d.URLChanged == nil
}

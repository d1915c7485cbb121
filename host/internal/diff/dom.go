package diff

import (
	"cmp"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
)

// elementWindow is what happened to one error element in the window.
type elementWindow struct {
	before, now int // how often it was and is visible
	last        uint64
	lives       []life // during which more of it were visible than before, at most maxLives
	all         int    // how many there were
	ref         *Ref
}

// life is how long an element was visible.
type life struct {
	from, to int64 // in milliseconds since the Unix epoch; 0 where it is not known, or not over
	alert    bool
}

// maxLives bounds how many lives of one element are listed, the newest.
const maxLives = 5

func (w *elementWindow) isNew() bool { return w.all > 0 }

// flicker is how soon an element is back that was redrawn, in milliseconds.
const flicker = 250

// begins begins a life, or goes on with the one before.
func (w *elementWindow) begins(l life) {
	if n := len(w.lives); n > 0 && l.from-w.lives[n-1].to <= flicker {
		w.lives[n-1].to, w.lives[n-1].alert = 0, w.lives[n-1].alert || l.alert
		return
	}
	w.all++
	if w.lives = append(w.lives, l); len(w.lives) > maxLives {
		w.lives = append(w.lives[:0], w.lives[1:]...)
	}
}

// lasts reports whether the newest life is not over.
func (w *elementWindow) lasts() bool { return w.isNew() && w.lives[len(w.lives)-1].to == 0 }

// take takes one more change.
func (w *elementWindow) take(e *capture.Change) {
	switch e.Op {
	case "appeared":
		if w.now++; w.now > w.before && !w.lasts() {
			w.begins(life{from: e.At, alert: e.Alert})
		}
	case "gone":
		if w.now = max(0, w.now-1); w.now <= w.before && w.lasts() {
			w.lives[len(w.lives)-1].to = e.At
		}
	}
}

// elements are the error elements that changed in the window, in the order of their first change.
type elements struct {
	found map[capture.ElementKey]*elementWindow
	order []capture.ElementKey
	// moved are the tabs that changed their address, and where; left is when.
	moved map[int]uint64
	left  map[int]moments
}

func (s *elements) at(c *computation, k capture.ElementKey) *elementWindow {
	w := s.found[k]
	if w == nil {
		n := c.from.DOMState.Elements()[k]
		w = &elementWindow{before: n, now: n}
		if n == 0 {
			// A state from elsewhere knows no tabs, and whatever is there has come since.
			anywhere := k
			anywhere.Tab = 0
			w.before = c.from.DOMState.Elements()[anywhere]
		}
		s.found[k] = w
		s.order = append(s.order, k)
	}
	return w
}

// elements reads the changes of the window. Each is called with those that are about no element.
func (c *computation) elements(each func(pos uint64, e *capture.Change)) *elements {
	s := &elements{found: map[capture.ElementKey]*elementWindow{}, moved: map[int]uint64{}, left: map[int]moments{}}
	for pos, e := range c.v.DOM().From(c.from.Pos[capture.DOM]) {
		origin := e.Origin()
		if e.Element != (capture.ElementKey{}) {
			origin = e.Element.Origin // it belongs to the page that it was on, whatever took its place
		}
		if !c.o.covers(capture.DOMSection, pos, event.InTab(e.Tab(), origin), e.At) {
			continue
		}
		switch e.Op {
		case "appeared", "gone":
			w := s.at(c, e.Element)
			w.take(e)
			w.last = pos
			w.refer(c, pos, e)
		case "navigated":
			s.moved[e.Tab()] = pos
			if e.How != "hash" {
				s.left[e.Tab()] = append(s.left[e.Tab()], e.At)
			}
		default:
			each(pos, e)
		}
	}
	if c.v.Evicted(capture.DOMSection, c.from.Pos[capture.DOM], c.o.InScope) {
		for _, k := range c.changedUnseen() {
			w := s.at(c, k)
			if w.now = c.v.DOMState.Elements()[k]; w.now > w.before && !w.lasts() {
				w.begins(life{alert: true})
			}
		}
	}
	return s
}

func (c *computation) dom() *DOMDiff {
	d := &DOMDiff{}
	s := c.elements(func(pos uint64, e *capture.Change) {
		if e.Op == "crashed" {
			d.Crashed = append(d.Crashed, Crash{URL: e.URL, At: Time{e.Time()}, Tab: c.tab(e.Tab()), Ref: c.ref(pos, e)})
		}
	})
	var fresh, flashes []*tally[NewElement]
	var gone []*tally[GoneElement]
	broken, overlaid := map[*elementWindow]bool{}, map[*elementWindow]bool{}
	for _, k := range s.order {
		w := s.found[k]
		entry := elementEntry(k, w.before)
		if o := c.overlayOf(k); o != nil && o.told {
			d.shown = append(d.shown, entry) // with the error that says it
			continue
		}
		for _, l := range w.shown(func(l life) bool { return c.flash(k.Tab, l, s.left[k.Tab]) }) {
			t := &tally[NewElement]{entry: l.element(k, c.tab(k.Tab), w.ref), count: 1, last: w.last, keys: []checkpoint.Entry{entry}}
			severity := Warning
			if IsOverlay(k.Selector) {
				severity = Error
			}
			switch {
			case l.flash:
				flashes = append(flashes, t)
			case c.repeats(entry, severity, c.tab(k.Tab), k.Selector+" "+k.Text, "error element "+k.Text):
			default:
				fresh = append(fresh, t)
				broken[w], overlaid[w] = severity == Warning, severity == Error
			}
		}
		if !w.isNew() && w.before > 0 && w.now == 0 && !c.closed(k.Tab) {
			gone = append(gone, &tally[GoneElement]{entry: GoneElement{k.Selector, Shorten(k.Text), c.tab(k.Tab), w.ref}, count: 1, last: w.last, keys: []checkpoint.Entry{entry}})
		}
	}
	d.URLChanged = c.urlChange(s.moved)
	emptied := 0
	d.PageEmptySince, emptied = c.emptySince()
	c.count(len(d.Crashed), "crashed page", Error)
	c.count(emptied, "empty page", Error)
	c.count(countTrue(overlaid), "new error overlay", Error)
	c.count(countTrue(broken), "new error element", Warning)

	r := newRoom()
	d.Crashed = take(r, d.Crashed)
	fresh, gone = take(r, byFrequency(fresh)), take(r, byFrequency(gone))
	d.NewErrorElements, d.DisappearedElements = entries(fresh), entries(gone)
	d.Flashes = entries(take(r, byFrequency(flashes)))
	d.shown, d.over = append(d.shown, keysOf(fresh)...), keysOf(gone)
	d.Omitted = r.omitted
	return d
}

func countTrue[K comparable](m map[K]bool) (n int) {
	for _, is := range m {
		if is {
			n++
		}
	}
	return n
}

// overlayOf returns the overlay that an element is, nil for any other.
func (c *computation) overlayOf(k capture.ElementKey) *overlay {
	i := slices.IndexFunc(c.overlays, func(o *overlay) bool { return o.element == k })
	if i < 0 {
		return nil
	}
	return c.overlays[i]
}

// shownLife is a life that is listed.
type shownLife struct {
	life
	flash bool
}

// shown returns the lives to list. One that lasts stands for those before it, but for flashes.
func (w *elementWindow) shown(flash func(life) bool) (list []shownLife) {
	for i, l := range w.lives {
		one := shownLife{l, flash(l)}
		if one.flash || !w.lasts() || i == len(w.lives)-1 {
			list = append(list, one)
		}
	}
	return list
}

func (l life) element(k capture.ElementKey, tab int, ref *Ref) NewElement {
	e := NewElement{Selector: k.Selector, Text: Shorten(k.Text), Tab: tab, Ref: ref}
	if l.from > 0 {
		e.AppearedAt = Time{time.UnixMilli(l.from).UTC()}
	}
	if l.to > 0 {
		e.GoneAt = &Time{time.UnixMilli(l.to).UTC()}
	}
	return e
}

// emptySince is since when a page in scope is empty because its code failed, nil if none is, and how many became empty in
// the window.
func (c *computation) emptySince() (since *Time, emptied int) {
	for tab, at := range c.v.DOMState.Empty() {
		if !c.o.InScope(event.InTab(tab, capture.OriginOf(c.v.DOMState.URL(tab)))) {
			continue
		}
		if c.from.DOMState.Empty()[tab] != at {
			emptied++
		}
		if t := (Time{time.UnixMilli(at).UTC()}); since == nil || t.Before(since.Time) {
			since = &t
		}
	}
	return since, emptied
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
	n := dropAll(&d.DisappearedElements) + dropAll(&d.Flashes)
	d.over = nil
	if errorsOnly {
		all := len(d.NewErrorElements)
		d.NewErrorElements = slices.DeleteFunc(d.NewErrorElements, func(e NewElement) bool { return !IsOverlay(e.Selector) })
		n += all - len(d.NewErrorElements)
		d.shown = nil
	}
	return n
}

func (d *DOMDiff) given() (shown []checkpoint.Entry, over []uint64) {
	for _, e := range d.over {
		over = append(over, e.Of)
	}
	return d.shown, over
}

func (d *DOMDiff) quotes() bool {
	return len(d.NewErrorElements)+len(d.Flashes)+len(d.DisappearedElements)+len(d.Crashed) > 0 || d.URLChanged != nil
}

func (d *DOMDiff) omitted() int { return d.Omitted }

func (d *DOMDiff) empty() bool {
	return len(d.NewErrorElements)+len(d.Flashes)+len(d.DisappearedElements)+len(d.Crashed) == 0 && d.URLChanged == nil && d.PageEmptySince == nil
}

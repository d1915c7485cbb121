package diff

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/flash"
)

// elementWindow is what happened to one error element in the window.
type elementWindow struct {
	flash.Lives
	last uint64
	ref  *Ref
}

// elements are the error elements that changed in the window, in the order of their first change.
type elements struct {
	found map[capture.ElementKey]*elementWindow
	order []capture.ElementKey
	// moved are the tabs that changed their address, and where; left is when.
	moved map[int]uint64
	left  map[int][]int64
}

func (s *elements) at(c *computation, k capture.ElementKey) *elementWindow {
	w := s.found[k]
	if w == nil {
		n := c.from.DOMState.Elements()[k]
		w = &elementWindow{Lives: flash.Lives{Before: n, Now: n}}
		if n == 0 {
			// A state from elsewhere knows no tabs, and whatever is there has come since.
			anywhere := k
			anywhere.Tab = 0
			w.Before = c.from.DOMState.Elements()[anywhere]
		}
		s.found[k] = w
		s.order = append(s.order, k)
	}
	return w
}

// elements reads the changes of the window. Each is called with those that are about no element.
func (c *computation) elements(each func(pos uint64, e *capture.Change)) *elements {
	s := &elements{found: map[capture.ElementKey]*elementWindow{}, moved: map[int]uint64{}, left: map[int][]int64{}}
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
			w.Take(e)
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
			s.at(c, k).Unseen(c.v.DOMState.Elements()[k])
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
	finder := flash.Finder{View: c.v}
	broken, overlaid := map[*elementWindow]bool{}, map[*elementWindow]bool{}
	for _, k := range s.order {
		w := s.found[k]
		entry := alike.Element(k, w.Before)
		if c.duplicates.tellsOverlay(k) {
			d.shown = append(d.shown, entry) // with the error that says it
			continue
		}
		lives := w.Shown(func(l flash.Life) bool { return finder.Is(k.Tab, l, s.left[k.Tab]) })
		for _, l := range lives {
			t := &tally[NewElement]{entry: newElement(l, k, c.tab(k.Tab), w.ref), count: 1, last: w.last, began: appeared(k, l), keys: []alike.Entry{entry}}
			severity := Warning
			if alike.IsOverlay(k.Selector) {
				severity = Error
			}
			switch {
			case l.Flash:
				flashes = append(flashes, t)
			case l.To > 0 && c.o.given(entry) && slices.ContainsFunc(lives, isFlash): // the reader was given it before it was one
			case c.repeated.take(&c.o, entry, severity, c.section, c.tab(k.Tab), k.Selector+" "+k.Text, "error element "+k.Text) != nil:
			default:
				fresh = append(fresh, t)
				broken[w], overlaid[w] = severity == Warning, severity == Error
			}
		}
		if !w.Any() && w.Before > 0 && w.Now == 0 && !c.closed(k.Tab) {
			gone = append(gone, &tally[GoneElement]{entry: GoneElement{k.Selector, Shorten(k.Text), c.tab(k.Tab), w.ref}, count: 1, last: w.last, keys: []alike.Entry{entry}})
		}
	}
	d.URLChanged = c.urlChange(s.moved)
	emptied := 0
	d.PageEmptySince, d.PageEmptyTab, emptied = emptySince(c)
	c.count(len(d.Crashed), "crashed page", Error)
	c.count(emptied, "empty page", Error)
	c.count(countTrue(overlaid), "new error overlay", Error)
	c.count(countTrue(broken), "new error element", Warning)

	r := newRoom()
	d.Crashed = take(r, d.Crashed)
	fresh, gone = take(r, byFrequency(fresh)), take(r, byFrequency(gone))
	introduce(&c.o, fresh, func(e *NewElement) **Introduced { return &e.IntroducedBy })
	d.NewErrorElements, d.DisappearedElements = entries(fresh), entries(gone)
	d.Flashes = entries(take(r, byFrequency(flashes)))
	slices.SortStableFunc(d.Flashes, func(a, b NewElement) int { return a.AppearedAt.Compare(b.AppearedAt.Time) })
	d.shown, d.over = append(d.shown, keysOf(fresh)...), keysOf(gone)
	d.Omitted = r.omitted
	return d
}

func isFlash(l flash.Life) bool { return l.Flash }

func countTrue[K comparable](m map[K]bool) (n int) {
	for _, is := range m {
		if is {
			n++
		}
	}
	return n
}

// newElement is an element as it was during a life.
func newElement(l flash.Life, k capture.ElementKey, tab int, ref *Ref) NewElement {
	e := NewElement{Selector: k.Selector, Text: Shorten(k.Text), Tab: tab, Ref: ref}
	if l.From > 0 {
		e.AppearedAt = Time{time.UnixMilli(l.From).UTC()}
	}
	if l.To > 0 {
		e.GoneAt = &Time{time.UnixMilli(l.To).UTC()}
	}
	return e
}

// emptySince is since when a page in scope is empty because its code failed, nil if none is, with its tab, and how many became
// empty in the window.
func emptySince(c *computation) (since *Time, in, emptied int) {
	for tab, at := range c.v.DOMState.Empty() {
		if c.away(tab) || !c.o.InScope(event.InTab(tab, capture.OriginOf(c.v.DOMState.URL(tab)))) {
			continue
		}
		if c.from.DOMState.Empty()[tab] != at && !c.from.DOMState.WasEmpty(c.v.DOMState.URL(tab)) {
			emptied++
		}
		if t := (Time{time.UnixMilli(at).UTC()}); since == nil || t.Before(since.Time) {
			since, in = &t, c.tab(tab)
		}
	}
	return since, in, emptied
}

// takeStanding adds the error overlays and the empty pages from before the window that are still there: such a page is
// broken though nothing new happens.
func (l *repeatList) takeStanding(c *computation) {
	if c.o.Given == nil || !c.o.includes(capture.DOMSection) {
		return
	}
	shown := func(tab int, origin string) bool {
		return !c.closed(tab) && !c.away(tab) && c.o.InScope(event.InTab(tab, origin))
	}
	add := func(tab int, same, text string, entries ...alike.Entry) {
		if r := l.of(repeatKey{section: capture.DOMSection, text: same, tab: c.tab(tab)}, Error, text); r.Count == 0 {
			r.Count, r.entries = 1, entries
		}
	}
	before := c.from.DOMState.Elements()
	var overlays []capture.ElementKey
	for k, n := range c.v.DOMState.Elements() {
		if n > 0 && before[k] > 0 && alike.IsOverlay(k.Selector) && shown(k.Tab, k.Origin) && !c.duplicates.tellsOverlay(k) {
			overlays = append(overlays, k)
		}
	}
	slices.SortFunc(overlays, byElement)
	for _, k := range overlays {
		if !slices.ContainsFunc(overlays, func(other capture.ElementKey) bool {
			return other.Tab == k.Tab && alike.SameOverlay(k.Selector, k.Text, other.Selector, other.Text)
		}) {
			add(k.Tab, k.Selector+" "+k.Text, "error element "+k.Text, alike.Element(k, before[k]))
		}
	}
	for _, tab := range slices.Sorted(maps.Keys(c.v.DOMState.Empty())) {
		if c.from.DOMState.Empty()[tab] == c.v.DOMState.Empty()[tab] && shown(tab, capture.OriginOf(c.v.DOMState.URL(tab))) {
			add(tab, "", "the page is empty")
		}
	}
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
	slices.SortFunc(changed, byElement)
	return changed
}

func byElement(a, b capture.ElementKey) int {
	return cmp.Or(cmp.Compare(a.Tab, b.Tab), cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.Selector, b.Selector), cmp.Compare(a.Text, b.Text))
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
		d.NewErrorElements = slices.DeleteFunc(d.NewErrorElements, func(e NewElement) bool { return !alike.IsOverlay(e.Selector) })
		n += all - len(d.NewErrorElements)
		d.shown = nil
	}
	return n
}

func (d *DOMDiff) given() (shown []alike.Entry, over []uint64) {
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

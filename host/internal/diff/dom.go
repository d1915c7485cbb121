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
	"tidemark.dev/tidemark/host/internal/report"
)

// elementWindow is what happened to one error element in the window.
type elementWindow struct {
	flash.Lives
	last uint64
	ref  *report.Ref
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
		w = &elementWindow{Lives: flash.Lives{Before: c.From.DOMState.Shown(k), Now: c.From.DOMState.Elements()[k]}}
		s.found[k] = w
		s.order = append(s.order, k)
	}
	return w
}

// elements reads the changes of the window. Each is called with those that are about no element.
func (c *computation) elements(each func(pos uint64, e *capture.Change)) *elements {
	s := &elements{found: map[capture.ElementKey]*elementWindow{}, moved: map[int]uint64{}, left: map[int][]int64{}}
	for pos, e := range c.View.DOM().From(c.From.Pos[capture.DOM]) {
		origin := e.Origin()
		if e.Element != (capture.ElementKey{}) {
			origin = e.Element.Origin // it belongs to the page that it was on, whatever took its place
		}
		if !c.Options.Covers(capture.DOMSection, pos, event.InTab(e.Tab(), origin), e.At) {
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
	if c.View.Evicted(capture.DOMSection, c.From.Pos[capture.DOM], c.Options.InScope) {
		for _, k := range c.changedUnseen() {
			s.at(c, k).Unseen(c.View.DOMState.Elements()[k])
		}
	}
	return s
}

func (c *computation) dom() *report.DOMDiff {
	d := &report.DOMDiff{}
	s := c.elements(func(pos uint64, e *capture.Change) {
		if e.Op == "crashed" {
			d.Crashed = append(d.Crashed, report.Crash{URL: e.URL, At: report.Time{Time: e.Time()}, Tab: c.Tab(e.Tab()), Ref: c.Ref(pos, e)})
		}
	})
	var fresh, flashes []*tally[report.NewElement]
	var gone []*tally[report.GoneElement]
	finder := flash.Finder{View: c.View}
	broken, overlaid, unloaded := map[*elementWindow]bool{}, map[*elementWindow]bool{}, map[*elementWindow]bool{}
	for _, k := range s.order {
		w := s.found[k]
		entry := alike.Element(k, w.Before)
		if c.duplicates.TellsOverlay(k) {
			d.Shown = append(d.Shown, entry) // with the error that says it
			continue
		}
		overlay := alike.IsOverlay(k.Selector)
		lives := w.Shown(func(l flash.Life) bool { return finder.Is(k.Tab, l, s.left[k.Tab]) || l.To > 0 && alike.IsMended(k) })
		for _, l := range lives {
			life := alike.Life(k, l.From)
			t := &tally[report.NewElement]{entry: c.newElement(l, k, w.ref), count: 1, last: w.last, began: c.appeared(k, l), keys: []alike.Entry{entry}}
			if l.From > 0 {
				t.keys = append(t.keys, life)
			}
			severity := report.Warning
			if overlay {
				severity = report.Error
			}
			switch {
			case l.Flash && c.Options.WasGiven(life): // by an action, as a flash or while it was visible
			case l.Flash:
				t.keys = []alike.Entry{life}
				flashes = append(flashes, t)
			case c.duplicates.Shows(k, l.From, entry):
			case l.To > 0 && c.Options.WasGiven(entry) && slices.ContainsFunc(lives, isFlash): // the reader was given it before it was one
			case overlay && c.repeated.completed(c, k, l.From, entry):
			// An overlay that was not there is news, though an earlier one said the same.
			case !(overlay && w.Before == 0 && l.From > 0 && !c.Options.WasGiven(life)) && c.repeated.element(c, k, l.From, severity, entry):
			default:
				fresh = append(fresh, t)
				unloaded[w] = k.Selector == alike.FailedModule
				broken[w], overlaid[w] = severity == report.Warning, severity == report.Error && !unloaded[w]
			}
		}
		if !w.Any() && w.Before > 0 && w.Now == 0 && !c.closed(k.Tab) && !c.duplicates.IsCompleted(k) {
			gone = append(gone, &tally[report.GoneElement]{entry: report.GoneElement{Selector: k.Selector, Text: report.Shorten(k.Text), Tab: c.Tab(k.Tab), Ref: w.ref}, count: 1, last: w.last, keys: []alike.Entry{entry}})
		}
	}
	for _, f := range c.Options.Emptied {
		d.EmptiedFields = append(d.EmptiedFields, report.EmptiedField{Element: f.Element, Tab: c.Tab(f.Tab)})
	}
	d.URLChanged = c.urlChange(s.moved)
	emptied := 0
	d.PageEmptySince, d.PageEmptyTab, emptied = emptySince(c, d)
	c.count(len(d.Crashed), "crashed page", report.Error)
	c.count(emptied, "empty page", report.Error)
	c.count(countTrue(overlaid), "new error overlay", report.Error)
	c.count(countTrue(unloaded), "unloaded module script", report.Error)
	c.count(countTrue(broken), "new error element", report.Warning)

	r := newRoom()
	d.Crashed = take(r, d.Crashed)
	fresh = byFrequency(fresh)
	slices.SortStableFunc(fresh, func(a, b *tally[report.NewElement]) int { return rank(a) - rank(b) })
	fresh, gone = take(r, fresh), take(r, byFrequency(gone))
	introduce(&c.Options, fresh, func(e *report.NewElement) **report.Introduced { return &e.IntroducedBy })
	d.NewErrorElements, d.DisappearedElements = entries(fresh), entries(gone)
	flashes = take(r, byFrequency(flashes))
	d.Flashes = entries(flashes)
	slices.SortStableFunc(d.Flashes, func(a, b report.NewElement) int { return a.AppearedAt.Compare(b.AppearedAt.Time) })
	d.Shown, d.Over = slices.Concat(d.Shown, keysOf(fresh), keysOf(flashes)), keysOf(gone)
	d.Omitted = r.omitted
	return d
}

// rank puts overlays, which are errors, before other error elements, which are warnings.
func rank(t *tally[report.NewElement]) int {
	if alike.IsOverlay(t.entry.Selector) {
		return 0
	}
	return 1
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
func (c *computation) newElement(l flash.Life, k capture.ElementKey, ref *report.Ref) report.NewElement {
	text, at := c.overlayText(k, l.From)
	e := report.NewElement{Selector: k.Selector, Text: report.Shorten(text), File: at.File, Line: at.Line, Generated: at.Generated, Tab: c.Tab(k.Tab), Ref: ref}
	if l.From > 0 {
		e.AppearedAt = report.Time{Time: time.UnixMilli(l.From).UTC()}
	}
	if l.To > 0 {
		e.GoneAt = &report.Time{Time: time.UnixMilli(l.To).UTC()}
	}
	return e
}

// overlayText is the text of an error element that is visible since a time, without the place that is a part of it where it is
// the overlay of a development server.
func (c *computation) overlayText(k capture.ElementKey, since int64) (text string, at alike.OverlayPlace) {
	if !alike.IsOverlay(k.Selector) {
		return k.Text, at
	}
	if text, at = alike.CutOverlay(k.Text); c.Options.Overlaid != nil {
		at = c.Options.Overlaid(k.Tab, since, text, at)
	}
	return text, at
}

// pageIsEmpty says that a page shows nothing any more.
const pageIsEmpty = "the page is empty"

// emptySince is since when a page in scope is empty because its code failed, nil if none is, with its tab, and how many became
// empty in the window.
func emptySince(c *computation, d *report.DOMDiff) (since *report.Time, in, emptied int) {
	for tab, at := range c.View.DOMState.Empty() {
		if c.Away(tab) || c.Reloading(tab) || !c.Options.InScope(event.InTab(tab, capture.OriginOf(c.View.DOMState.URL(tab)))) {
			continue
		}
		entry := alike.Empty(tab, at)
		if c.From.DOMState.Empty()[tab] != at && !c.From.DOMState.WasEmpty(c.View.DOMState.URL(tab)) &&
			c.repeated.take(&c.Options, entry, report.Error, capture.DOMSection, c.Tab(tab), "", pageIsEmpty) == nil {
			emptied++
			d.Shown = append(d.Shown, entry)
		}
		if t := (report.Time{Time: time.UnixMilli(at).UTC()}); since == nil || t.Before(since.Time) {
			since, in = &t, c.Tab(tab)
		}
	}
	return since, in, emptied
}

// takeStanding adds the error overlays and the empty pages from before the window that are still there: such a page is
// broken though nothing new happens.
func (l *repeatList) takeStanding(c *computation) {
	if !c.Options.Stands() || !c.Options.Includes(capture.DOMSection) {
		return
	}
	shown := func(tab int, origin string) bool {
		return !c.closed(tab) && !c.Away(tab) && c.Options.InScope(event.InTab(tab, origin))
	}
	before := c.From.DOMState.Elements()
	var overlays []capture.ElementKey
	for k, n := range c.View.DOMState.Elements() {
		if n > 0 && before[k] > 0 && alike.IsOverlay(k.Selector) && shown(k.Tab, k.Origin) && !c.duplicates.TellsOverlay(k) {
			overlays = append(overlays, k)
		}
	}
	slices.SortFunc(overlays, byElement)
	for _, k := range overlays {
		if !slices.ContainsFunc(overlays, func(other capture.ElementKey) bool {
			return other.Tab == k.Tab && alike.SameOverlay(k.Selector, k.Text, other.Selector, other.Text)
		}) {
			if r := l.ofElement(c, k, 0, report.Error); r.Count == 0 {
				r.Count, r.entries = 1, []alike.Entry{alike.Element(k, before[k])}
			}
		}
	}
	for _, tab := range slices.Sorted(maps.Keys(c.View.DOMState.Empty())) {
		if c.From.DOMState.Empty()[tab] == c.View.DOMState.Empty()[tab] && !c.Reloading(tab) && shown(tab, capture.OriginOf(c.View.DOMState.URL(tab))) {
			if r := l.of(repeatKey{section: capture.DOMSection, tab: c.Tab(tab)}, report.Error, pageIsEmpty); r.Count == 0 {
				r.Count = 1
			}
		}
	}
}

// closed says whether a tab has gone, and with it what it showed: that is not mended.
func (c *computation) closed(tab int) bool {
	_, open := c.View.DOMState.URLs()[tab]
	return tab != 0 && !open
}

// refer has a change belong to what is told of the element.
func (w *elementWindow) refer(c *computation, pos uint64, e *capture.Change) {
	if w.ref != nil {
		w.ref.Add(pos)
	} else if w.ref = c.Ref(pos, e); w.ref != nil {
		w.ref.Element = e.Element
	}
}

// changedUnseen are the elements in scope that are visible now and were not, or the other way round, in
// a fixed order: where changes of the window were evicted, what the page was and is stands in for them.
func (c *computation) changedUnseen() []capture.ElementKey {
	before, now := c.From.DOMState.Elements(), c.View.DOMState.Elements()
	var changed []capture.ElementKey
	for k, n := range now {
		if n > before[k] && c.Options.InScope(event.InTab(k.Tab, k.Origin)) {
			changed = append(changed, k)
		}
	}
	for k := range before {
		if now[k] == 0 && c.Options.InScope(event.InTab(k.Tab, k.Origin)) {
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
func (c *computation) urlChange(moved map[int]uint64) *report.URLChange {
	tabs := make([]int, 0, len(moved))
	for tab := range moved {
		tabs = append(tabs, tab)
	}
	slices.SortFunc(tabs, func(a, b int) int { return int(int64(moved[b]) - int64(moved[a])) })
	for _, tab := range tabs {
		from, to := c.From.DOMState.URL(tab), c.View.DOMState.URL(tab)
		if from != "" && to != "" && from != to {
			change := &report.URLChange{From: from, To: to, Tab: c.Tab(tab)}
			if c.Options.Refs {
				change.Ref = &report.Ref{Positions: []uint64{moved[tab]}, Tab: tab}
			}
			return change
		}
	}
	return nil
}

// domUnavailable says whether a watched tab's error elements cannot be read.
func (c *computation) domUnavailable() bool {
	return slices.ContainsFunc(c.View.Tabs, func(t capture.Tab) bool {
		return t.Watched && !t.DOM && c.Options.InScope(t.Subject())
	})
}

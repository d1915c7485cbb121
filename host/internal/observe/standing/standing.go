// Package standing tells what a page still shows of what it reported: the errors that came with an update of the page are over
// when a later update or load did without them (pure).
package standing

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/observe/broken"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/window"
)

// In milliseconds: how far apart the marks of one update may be, how long after its last mark an error may be its own, and how long
// before an update an error must be to be no part of it: quiet capture has only the mark at an update's end. A client logs the files
// of an update, and that it is done, at once.
const (
	updateSpan   = 1000
	thrownWithin = 2000
	apart        = 300
	atOnce       = 20
)

// History is what the pages of a view went through.
type History struct {
	v      *capture.View
	tabs   map[int]*course
	newest map[string]*event.Console // error of each problem
}

// course is that of one tab. Its lists are in the order of time.
type course struct {
	updates   []update
	empty     []span
	addresses []address
}

// update is a load or a hot update.
type update struct {
	subject     event.Subject
	began, last int64
	pos         uint64 // of its last mark
	load        string // the address that was loaded, "" for a hot update
	failed      bool
	build       string   // its hash, as far as the server gave one
	files       []string // that ran, as far as they are known
}

// span is when a page was empty; it still is if to is 0.
type span struct{ from, to int64 }

type address struct {
	at  int64
	url string
}

// mark is a moment of a tab.
type mark struct {
	tab int
	at  int64
}

// Of reads a view. What its buffers no longer have counts as never seen.
func Of(v *capture.View) *History {
	h := &History{v: v, tabs: map[int]*course{}}
	loads := map[mark]string{}
	for _, e := range v.DOM().InRing().From(0) {
		c := h.of(e.Tab())
		switch e.Op {
		case "emptied":
			c.empty = append(c.empty, span{from: e.At})
		case "filled":
			c.fill(e.At)
		case "navigated":
			url, _, _ := strings.Cut(e.URL, "#")
			c.addresses = append(c.addresses, address{e.At, url})
			if e.How == "load" || e.How == "reload" {
				loads[mark{e.Tab(), e.At}] = url
				c.fill(e.At)
			}
		}
	}
	for pos, u := range v.Updates.From(0) {
		if u.Time().Before(v.At) {
			h.of(u.Tab()).add(pos, u, loads[mark{u.Tab(), u.At}])
		}
	}
	return h
}

func (h *History) of(tab int) *course {
	c := h.tabs[tab]
	if c == nil {
		c = &course{}
		h.tabs[tab] = c
	}
	return c
}

// fill ends the time in which the page was empty.
func (c *course) fill(at int64) {
	if n := len(c.empty); n > 0 && c.empty[n-1].to == 0 {
		c.empty[n-1].to = at
	}
}

// add takes a mark. One update leaves several: what the server sends, and then what its client logs of each file. Two builds are two.
func (c *course) add(pos uint64, u *capture.Update, load string) {
	next := update{u.Subject, u.At, u.At, pos, load, u.How == "hot_update_failed", u.Build, nil}
	if u.File != "" {
		next.files = []string{u.File}
	}
	if n := len(c.updates); n > 0 && u.How != "load" && u.How != "reload" {
		last := &c.updates[n-1]
		again := len(last.files) > 0 && (u.File == "" || slices.Contains(last.files, u.File)) && u.At-last.last > atOnce ||
			u.Build != "" && last.build != "" && u.Build != last.build
		if u.At-last.last <= updateSpan && !again {
			last.last, last.pos = max(last.last, u.At), pos
			last.failed, last.build = last.failed || next.failed, cmp.Or(last.build, next.build)
			last.files = append(last.files, next.files...)
			return
		}
	}
	c.updates = append(c.updates, next)
}

// during returns the index of the newest update that had begun at a time, -1 for none.
func (c *course) during(at int64) int {
	for i := len(c.updates) - 1; i >= 0; i-- {
		if c.updates[i].began <= at {
			return i
		}
	}
	return -1
}

// began returns when that update began, 0 if there is none.
func (c *course) began(at int64) int64 {
	if i := c.during(at); i >= 0 {
		return c.updates[i].began
	}
	return 0
}

// address returns that of the page at a time, "" if it is not known.
func (c *course) address(at int64) (url string) {
	for _, a := range c.addresses {
		if a.at <= at {
			url = a.url
		}
	}
	return url
}

// styles reports whether an update changed nothing but style sheets: no code ran.
func (u *update) styles() bool {
	return len(u.files) > 0 && !slices.ContainsFunc(u.files, func(name string) bool {
		name, _, _ = strings.Cut(name, "?")
		return !slices.Contains([]string{".css", ".scss", ".sass", ".less", ".styl", ".pcss"}, path.Ext(name))
	})
}

// Ran reports whether code of a page in scope ran anew since a position of the updates.
func (h *History) Ran(o *window.Options, since uint64) bool {
	for _, c := range h.tabs {
		if slices.ContainsFunc(c.updates, func(u update) bool { return u.pos >= since && !u.styles() && o.InScope(u.subject) }) {
			return true
		}
	}
	return false
}

// Over reports whether an error is over: it came with an update of its page, or while that was empty, and a later update did
// without it, or filled the page. Of what was only logged, a load alone shows that: libraries log many a message once a page.
func (h *History) Over(e *event.Console) bool { return h.over(e, !isThrown(e)) }

func (h *History) over(e *event.Console, loadsAlone bool) bool {
	c := h.tabs[e.Tab()]
	if c == nil || e.Level != event.Error {
		return false
	}
	i := c.during(e.At)
	came, filled := i >= 0 && e.At <= c.updates[i].last+thrownWithin, int64(0)
	for _, s := range c.empty {
		if e.At < c.began(s.from) || s.to > 0 && e.At > s.to {
			continue
		}
		if came, filled = true, s.to; s.to == 0 {
			return false
		}
	}
	if !came {
		return false
	}
	for n, u := range c.updates[i+1:] {
		switch {
		case u.began < e.At+apart:
		case u.load != "" && u.load == c.address(e.At):
			return true
		case loadsAlone || u.load != "" || u.failed:
		case filled >= u.began && (i+n+2 == len(c.updates) || filled < c.updates[i+n+2].began):
			return true
		case i >= 0 && slices.ContainsFunc(u.files, func(name string) bool { return slices.Contains(c.updates[i].files, name) }):
			return true
		}
	}
	return false
}

// Mended reports whether the newest error of a problem is over. Thrown says that errors which were only logged never are.
func (h *History) Mended(problem string, thrown bool) bool {
	if h.newest == nil {
		h.newest = map[string]*event.Console{}
		for _, e := range h.v.Console().InRing().From(0) {
			if e.Level == event.Error {
				h.newest[broken.KeyOf(e)] = e
			}
		}
	}
	e := h.newest[problem]
	return e != nil && h.over(e, thrown && !isThrown(e))
}

// Recovered returns what reports whether a problem of a key, from before a session, has been fixed since. All are those of the
// session's report.
func (h *History) Recovered(all []broken.Problem, o window.Options) func(key, text string) bool {
	o.Include = []capture.Section{capture.DOMSection}
	shown := append(broken.In(diff.Compute(h.v.Start(), h.v, o)), all...)
	return func(key, _ string) bool {
		switch kind, _, _ := strings.Cut(key, " "); kind {
		case "console":
			return h.Mended(key, true)
		case "overlay", broken.Empty:
			return !slices.ContainsFunc(shown, func(p broken.Problem) bool { return p.Key() == key })
		}
		return false
	}
}

// Lasting returns what is visibly broken: what the page has shown since the start of a session, and requests that failed since a
// moment, though they had failed before.
func (h *History) Lasting(start, since capture.Moment, o window.Options) []broken.Problem {
	o.Include = []capture.Section{capture.DOMSection}
	lasting := broken.In(diff.Compute(start, h.v, o))
	o.Include = []capture.Section{capture.NetworkSection}
	since.Endpoints = start.Endpoints
	return append(lasting, broken.In(diff.Compute(since, h.v, o))...)
}

// Earlier marks those problems of a report since a moment that the page already had at a later one.
func Earlier(list []broken.Problem, since, later capture.Moment, v *capture.View, o window.Options) {
	if len(list) == 0 || !later.At.After(since.At) {
		return
	}
	before := broken.In(diff.Compute(since, v.Until(later), o))
	for i := range list {
		list[i].Earlier = slices.ContainsFunc(before, func(p broken.Problem) bool { return p.Key() == list[i].Key() })
	}
}

func isThrown(e *event.Console) bool { return e.IsUncaught() || e.Logged != "" }

// Report is of what the pages in scope show now. It begins with the newest update that ran code, or with the one since which a page
// is empty or shows an error overlay.
func Report(v *capture.View, o window.Options) *report.Report {
	h := Of(v)
	o.Over = h.Over
	return diff.Compute(h.since(&o), v, o)
}

func (h *History) since(o *window.Options) capture.Moment {
	var began int64
	for _, c := range h.tabs {
		for _, u := range c.updates {
			if !u.styles() && o.InScope(u.subject) {
				began = max(began, u.began)
			}
		}
	}
	for tab, at := range h.v.DOMState.Empty() {
		if o.InScope(event.InTab(tab, capture.OriginOf(h.v.DOMState.URL(tab)))) {
			began = min(began, h.of(tab).began(at))
		}
	}
	shown := h.v.DOMState.Elements()
	for _, e := range h.v.DOM().InRing().From(0) {
		if e.Op == "appeared" && shown[e.Element] > 0 && alike.IsOverlay(e.Element.Selector) && o.InScope(event.InTab(e.Tab(), e.Element.Origin)) {
			began = min(began, h.of(e.Tab()).began(e.At))
		}
	}
	if began == 0 {
		return h.v.Start()
	}
	return h.v.MomentAt(time.UnixMilli(began - 1))
}

// UpdatesSince returns the position of the first update at or after a time.
func UpdatesSince(v *capture.View, t time.Time) uint64 {
	for pos, u := range v.Updates.From(0) {
		if !u.Time().Before(t) {
			return pos
		}
	}
	return v.Updates.Next()
}

package diff

import (
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// duplicates finds messages that only say what another entry of the report says better. One failure is often reported
// several times: an exception, the line that a framework logs about it, the overlay of a development server, the message
// of the code that made a failed request.
type duplicates struct {
	// By tab, nil until needed: when errors were thrown, differences of hydration named, builds logged, pages left and
	// requests aborted.
	thrown, differed, built, left, aborted map[int]alike.Moments
	loads                                  map[tabURL]alike.Moments // failed loads of which the browser's log speaks, nil until needed

	failing  map[failed]alike.Moments // requests of which the report speaks
	answers  answers                  // of those
	overlays []*overlay
	looked   bool // whether overlays were looked for
}

// failed is a request as a message of the page's code may speak of it: its tab, and its status; 0 for no answer.
type failed struct{ tab, status int }

// answers finds the failed requests whose answer says, or whose address is, what an error says.
type answers struct {
	of []answer
	// at has the times of each text, and begins how one of them begins. They are made of the first requests of the list.
	at     map[said]alike.Moments
	begins map[beginning]bool
	made   int
}

// answer is what is needed of a failed request. It does not keep the block in memory that the request was read from.
type answer struct {
	tab         int
	at          int64
	detail, url string
}

// said is what the answer to a request of a tab says, or its address. Both are cut, as [event.Network.Detail] is.
type said struct {
	tab  int
	text string
}

// maxSaid bounds what is compared of them, in bytes. It is less than a detail has room for.
const maxSaid = event.MaxDetail / 2

func saidBy(tab int, text string) said { return said{tab, text[:min(len(text), maxSaid)]} }

// beginning is how a text begins. Most errors are ruled out by it without being read.
type beginning [8]byte

// beginningOf returns how a text begins. ok is false where that may be written in another way.
func beginningOf(text string) (b beginning, ok bool) {
	n := copy(b[:], text)
	for i, c := range b[:n] {
		if c < ' ' || c > '~' || c == ' ' && (i == 0 || b[i-1] == ' ') {
			return b, false
		}
	}
	return b, n == len(b)
}

// has reports whether an error says what an answer says, at about the same time.
func (a *answers) has(e *event.Console) bool {
	if a.at == nil {
		a.at, a.begins = map[said]alike.Moments{}, map[beginning]bool{}
	}
	for ; a.made < len(a.of); a.made++ {
		n := a.of[a.made]
		for _, text := range []string{n.detail, n.url} {
			if text != "" {
				b, _ := beginningOf(text)
				a.begins[b] = true
				k := saidBy(n.tab, text)
				a.at[k] = append(a.at[k], n.at)
			}
		}
	}
	text := alike.ThrownResponse(e.Text)
	if text == "" {
		if b, ok := beginningOf(alike.Unnamed(e.Text)); ok && !a.begins[b] {
			return false
		}
		text = alike.Said(e.Text)
	}
	return a.at[saidBy(e.Tab(), text)].Near(e.At)
}

// lists records that the report speaks of a failed request.
func (d *duplicates) lists(n *event.Network) {
	if d.failing == nil {
		d.failing = map[failed]alike.Moments{}
	}
	k := failed{n.Tab(), n.Status}
	if n.Error != "" {
		k.status = 0
	}
	d.failing[k] = append(d.failing[k], n.At)
	d.answers.of = append(d.answers.of, answer{n.Tab(), n.At, n.Detail, n.URL})
}

// has reports whether a message only says what another entry of the report says better. An overlay that says the same as
// an error of the project's code is told with that error.
func (d *duplicates) has(c *computation, e *event.Console) bool {
	if d.echo(c, e) || d.leaving(c, e) {
		return true
	}
	if e.Level != event.Error {
		return false
	}
	if d.logsLoad(c, e) {
		return true
	}
	if len(d.failing) > 0 {
		if status, says := alike.SaysRequestFailed(e.Text); says && d.failing[failed{e.Tab(), status}].Near(e.At) {
			return true
		}
		if d.answers.has(e) {
			return true
		}
	}
	if logs, counts := alike.LogsBuild(e); logs {
		return d.showsBuild(e) || counts && d.logged(c, &d.built, e, func(e *event.Console) bool {
			logs, counts := alike.LogsBuild(e)
			return logs && !counts
		})
	}
	own, shown := false, false
	for _, o := range d.overlays {
		if o.element.Tab == e.Tab() && alike.Near(o.at, e.At) && alike.IsIn(o.element.Text, e) {
			own, shown = alike.IsOwnCode(e), true
			o.told = o.told || own
		}
	}
	return shown && !own
}

// showsBuild reports whether the overlay of a development server shows the failed build that its client logs.
func (d *duplicates) showsBuild(e *event.Console) bool {
	return slices.ContainsFunc(d.overlays, func(o *overlay) bool {
		return o.element.Tab == e.Tab() && alike.Near(o.at, e.At) && alike.IsBuildOverlay(o.element.Selector)
	})
}

// showsModule reports whether the overlay of a development server shows why it could not answer with a module.
func (d *duplicates) showsModule(n *event.Network) bool {
	return slices.ContainsFunc(d.overlays, func(o *overlay) bool {
		return o.element.Tab == n.Tab() && alike.Near(o.at, n.At) && alike.ShowsModule(o.element.Selector, o.element.Text, n.Status, n.URL)
	})
}

// logsLoad reports whether a message of an element that could not load something is about a failed load that the browser
// logged too.
func (d *duplicates) logsLoad(c *computation, e *event.Console) bool {
	url, ok := failedAddress(e)
	if !ok || e.Category == "network" {
		return false
	}
	if d.loads == nil {
		d.loads = map[tabURL]alike.Moments{}
		for pos, e := range c.v.Console().Marked(c.from.Pos[capture.Console]) {
			if loadOf(e) != "" && c.tells(pos, e) {
				k := tabURL{e.Tab(), strings.Clone(e.URL)}
				d.loads[k] = append(d.loads[k], e.At)
			}
		}
	}
	return d.loads[tabURL{e.Tab(), url}].Near(e.At)
}

// echo reports whether a message only says that there was an error that was reported by itself.
func (d *duplicates) echo(c *computation, e *event.Console) bool {
	switch {
	case alike.IsEcho(e):
		return d.logged(c, &d.thrown, e, func(e *event.Console) bool { return e.Via == "exception" || e.Via == "rejection" })
	case alike.SaysHydrationFailed(e):
		return d.logged(c, &d.differed, e, alike.NamesMismatch)
	}
	return false
}

// logged reports whether there is a message of a kind at about the time of another one. It finds them the first time.
func (d *duplicates) logged(c *computation, found *map[int]alike.Moments, e *event.Console, kind func(*event.Console) bool) bool {
	if *found == nil {
		*found = alike.MomentsOf(func(add func(int, int64)) {
			for pos, e := range c.v.Console().Marked(c.from.Pos[capture.Console]) {
				if kind(e) && c.tells(pos, e) {
					add(e.Tab(), e.At)
				}
			}
		})
	}
	return (*found)[e.Tab()].Near(e.At)
}

// leaving reports whether an error is about a request that ended because the page was being left: it is no error of the
// page that follows.
func (d *duplicates) leaving(c *computation, e *event.Console) bool {
	if e.Level != event.Error {
		return false
	}
	if d.left == nil {
		d.left = alike.MomentsOf(func(add func(int, int64)) {
			for _, u := range c.v.Updates.From(0) {
				if u.How == "load" || u.How == "reload" {
					add(u.Tab(), u.At)
				}
			}
		})
	}
	if !d.left[e.Tab()].Before(e.At) || !alike.SaysAborted(e) {
		return false
	}
	if d.aborted == nil {
		d.aborted = alike.MomentsOf(func(add func(int, int64)) {
			for _, n := range c.v.Network().From(c.from.Pos[capture.Network]) {
				if n.Canceled || n.Error == "net::ERR_ABORTED" {
					add(n.Tab(), n.At)
				}
			}
		})
	}
	return d.aborted[e.Tab()].Near(e.At)
}

// overlay is an error overlay that appeared in the window.
type overlay struct {
	element capture.ElementKey
	at      int64
	// told is true where an error of the console says the same, and where, or another overlay.
	told bool
}

// findOverlays finds the overlays of the window the first time, if the report has the section that lists them.
func (d *duplicates) findOverlays(c *computation) {
	if d.looked || !c.o.includes(capture.DOMSection) {
		return
	}
	d.looked = true
	for pos, e := range c.v.DOM().From(c.from.Pos[capture.DOM]) {
		if e.Op == "appeared" && alike.IsOverlay(e.Element.Selector) && c.o.covers(capture.DOMSection, pos, event.InTab(e.Tab(), e.Element.Origin), e.At) {
			d.overlays = append(d.overlays, &overlay{element: e.Element, at: e.At})
		}
	}
	for _, o := range d.overlays {
		o.told = slices.ContainsFunc(d.overlays, func(other *overlay) bool {
			return other.element.Tab == o.element.Tab && alike.Near(other.at, o.at) &&
				alike.SameOverlay(o.element.Selector, o.element.Text, other.element.Selector, other.element.Text)
		})
	}
}

// tellsOverlay reports whether an element is an overlay that an error of the console tells of.
func (d *duplicates) tellsOverlay(k capture.ElementKey) bool {
	return slices.ContainsFunc(d.overlays, func(o *overlay) bool { return o.element == k && o.told })
}

// Package duplicates finds messages that only say what another entry of a report says better.
//
// It guarantees: of a failure that is reported several times, one entry stays. It is pure: no clock, no files, no network.
package duplicates

import (
	"path"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/window"
)

// Finder finds the duplicates of a window. One failure is often reported several times: an exception, the line that a
// framework logs about it, the overlay of a development server, the message of the code that made a failed request.
type Finder struct {
	w *window.Window

	// By tab, nil until needed: when errors were thrown, differences of hydration named, builds logged and
	// requests aborted.
	thrown, differed, built, aborted map[int]alike.Moments
	loads                            map[tabURL]alike.Moments // failed loads of which the browser's log speaks, nil until needed

	failing  map[failed]moments // requests of which the report speaks
	answers  answers            // of those
	sockets  []socket           // of which it speaks too
	messages map[said][]*event.Console
	echoes   map[any][]Echo
	overlays []*overlay
	// completed are the overlays that have their place since the window began, by those from before it that had none.
	completed map[capture.ElementKey]*overlay
	looked    bool // whether overlays were looked for
}

// In returns what finds the duplicates of a window.
func In(w *window.Window) *Finder { return &Finder{w: w} }

// failed is a request as a message of the page's code may speak of it: its tab, and its status; 0 for no answer.
type failed struct{ tab, status int }

// moments are when requests of a kind failed, and which these are.
type moments struct {
	alike.Moments
	of []int
}

func (m moments) with(at int64, n int) moments {
	return moments{append(m.Moments, at), append(m.of, n)}
}

// maxNear bounds how many requests that failed in the same way at about a time are looked at.
const maxNear = 8

// news returns one of the requests that failed at about a time: one that the reader was not given, if there is one. It is -1 for
// none.
func (m moments) news(at int64, all []answer) int {
	first := m.Index(at)
	if first < 0 {
		return -1
	}
	for i := first; i < min(len(m.of), first+maxNear) && alike.Near(m.Moments[i], at); i++ {
		if !all[m.of[i]].given {
			return m.of[i]
		}
	}
	return m.of[first]
}

// answers finds the failed requests whose answer says, or whose address is, what an error says.
type answers struct {
	of []answer
	// at has the times of each text. begins is how one of them begins, and ends has the details by how they end. They are made
	// of the first requests of the list.
	at     map[said]moments
	begins map[beginning]bool
	ends   map[beginning][]string
	made   int
}

// answer is what is needed of a failed request. It does not keep the block in memory that the request was read from.
type answer struct {
	endpoint    *capture.EndpointKey
	failed      failed
	error       string
	at          int64
	detail, url string
	given       bool // the reader was given it
}

// said is what the answer to a request of a tab says, or its address. Both are cut, as [event.Network.Detail] is.
type said struct {
	tab  int
	text string
}

// maxSaid bounds what is compared of them, in bytes. It is less than a detail has room for.
const maxSaid = event.MaxDetail / 2

func saidBy(tab int, text string) said { return said{tab, text[:min(len(text), maxSaid)]} }

// beginning is how a text begins, or ends. Most errors are ruled out by it without being read.
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

// Details that messages end with are looked for from minDetail bytes on. maxEnds bounds those that end alike.
const (
	minDetail = 12
	maxEnds   = 8
)

// make makes the indexes of the requests that are in none yet.
func (a *answers) make() {
	if a.at == nil {
		a.at, a.begins, a.ends = map[said]moments{}, map[beginning]bool{}, map[beginning][]string{}
	}
	for ; a.made < len(a.of); a.made++ {
		n := &a.of[a.made]
		for _, text := range []string{n.detail, n.url} {
			if text != "" {
				b, _ := beginningOf(text)
				a.begins[b] = true
				k := saidBy(n.failed.tab, text)
				a.at[k] = a.at[k].with(n.at, a.made)
			}
		}
		if len(n.detail) >= minDetail {
			var b beginning
			copy(b[:], n.detail[len(n.detail)-len(b):])
			if list := a.ends[b]; len(list) < maxEnds && !slices.Contains(list, n.detail) {
				a.ends[b] = append(list, n.detail)
			}
		}
	}
}

// endOf returns the detail of an answer that a text ends with, after words of its own; "" for none.
func (a *answers) endOf(text string) string {
	if len(text) <= minDetail {
		return ""
	}
	a.make()
	var b beginning
	copy(b[:], text[len(text)-len(b):])
	for _, detail := range a.ends[b] {
		if before, ok := strings.CutSuffix(text, detail); ok && strings.HasSuffix(before, " ") {
			return detail
		}
	}
	return ""
}

// said returns which request has an answer that says what an entry of a page of an origin says at about the same time, -1 for
// none. unnamed is its text without the name of its class ([alike.Unnamed]), url the address of the request that it names, "" if
// it names none.
func (a *answers) said(tab int, at int64, origin, whole, unnamed, url string) int {
	a.make()
	text := url
	if strings.HasPrefix(url, "/") {
		text = origin + url
	}
	if text == "" {
		if b, ok := beginningOf(unnamed); ok && !a.begins[b] {
			return -1
		}
		text = alike.Said(whole)
	}
	return a.at[saidBy(tab, text)].news(at, a.of)
}

// Lists records that the report speaks of a failed request of an endpoint, which the reader may have been given.
func (f *Finder) Lists(n *event.Network, of *capture.EndpointKey, given bool) {
	if f.failing == nil {
		f.failing = map[failed]moments{}
	}
	k := failed{n.Tab(), n.Status}
	if n.Error != "" {
		k.status = 0
	}
	f.failing[k] = f.failing[k].with(n.At, len(f.answers.of))
	detail, _ := n.Said()
	f.answers.of = append(f.answers.of, answer{of, failed{n.Tab(), n.Status}, n.Error, n.At, detail, n.URL, given})
}

// Has reports whether a message only says what another entry of the report says better. An overlay that says the same as
// an error of the project's code is told with that error. What the page's code made of a failure is mentioned with it.
func (f *Finder) Has(e *event.Console) bool {
	if f.follows(e) || f.leaving(e) {
		return true
	}
	if e.Level != event.Error {
		return false
	}
	if f.logsLoad(e) {
		return true
	}
	if len(f.failing) > 0 {
		if n := f.request(e.Tab(), e.At, e.Origin(), e.Text); n >= 0 {
			return f.isOfRequest(n, Echo{Message: e})
		}
		if f.quotes(e) {
			return true
		}
	}
	if f.logsSocket(e) {
		return true
	}
	if logs, counts := alike.LogsBuild(e); logs {
		return f.showsBuild(e.Tab(), e.At) || counts && f.logged(&f.built, e, func(e *event.Console) bool {
			logs, counts := alike.LogsBuild(e)
			return logs && !counts
		})
	}
	var shown []*overlay
	for _, o := range f.overlays {
		if o.element.Tab == e.Tab() && alike.Near(o.at, e.At) && alike.IsIn(o.element.Text, e) {
			shown = append(shown, o)
		}
	}
	knows := slices.IndexFunc(shown, func(o *overlay) bool { return f.saysWhere(o, e) })
	own := alike.IsOwnCode(e) && knows < 0
	if knows >= 0 {
		shown[knows].since = min(shown[knows].since, e.At)
	}
	for i, o := range shown {
		o.told = i != knows && (o.told || own || knows >= 0)
	}
	return len(shown) > 0 && !own
}

// saysWhere reports whether an overlay has the place in the project of an error of which only a generated line is known. One that
// names that line itself does not.
func (f *Finder) saysWhere(o *overlay, e *event.Console) bool {
	_, at := alike.CutOverlay(o.element.Text)
	if at.File == "" || at.Generated {
		return false
	}
	is := f.w.Options.PlaceOf(e)
	return is.Generated && (path.Base(at.File) != path.Base(is.File) || at.Line != is.Line)
}

// showsBuild reports whether the overlay of a development server shows the failed build of which a tab learned at a time.
func (f *Finder) showsBuild(tab int, at int64) bool {
	return slices.ContainsFunc(f.overlays, func(o *overlay) bool {
		return o.element.Tab == tab && alike.Near(o.at, at) && alike.IsBuildOverlay(o.element.Selector)
	})
}

// HasFrame reports whether a frame only has the client of a development server show an overlay that the report lists.
func (f *Finder) HasFrame(e *event.WebSocket) bool {
	return e.Bad && alike.TellsBuildFailed(e.Text) && f.showsBuild(e.Tab(), e.At)
}

// ShowsModule reports whether the overlay of a development server shows why it could not answer with a module.
func (f *Finder) ShowsModule(n *event.Network) bool {
	return slices.ContainsFunc(f.overlays, func(o *overlay) bool {
		return o.element.Tab == n.Tab() && alike.Near(o.at, n.At) && alike.ShowsModule(o.element.Selector, o.element.Text, n.Status, n.URL)
	})
}

// logsLoad reports whether a message of an element that could not load something is about a failed load that the browser
// logged too.
func (f *Finder) logsLoad(e *event.Console) bool {
	url, ok := alike.FailedAddress(e)
	if !ok || e.Category == "network" {
		return false
	}
	if f.loads == nil {
		f.loads = map[tabURL]alike.Moments{}
		for pos, e := range f.w.View.Console().Marked(f.w.From.Pos[capture.Console]) {
			if report.FailedLoad(e) != "" && f.w.Tells(pos, e) {
				k := tabURL{e.Tab(), strings.Clone(e.URL)}
				f.loads[k] = append(f.loads[k], e.At)
			}
		}
	}
	return f.loads[tabURL{e.Tab(), url}].Near(e.At)
}

// follows reports whether a message only says that there was an error that was reported by itself.
func (f *Finder) follows(e *event.Console) bool {
	switch {
	case alike.IsEcho(e):
		return f.logged(&f.thrown, e, alike.IsReported)
	case alike.SaysHydrationFailed(e):
		return f.logged(&f.differed, e, alike.NamesMismatch)
	}
	return false
}

// logged reports whether there is a message of a kind at about the time of another one. It finds them the first time.
func (f *Finder) logged(found *map[int]alike.Moments, e *event.Console, kind func(*event.Console) bool) bool {
	if *found == nil {
		*found = alike.MomentsOf(func(add func(int, int64)) {
			for pos, e := range f.w.View.Console().Marked(f.w.From.Pos[capture.Console]) {
				if kind(e) && f.w.Tells(pos, e) {
					add(e.Tab(), e.At)
				}
			}
		})
	}
	return (*found)[e.Tab()].Near(e.At)
}

// leaving reports whether an error is about a request that ended because the page was being left: it is no error of the
// page that follows.
func (f *Finder) leaving(e *event.Console) bool {
	if e.Level != event.Error {
		return false
	}
	if !f.w.PagesLeft()[e.Tab()].Before(e.At) || !alike.SaysAborted(e) {
		return false
	}
	if f.aborted == nil {
		f.aborted = alike.MomentsOf(func(add func(int, int64)) {
			for _, n := range f.w.View.Network().From(f.w.From.Pos[capture.Network]) {
				if n.Canceled || n.Error == "net::ERR_ABORTED" {
					add(n.Tab(), n.At)
				}
			}
		})
	}
	return f.aborted[e.Tab()].Near(e.At)
}

// overlay is an error overlay that appeared in the window, and that the report lists.
type overlay struct {
	element capture.ElementKey
	at      int64
	// since is when what it says began: when it appeared, or before that, when the error that it stands for was reported or an overlay
	// that it gave its place.
	since int64
	// told is true where an error of the console says the same, and where, or another overlay.
	told bool
}

// FindOverlays finds the overlays of the window the first time, if the report has the section that lists them.
func (f *Finder) FindOverlays() {
	if f.looked || !f.w.Options.Includes(capture.DOMSection) {
		return
	}
	f.looked = true
	gone := map[capture.ElementKey]int64{}
	for pos, e := range f.w.View.DOM().From(f.w.From.Pos[capture.DOM]) {
		if !alike.IsOverlay(e.Element.Selector) || !f.w.Options.Covers(capture.DOMSection, pos, event.InTab(e.Tab(), e.Element.Origin), e.At) {
			continue
		}
		before := f.w.From.DOMState.Shown(e.Element) > 0
		switch {
		case e.Op == "gone" && before:
			gone[e.Element] = e.At
		// Of one that was there before the window and that does not stand for the reader, nothing is said.
		case e.Op == "appeared" && (!before || f.w.Options.Stands() && f.w.View.DOMState.Elements()[e.Element] > 0):
			f.overlays = append(f.overlays, &overlay{element: e.Element, at: e.At, since: e.At})
		}
	}
	f.complete(gone)
	for _, o := range f.overlays {
		for _, other := range f.overlays {
			near := alike.Near(other.at, o.at)
			if other.element.Tab != o.element.Tab || other.element.Selector != o.element.Selector && !near ||
				!alike.SameOverlay(o.element.Selector, o.element.Text, other.element.Selector, other.element.Text) {
				continue
			}
			if o.told = true; near {
				other.since = min(other.since, o.at)
			}
		}
	}
}

// complete takes those overlays out that only give one from before the window its place, by when these were gone. They stand for no
// error.
func (f *Finder) complete(gone map[capture.ElementKey]int64) {
	if len(gone) == 0 {
		return
	}
	f.overlays = slices.DeleteFunc(f.overlays, func(o *overlay) bool {
		message, place := alike.CutOverlay(o.element.Text)
		if place.File == "" {
			return false
		}
		was := o.element
		was.Text = message
		at, known := gone[was]
		if !known || !alike.Near(at, o.at) || f.completed[was] != nil {
			return false
		}
		if f.completed == nil {
			f.completed = map[capture.ElementKey]*overlay{}
		}
		f.completed[was] = o
		return true
	})
}

// Completes returns the overlay from before the window that one gives its place, which appeared at a time in milliseconds since the
// Unix epoch. Next.js finds the place later.
func (f *Finder) Completes(k capture.ElementKey, at int64) (capture.ElementKey, bool) {
	for was, o := range f.completed {
		if o.element == k && o.at == at {
			return was, true
		}
	}
	return capture.ElementKey{}, false
}

// IsCompleted reports whether an overlay from before the window is still there, with its place.
func (f *Finder) IsCompleted(k capture.ElementKey) bool { return f.completed[k] != nil }

// Since returns when what an overlay says began that appeared at a time, both in milliseconds since the Unix epoch: when the error was
// reported that it stands for. A development server draws it later, and on a busy machine much later. For any other element, that is
// the time itself.
func (f *Finder) Since(k capture.ElementKey, at int64) int64 {
	for _, o := range f.overlays {
		if o.element == k && o.at == at {
			return o.since
		}
	}
	return at
}

// TellsOverlay reports whether an element is an overlay that an error of the console, or a failed request, tells of.
func (f *Finder) TellsOverlay(k capture.ElementKey) bool {
	return slices.ContainsFunc(f.overlays, func(o *overlay) bool { return o.element == k && (o.told || f.requestTells(o)) })
}

// requestTells reports whether an overlay says no more than that a request failed, and the report speaks of that request.
func (f *Finder) requestTells(o *overlay) bool {
	if o.element.Selector == alike.FailedModule { // that of the script, or of what it imports
		for of, at := range f.failing {
			if of.tab == o.element.Tab && at.Near(o.at) {
				return true
			}
		}
		return false
	}
	text, _, _ := strings.Cut(o.element.Text, " – ") // what follows is a place
	status, says := alike.SaysRequestFailed(text)
	return says && f.failing[failed{o.element.Tab, status}].Near(o.at)
}

// tabURL is an address in a tab.
type tabURL struct {
	tab int
	url string
}

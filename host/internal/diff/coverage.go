package diff

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/protocol"
)

// maxGapSpans bounds how many gaps are listed; all are counted in the note.
const maxGapSpans = 10

// reasonWords say a gap's reason to a reader.
var reasonWords = map[string]string{
	protocol.GapLateAttach:          "a tab began loading before capture started",
	protocol.GapWorkerRestart:       "the extension's worker restarted",
	protocol.GapDetached:            "capture of a tab ended",
	protocol.GapDropped:             "events were dropped",
	protocol.GapCaptureFailed:       "a tab could not be captured",
	protocol.GapDisconnected:        "the browser's connection was interrupted",
	protocol.GapBrowserEnded:        "the browser exited, and its last events may be missing",
	protocol.GapNoBrowser:           "no browser was connected",
	protocol.GapRecorderFailed:      "a recorder failed and was started again",
	protocol.GapJournalDamaged:      "part of the journal could not be read",
	protocol.GapMalformed:           "events could not be read",
	protocol.GapSharedWorkerUnseen:  "the browser does not let Tidemark attach to the page's shared worker (its console: chrome://inspect/#workers)",
	protocol.GapWorkerUnseen:        "quiet capture misses workers' logs and WebSockets",
	protocol.GapPaused:              "the user paused watching",
	protocol.GapServiceWorkerUnseen: "quiet capture misses the service worker",
	protocol.GapNotReplayed:         "events before Tidemark started are unknown",
}

// coverage says what was not observed in the window, nil when everything was.
func (c *computation) coverage() *Coverage {
	cov := Coverage{}
	var reasons []string
	say := func(words string) {
		if !slices.Contains(reasons, words) {
			reasons = append(reasons, words)
		}
	}
	for _, g := range c.gaps() {
		cov.Dropped += g.Dropped
		cov.add(c.span(g))
		words := reasonWords[g.Reason]
		if words == "" {
			words = strings.ReplaceAll(g.Reason, "_", " ")
		}
		say(words)
	}
	for _, words := range c.disconnected() {
		say(words)
	}
	if words := c.unwatched(); words != "" {
		cov.Unwatched = true
		say(words)
	}
	if c.overflow {
		say("older entries were evicted from the buffers")
	}
	if len(reasons) == 0 {
		return nil
	}
	cov.Note = strings.Join(reasons, "; ")
	if cov.Dropped > 0 {
		cov.Note += fmt.Sprintf(" (%d events lost)", cov.Dropped)
	}
	return &cov
}

// disconnected says which browsers are not connected. Beside another one, that matters only where the browser's tabs are in
// scope.
func (c *computation) disconnected() (words []string) {
	if c.o.Tab != 0 || c.o.Ended {
		return nil
	}
	if !slices.ContainsFunc(c.v.Browsers, func(b capture.Browser) bool { return b.Connected }) {
		if len(c.v.Browsers) > 0 {
			words = append(words, "a browser is not connected")
		}
		return words
	}
	for _, b := range c.v.Browsers {
		for _, t := range c.v.Tabs {
			if !b.Connected && t.Instance == b.Instance && t.Origin != "" && c.o.InScope(t.Subject()) {
				words = append(words, fmt.Sprintf("the browser of tab %d is not connected", t.ID))
				break
			}
		}
	}
	return words
}

// away says whether a tab's browser is not connected.
func (c *computation) away(tab int) bool {
	t := slices.IndexFunc(c.v.Tabs, func(t capture.Tab) bool { return t.ID == tab })
	return t >= 0 && slices.ContainsFunc(c.v.Browsers, func(b capture.Browser) bool { return b.Instance == c.v.Tabs[t].Instance && !b.Connected })
}

// gaps are those of the window and the scope; what was before the start is one of them.
func (c *computation) gaps() []capture.Gap {
	var gaps []capture.Gap
	if start := c.v.Start().At; c.from.At.Before(start) {
		gaps = append(gaps, capture.Gap{From: c.from.At, To: start, Reason: protocol.GapNotReplayed})
	}
	for _, g := range c.v.Gaps {
		if c.covers(g) {
			gaps = append(gaps, g)
		}
	}
	return gaps
}

// covers says whether a gap lies in the window and the scope: it was heard of in the window, or it
// had not ended before. A gap of a whole browser, or of a page that is not known, is everyone's.
func (c *computation) covers(g capture.Gap) bool {
	if g.Reason == protocol.GapNoBrowser {
		// Where there was no browser nothing happened: that matters only to a window in which there never was one.
		return c.o.Ended && !g.From.After(c.from.At) && (g.To.IsZero() || !g.To.Before(c.v.At))
	}
	if c.o.Ended && (c.over(g) || g.From.After(c.v.At)) {
		return false
	}
	if g.Pos < c.from.Pos[capture.Gaps] && c.over(g) {
		return false
	}
	if !c.reads(g.Source) {
		return false
	}
	if g.Kind == event.Tab && g.Place == "" {
		return g.Number == 0 || c.o.Tab == 0 || c.o.Tab == g.Number
	}
	return c.o.InScope(g.Subject)
}

// reads says whether the report has a section of what a source records. The host is a source of every section.
func (c *computation) reads(s capture.Source) bool {
	return s.Recorder == "" || slices.ContainsFunc(capture.Sections, func(section capture.Section) bool {
		return c.o.includes(section) && section.Recorder() == s.Recorder
	})
}

// over says whether a gap had ended when the window began.
func (c *computation) over(g capture.Gap) bool { return !g.To.IsZero() && !g.To.After(c.from.At) }

// span cuts a gap to the window.
func (c *computation) span(g capture.Gap) GapSpan {
	s := GapSpan{From: Time{g.From}, Reason: g.Reason, Tab: c.tab(g.Tab())}
	if g.From.Before(c.from.At) && !c.over(g) {
		s.From = Time{c.from.At}
	}
	if !g.To.IsZero() {
		s.To = &Time{g.To}
		if g.To.After(c.v.At) {
			s.To = &Time{c.v.At}
		}
	}
	return s
}

// joinGaps is how far apart gaps of several tabs may begin and end to be told as one.
const joinGaps = time.Second

// add lists a gap, together with those of other tabs that are the same.
func (c *Coverage) add(s GapSpan) {
	for i := range c.Gaps {
		if c.Gaps[i].join(s) {
			return
		}
	}
	if len(c.Gaps) < maxGapSpans {
		c.Gaps = append(c.Gaps, s)
	}
}

// join makes the gap that of another tab as well, where both are the same.
func (g *GapSpan) join(s GapSpan) bool {
	tabs := g.Tabs
	if g.Tab != 0 {
		tabs = []int{g.Tab}
	}
	near := func(a, b Time) bool { return a.Sub(b.Time).Abs() < joinGaps }
	if s.Tab == 0 || len(tabs) == 0 || slices.Contains(tabs, s.Tab) || g.Reason != s.Reason || !near(g.From, s.From) ||
		(g.To == nil) != (s.To == nil) || g.To != nil && !near(*g.To, *s.To) {
		return false
	}
	if s.From.Before(g.From.Time) {
		g.From = s.From
	}
	if g.To != nil && s.To.After(g.To.Time) {
		g.To = s.To
	}
	g.Tab, g.Tabs = 0, append(tabs, s.Tab)
	return true
}

// unwatched says why nothing is observed at the window's end, "" when something is.
func (c *computation) unwatched() string {
	if c.o.Ended {
		if c.wasWatched() {
			return ""
		}
		return "no tab is known to have been watched"
	}
	if len(c.v.Browsers) == 0 {
		return "no browser is connected"
	}
	for _, t := range c.v.Tabs {
		if t.Watched && c.o.InScope(t.Subject()) {
			return ""
		}
	}
	switch {
	case c.o.Tab != 0:
		return fmt.Sprintf("tab %d is not watched", c.o.Tab)
	case len(c.o.Origins) > 0:
		return "no watched tab shows " + strings.Join(c.o.Origins, " or ")
	}
	return "no tab is watched"
}

// wasWatched says whether anything in scope was watched in a window that has ended: a page is known at either
// end, something was heard, or a tab that is watched now had been heard of by then. A tab that ceases to be
// watched leaves a gap.
func (c *computation) wasWatched() bool {
	for _, p := range []*capture.DOMState{c.v.DOMState, c.from.DOMState} {
		for id, url := range p.URLs() {
			if c.o.InScope(event.InTab(id, capture.OriginOf(url))) {
				return true
			}
		}
	}
	return slices.ContainsFunc(capture.Sections, c.heard)
}

// heard reports whether a section has an entry of a watched tab.
func (c *computation) heard(s capture.Section) bool {
	for _, e := range c.v.Events(s, c.from.Pos[s.Track()]) {
		if h := e.Header(); h.Kind == event.Tab && c.o.InScope(h.Subject) {
			return true
		}
	}
	for _, e := range c.v.Events(s, c.v.FirstInRing(s)) {
		h := e.Header()
		if slices.ContainsFunc(c.v.Tabs, func(t capture.Tab) bool { return t.ID == h.Tab() && t.Watched && c.o.InScope(t.Subject()) }) {
			return true
		}
	}
	return false
}

// Unobserved adds why something was not observed.
func (r *Report) Unobserved(why string) {
	if r.Coverage == nil {
		r.Coverage = &Coverage{}
	}
	if r.Coverage.Note != "" {
		why = r.Coverage.Note + "; " + why
	}
	r.Coverage.Note = why
	found, _ := SplitSummary(r.Summary)
	r.Summary = found + notObserved + why
}

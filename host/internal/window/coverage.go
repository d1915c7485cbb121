package window

import (
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/protocol"
)

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

// Coverage says what was not observed in the window, nil when everything was. overflow says that entries of it were evicted.
func (w *Window) Coverage(overflow bool) *report.Coverage {
	cov := report.Coverage{}
	var reasons []string
	say := func(words string) {
		if !slices.Contains(reasons, words) {
			reasons = append(reasons, words)
		}
	}
	for _, g := range w.gaps() {
		cov.Dropped += g.Dropped
		cov.Add(w.span(g))
		words := reasonWords[g.Reason]
		if words == "" {
			words = strings.ReplaceAll(g.Reason, "_", " ")
		}
		say(words)
	}
	for _, words := range w.disconnected() {
		say(words)
	}
	if words := w.unwatched(); words != "" {
		cov.Unwatched = true
		say(words)
	}
	if overflow {
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
func (w *Window) disconnected() (words []string) {
	if w.Options.Tab != 0 || w.Options.Ended {
		return nil
	}
	if !slices.ContainsFunc(w.View.Browsers, func(b capture.Browser) bool { return b.Connected }) {
		if len(w.View.Browsers) > 0 {
			words = append(words, "a browser is not connected")
		}
		return words
	}
	for _, b := range w.View.Browsers {
		for _, t := range w.View.Tabs {
			if !b.Connected && t.Instance == b.Instance && t.Origin != "" && w.Options.InScope(t.Subject()) {
				words = append(words, fmt.Sprintf("the browser of tab %d is not connected", t.ID))
				break
			}
		}
	}
	return words
}

// Away says whether a tab's browser is not connected.
func (w *Window) Away(tab int) bool {
	t := slices.IndexFunc(w.View.Tabs, func(t capture.Tab) bool { return t.ID == tab })
	return t >= 0 && slices.ContainsFunc(w.View.Browsers, func(b capture.Browser) bool { return b.Instance == w.View.Tabs[t].Instance && !b.Connected })
}

// gaps are those of the window and the scope; what was before the start is one of them.
func (w *Window) gaps() []capture.Gap {
	var gaps []capture.Gap
	if start := w.View.Start().At; w.From.At.Before(start) {
		gaps = append(gaps, capture.Gap{From: w.From.At, To: start, Reason: protocol.GapNotReplayed})
	}
	for _, g := range w.View.Gaps {
		if w.covers(g) {
			gaps = append(gaps, g)
		}
	}
	return gaps
}

// covers says whether a gap lies in the window and the scope: it was heard of in the window, or it
// had not ended before. A gap of a whole browser, or of a page that is not known, is everyone's.
func (w *Window) covers(g capture.Gap) bool {
	if g.Reason == protocol.GapNoBrowser {
		// Where there was no browser nothing happened: that matters only to a window in which there never was one.
		return w.Options.Ended && !g.From.After(w.From.At) && (g.To.IsZero() || !g.To.Before(w.View.At))
	}
	if w.Options.Ended && (w.over(g) || g.From.After(w.View.At)) {
		return false
	}
	if g.Pos < w.From.Pos[capture.Gaps] && w.over(g) {
		return false
	}
	if !w.reads(g.Source) {
		return false
	}
	if g.Kind == event.Tab && g.Place == "" {
		return g.Number == 0 || w.Options.Tab == 0 || w.Options.Tab == g.Number
	}
	return w.Options.InScope(g.Subject)
}

// reads says whether the report has a section of what a source records. The host is a source of every section.
func (w *Window) reads(s capture.Source) bool {
	return s.Recorder == "" || slices.ContainsFunc(capture.Sections, func(section capture.Section) bool {
		return w.Options.Includes(section) && section.Recorder() == s.Recorder
	})
}

// over says whether a gap had ended when the window began.
func (w *Window) over(g capture.Gap) bool { return !g.To.IsZero() && !g.To.After(w.From.At) }

// span cuts a gap to the window.
func (w *Window) span(g capture.Gap) report.GapSpan {
	s := report.GapSpan{From: report.Time{Time: g.From}, Reason: g.Reason, Tab: w.Tab(g.Tab())}
	if g.From.Before(w.From.At) && !w.over(g) {
		s.From = report.Time{Time: w.From.At}
	}
	if !g.To.IsZero() {
		s.To = &report.Time{Time: g.To}
		if g.To.After(w.View.At) {
			s.To = &report.Time{Time: w.View.At}
		}
	}
	return s
}

// unwatched says why nothing is observed at the window's end, "" when something is.
func (w *Window) unwatched() string {
	if w.Options.Ended {
		if w.wasWatched() {
			return ""
		}
		return "no tab is known to have been watched"
	}
	if len(w.View.Browsers) == 0 {
		return "no browser is connected"
	}
	for _, t := range w.View.Tabs {
		if t.Watched && w.Options.InScope(t.Subject()) {
			return ""
		}
	}
	switch {
	case w.Options.Tab != 0:
		return fmt.Sprintf("tab %d is not watched", w.Options.Tab)
	case len(w.Options.Origins) > 0:
		return "no watched tab shows " + strings.Join(w.Options.Origins, " or ")
	}
	return "no tab is watched"
}

// wasWatched says whether anything in scope was watched in a window that has ended: a page is known at either
// end, something was heard, or a tab that is watched now had been heard of by then. A tab that ceases to be
// watched leaves a gap.
func (w *Window) wasWatched() bool {
	for _, p := range []*capture.DOMState{w.View.DOMState, w.From.DOMState} {
		for id, url := range p.URLs() {
			if w.Options.InScope(event.InTab(id, capture.OriginOf(url))) {
				return true
			}
		}
	}
	return slices.ContainsFunc(capture.Sections, w.heard)
}

// heard reports whether a section has an entry of a watched tab.
func (w *Window) heard(s capture.Section) bool {
	for _, e := range w.View.Events(s, w.From.Pos[s.Track()]) {
		if c, ok := e.(*capture.Change); ok && c.Op == "closed" {
			continue // nothing was seen of it since
		}
		if h := e.Header(); h.Kind == event.Tab && w.Options.InScope(h.Subject) {
			return true
		}
	}
	for _, e := range w.View.Events(s, w.View.FirstInRing(s)) {
		h := e.Header()
		if slices.ContainsFunc(w.View.Tabs, func(t capture.Tab) bool { return t.ID == h.Tab() && t.Watched && w.Options.InScope(t.Subject()) }) {
			return true
		}
	}
	return false
}

package diff

import (
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
)

// maxGapSpans bounds how many gaps are listed; all are counted in the note.
const maxGapSpans = 10

// reasonWords say a gap's reason to a reader.
var reasonWords = map[string]string{
	"late_attach":    "a tab was being loaded before capture began",
	"worker_restart": "the extension's worker was restarted",
	"detached":       "capture of a tab was ended",
	"dropped":        "events were dropped",
	"capture_failed": "a tab could not be captured",
	"disconnected":   "the browser's connection was interrupted",
	"malformed":      "events could not be read",
	"not_replayed":   "events before Tidemark's start are not known",
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
	for _, g := range c.v.Gaps {
		if !c.covers(g) {
			continue
		}
		cov.Dropped += g.Dropped
		if len(cov.Gaps) < maxGapSpans {
			cov.Gaps = append(cov.Gaps, c.span(g))
		}
		words := reasonWords[g.Reason]
		if words == "" {
			words = strings.ReplaceAll(g.Reason, "_", " ")
		}
		say(words)
	}
	for _, b := range c.v.Browsers {
		if !b.Connected && c.o.Tab == 0 {
			say("a browser is not connected at the moment")
		}
	}
	if words := c.unwatched(); words != "" {
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

// covers says whether a gap lies in the window and the scope. A gap of a whole browser is everyone's.
func (c *computation) covers(g capture.Gap) bool {
	if g.From.After(c.v.At) || !g.To.IsZero() && !g.To.After(c.from.At) {
		return false
	}
	if g.Tab == 0 {
		return true
	}
	return c.o.InScope(g.Origin, g.Tab)
}

// span cuts a gap to the window.
func (c *computation) span(g capture.Gap) GapSpan {
	s := GapSpan{From: Time{g.From}, Reason: g.Reason, Tab: c.tab(g.Tab)}
	if g.From.Before(c.from.At) {
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

// unwatched says why nothing is observed at this moment, "" when something is.
func (c *computation) unwatched() string {
	if len(c.v.Browsers) == 0 {
		return "no browser is connected"
	}
	for _, t := range c.v.Tabs {
		if t.Watched && c.o.InScope(t.Origin, t.ID) {
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

package report

import (
	"slices"
	"strings"
	"time"
)

// Coverage says what was not observed. A report of a window that was fully observed has none.
type Coverage struct {
	Gaps    []GapSpan `json:"gaps,omitempty"`
	Dropped int       `json:"dropped,omitempty"`
	Note    string    `json:"note"`
	// Unwatched says that nothing in scope is observed at the window's end: no browser, or no watched tab.
	Unwatched bool `json:"unwatched,omitempty"`
}

// GapSpan is a span that was not observed, cut to the window. To is nil when it goes on.
type GapSpan struct {
	From   Time   `json:"from"`
	To     *Time  `json:"to,omitempty"`
	Reason string `json:"reason"`
	Tab    int    `json:"tab,omitempty"`
	// Tabs are those of a gap that several tabs have alike; Tab is 0 then.
	Tabs []int `json:"tabs,omitempty"`
}

// maxGapSpans bounds how many gaps are listed; all are counted in the note.
const maxGapSpans = 10

// joinGaps is how far apart gaps of several tabs may begin and end to be told as one.
const joinGaps = time.Second

// Add lists a gap, together with those of other tabs that are the same.
func (c *Coverage) Add(s GapSpan) {
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

// notObserved parts a summary from what was not observed.
const notObserved = "; not fully observed: "

// SplitSummary parts a [Report.Summary] into what was found and why it was not observed in full, "" when it was.
func SplitSummary(summary string) (found, unseen string) {
	found, unseen, _ = strings.Cut(summary, notObserved)
	return found, unseen
}

// JoinSummary is the opposite of [SplitSummary].
func JoinSummary(found, unseen string) string {
	if unseen == "" {
		return found
	}
	return found + notObserved + unseen
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
	r.Summary = JoinSummary(found, why)
}

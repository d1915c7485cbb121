// Package diff compares two moments of what was captured and says what is new, in as few words as
// an agent needs.
//
// It guarantees: everything between the two moments is analysed, however much it is; what is shown
// is bounded ([report.MaxEntries] a section, the most severe first) and the rest is counted in omitted; a
// section covers exactly the positions from the baseline's to the view's; the same input gives the
// same report. It is pure: no clock, no files, no network.
package diff

import (
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/duplicates"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/storms"
	"tidemark.dev/tidemark/host/internal/window"
)

// Compute reports what is new in a view since a moment.
func Compute(from capture.Moment, v *capture.View, o window.Options) *report.Report {
	c := newComputation(window.New(from, v, o))
	r := &report.Report{From: report.Time{Time: from.At}, To: report.Time{Time: v.At}, DurationMs: max(0, v.At.Sub(from.At).Milliseconds())}
	var sections []report.Section
	for _, s := range inOrder {
		if o.Includes(s) {
			c.section = s
			r.BufferOverflow = r.BufferOverflow || v.Evicted(s, from.Pos[s.Track()], o.InScope)
			sections = append(sections, computers[s](c, r))
		}
	}
	c.mentions.complete(c)
	c.repeated.takeStale(c)
	c.repeated.takeStanding(c)
	c.repeated.takeUnanswered(c)
	c.repeated.list(c, r)
	omitted := c.listStorms(r)
	r.Severity, r.Errors, r.Warnings = c.severity, c.errors, c.warnings
	r.NoiseHidden, r.NoiseProblems = c.NoiseHidden, o.NoiseProblems
	r.Coverage = c.Coverage(r.BufferOverflow)
	r.DOMUnavailable = r.DOM != nil && c.domUnavailable()
	r.Summary = c.summary(r.Coverage)
	r.Finish(sections, o.Filter, o.Given != nil, omitted)
	return r
}

// computers compute the sections and put them into a report.
var computers = map[capture.Section]func(*computation, *report.Report) report.Section{
	capture.ConsoleSection:   func(c *computation, r *report.Report) report.Section { r.Console = c.console(); return r.Console },
	capture.NetworkSection:   func(c *computation, r *report.Report) report.Section { r.Network = c.network(); return r.Network },
	capture.WebSocketSection: func(c *computation, r *report.Report) report.Section { r.WebSocket = c.websocket(); return r.WebSocket },
	capture.DOMSection:       func(c *computation, r *report.Report) report.Section { r.DOM = c.dom(); return r.DOM },
	capture.ActionsSection:   func(c *computation, r *report.Report) report.Section { r.Actions = c.actions(); return r.Actions },
	capture.VariablesSection: func(c *computation, r *report.Report) report.Section {
		d := c.variables()
		if !d.Empty() || len(c.Options.Include) > 0 {
			r.Variables = d
		}
		return d
	},
	capture.FilesSection: func(c *computation, r *report.Report) report.Section {
		d := changedFiles(c)
		if !d.Empty() || len(c.Options.Include) > 0 {
			r.Files = d
		}
		return d
	},
}

// inOrder are all sections in the order in which they are computed: the console leaves out what requests and connections say,
// and the page what the console says.
var inOrder = slices.SortedStableFunc(slices.Values(capture.Sections), func(a, b capture.Section) int {
	late := func(s capture.Section) int {
		switch s {
		case capture.NetworkSection, capture.WebSocketSection:
			return 0
		case capture.ConsoleSection:
			return 1
		}
		return 2
	}
	return late(a) - late(b)
})

// computation is the state of one report, or of one list of consequences.
type computation struct {
	*window.Window
	storms     *storms.Finder
	duplicates *duplicates.Finder
	repeated   repeatList
	details    details
	mentions   mentions

	severity report.Severity
	section  capture.Section // the one under way
	parts    []part          // of the summary
	errors   int
	warnings int
	files    int // that changed
	stillBad int // endpoints with the same failures as before
	wasBad   int // endpoints that had them again, and recovered
}

func newComputation(w *window.Window) *computation {
	w.Options.Given = withoutReturned(w)
	return &computation{Window: w, storms: storms.In(w), duplicates: duplicates.In(w), severity: report.Clean}
}

// part is a part of a summary.
type part struct {
	section capture.Section
	text    string
}

func (c *computation) raise(s report.Severity) {
	if s.Compare(c.severity) > 0 {
		c.severity = s
	}
}

// count adds a part to the summary: "2 new console error(s)".
func (c *computation) count(n int, what string, s report.Severity) {
	if n == 0 {
		return
	}
	c.parts = append(c.parts, part{c.section, fmt.Sprintf("%d %s(s)", n, what)})
	if s == report.Error {
		c.errors += n
	} else {
		c.warnings += n
	}
	c.raise(s)
}

func (c *computation) summary(coverage *report.Coverage) string {
	slices.SortStableFunc(c.parts, func(a, b part) int { return int(a.section.Track()) - int(b.section.Track()) })
	var parts []string
	for _, p := range c.parts {
		parts = append(parts, p.text)
	}
	s := strings.Join(parts, ", ")
	known := strings.Join(slices.DeleteFunc([]string{
		report.CountRepeated(c.repeated.errors, c.repeated.warnings), report.CountStillFailing(c.stillBad), countFailedAgain(c.wasBad),
	}, func(s string) bool { return s == "" }), ", ")
	switch {
	case s == "" && known == "":
		s = "No significant changes"
		if c.files == 1 {
			s += "; 1 file changed"
		} else if c.files > 1 {
			s += fmt.Sprintf("; %d files changed", c.files)
		}
	case s == "":
		s = "no new problems; " + known
	case known != "":
		s += "; " + known
	}
	if coverage == nil {
		return s
	}
	return report.JoinSummary(s, coverage.Note)
}

// listStorms puts the storms into a report, and returns how many had no room.
func (c *computation) listStorms(r *report.Report) (omitted int) {
	list, known, omitted := c.storms.List()
	c.count(len(list)+omitted, "storm", report.Warning)
	for _, s := range list {
		c.mentions.completeStorm(c, &s, r)
		r.Storms = append(r.Storms, s.Storm)
	}
	r.Give(known...)
	return omitted
}

// Package broken lists what is broken at the end of a report, for agents' hooks (pure).
package broken

import (
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
)

// Problem is something that is broken.
type Problem struct {
	// Kind is overlay, crash, console, empty, network or storm.
	Kind string `json:"kind"`
	Text string `json:"text"`
	// Source is the problem's file and line. A request has its previous status too.
	Source string `json:"source,omitempty"`
	// Generated is true where Source is a line of generated code.
	Generated bool `json:"generated,omitempty"`
	Count     int  `json:"count,omitempty"`
	Tab       int  `json:"tab,omitempty"`
	// Earlier is true where the page had it before the edit that is reported on.
	Earlier bool `json:"earlier,omitempty"`
	// IntroducedBy is the change of a file after which it first appeared, nil where no evidence names one.
	IntroducedBy *report.Introduced `json:"introduced_by,omitempty"`
}

// Key identifies a problem even when an edit has moved its line.
func (p Problem) Key() string { return p.Kind + " " + alike.Fingerprint(p.Text) }

// KeyOf is that of an error of the console.
func KeyOf(e *event.Console) string {
	return Problem{Kind: "console", Text: report.Shorten(report.MessageText(e))}.Key()
}

// Empty is the kind of the problem that a page has no content left, which has this text.
const (
	Empty     = "empty"
	emptyText = "the page is empty"
)

// IsEmpty reports whether a page is empty.
func IsEmpty(list []Problem) bool {
	return slices.ContainsFunc(list, func(p Problem) bool { return p.Kind == Empty })
}

// In returns what is broken at the end of a report's window, best cause first. Removed overlays and requests
// that succeed again are left out.
func In(r *report.Report) []Problem {
	var list []Problem
	if d := r.DOM; d != nil {
		for _, e := range d.NewErrorElements {
			if e.GoneAt == nil && alike.IsOverlay(e.Selector) {
				list = append(list, Problem{Kind: "overlay", Text: e.Text, Source: event.Named(e.Source()), Generated: e.Generated, Tab: e.Tab, IntroducedBy: e.IntroducedBy})
			}
		}
		for _, c := range d.Crashed {
			list = append(list, Problem{Kind: "crash", Text: c.URL, Tab: c.Tab})
		}
	}
	if d := r.Console; d != nil {
		for _, m := range d.NewErrors {
			list = append(list, Problem{Kind: "console", Text: m.Message, Source: event.Named(m.Source), Generated: m.Generated, Count: m.Count, Tab: m.Tab, IntroducedBy: m.IntroducedBy})
		}
	}
	if d := r.DOM; d != nil && d.PageEmptySince != nil {
		list = append(list, Problem{Kind: Empty, Text: emptyText, Tab: d.PageEmptyTab})
	}
	if d := r.Network; d != nil {
		for _, f := range d.Failures {
			if f.NowStatus == 0 {
				p := Problem{Kind: "network", Text: fmt.Sprintf("%s %s returns %d", event.Method(f.Method), f.URL, f.Status), Count: f.Count, Tab: f.Tab, IntroducedBy: f.IntroducedBy}
				if f.Status < 400 { // no response, or one that broke off
					p.Text = fmt.Sprintf("%s %s fails: %s", event.Method(f.Method), f.URL, f.Error)
				}
				var source []string
				if f.Initiator != "" {
					source = append(source, report.Marked(f.Initiator, f.Generated))
				}
				if f.CalledAt != "" {
					source = append(source, "called at "+f.CalledAt)
				}
				if f.PreviousStatus != 0 {
					source = append(source, fmt.Sprintf("was %d", f.PreviousStatus))
				}
				p.Source = strings.Join(source, ", ")
				list = append(list, p)
			}
		}
	}
	for _, s := range r.Storms {
		source, generated := event.Named(s.Initiator), s.Generated
		if s.CalledAt != "" {
			source, generated = report.Marked(s.Initiator, generated)+", called at "+s.CalledAt, false
		}
		list = append(list, Problem{Kind: "storm", Text: s.What + " repeats without end", Source: source, Generated: generated, Count: s.Count, Tab: s.Tab})
	}
	return list
}

package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// An entry that the reader was already given is counted, not listed. It is known again by what is said of it: the
// fingerprint of a message and the code that logged it, the endpoint of a request and how it failed, the element. An
// entry that differs in any of these is listed.

// maxRepeated bounds how many repeated messages are listed, maxRepeatedText their length in characters.
const (
	maxRepeated     = 5
	maxRepeatedText = 100
)

// Repeated is an entry that the reader was already given, and how often it occurred in the window.
type Repeated struct {
	Message string `json:"message"`
	Count   int    `json:"count"`
	// Initiator is file:line of the code that made a failed request.
	Initiator string `json:"initiator,omitempty"`
	// Generated is true where Initiator is a line of generated code.
	Generated bool `json:"generated,omitempty"`
}

// repeat is one before it is shown.
type repeat struct {
	Repeated
	severity Severity
	entries  []alike.Entry
	request  *event.Network // the first one, of a failed request
	longer   string         // the message with the query of the request
	message  *event.Console // the first one, of a message; mixed says that several lines of code logged it
	mixed    bool
	storm    bool // the storms have it
}

// repeatKey is what makes two of them one.
type repeatKey struct {
	section Section
	text    string
	as      uint64 // of requests, instead of a text
	tab     int
}

// given reports whether the reader was already given an entry.
func (o *Options) given(e alike.Entry) bool { return o.Given != nil && o.Given.Has(e.As) }

// repeatList are the entries of a report that the reader was already given.
type repeatList struct {
	found            map[repeatKey]*repeat
	order            []*repeat
	errors, warnings int
}

// take counts an entry of a section that the reader was already given. It returns nil for any other.
func (l *repeatList) take(o *Options, e alike.Entry, severity Severity, section Section, tab int, same, text string) *repeat {
	if !o.given(e) {
		return nil
	}
	r := l.of(repeatKey{section: section, text: same, tab: tab}, severity, text)
	r.Count++
	r.entries = addEntry(r.entries, e)
	return r
}

// of returns the repeated entry of a key.
func (l *repeatList) of(k repeatKey, severity Severity, text string) *repeat {
	r := l.found[k]
	if r == nil {
		r = &repeat{Repeated: Repeated{Message: cutTo(event.OneLine(text), maxRepeatedText)}, severity: severity}
		if l.found == nil {
			l.found = map[repeatKey]*repeat{}
		}
		l.found[k] = r
		l.order = append(l.order, r)
	}
	return r
}

// takeStale adds the failed hot updates before the window whose pages have not been loaded again: such a page is wrong
// though nothing new happens. It reads what is in memory.
func (l *repeatList) takeStale(c *computation) {
	if c.o.Given == nil || c.o.Noise == nil || !c.o.includes(capture.ConsoleSection) {
		return
	}
	until := c.from.Pos[capture.Console]
	first, shown := until, map[int]bool{}
	for _, t := range c.v.Tabs {
		if t.Watched && c.o.InScope(t.Subject()) {
			first, shown[t.ID] = min(first, t.Loaded.Pos[capture.Console]), true
		}
	}
	for _, e := range c.v.Console().Until(until).Flagged(first) {
		if !shown[e.Tab()] {
			continue
		}
		level, _, stale := c.o.Noise.Stale(e)
		if !stale || c.builtIn(e) != nil {
			continue
		}
		entry, same := alike.Message(e, level)
		severity := Warning
		if level == event.Error {
			severity = Error
		}
		if r := l.of(repeatKey{section: capture.ConsoleSection, text: level.String() + same, tab: c.tab(e.Tab())}, severity, e.Text); r.Count == 0 {
			r.Count, r.entries = 1, addEntry(r.entries, entry)
		}
	}
}

// maxKeys bounds how many different entries one entry of a report stands for. Others are listed when they occur again.
const maxKeys = 64

func addEntry(list []alike.Entry, e alike.Entry) []alike.Entry {
	if len(list) >= maxKeys || slices.Contains(list, e) {
		return list
	}
	return append(list, e)
}

// list puts the repeated entries into a report, and counts them in its severity.
func (l *repeatList) list(c *computation, r *Report) {
	slices.SortStableFunc(l.order, func(a, b *repeat) int {
		return cmp.Or(cmp.Compare(rankOf(b.severity), rankOf(a.severity)), cmp.Compare(b.Count, a.Count))
	})
	var shown []*repeat
	for _, e := range l.order {
		if e.storm && e.severity != Error {
			r.shown = append(r.shown, e.entries...)
			continue
		}
		if e.severity == Error {
			l.errors++
		} else {
			l.warnings++
		}
		c.raise(e.severity)
		r.shown = append(r.shown, e.entries...)
		if c.o.Filter == ErrorsOnly && e.severity != Error {
			r.SeverityHidden++
			continue
		}
		shown = append(shown, e)
	}
	c.errors += l.errors
	c.warnings += l.warnings
	l.complete(c, shown[:min(len(shown), maxRepeated)])
	list := make([]Repeated, len(shown))
	for i, e := range shown {
		list[i] = e.Repeated
	}
	r.Repeated = SumRepeated(list)
}

// complete gives failed requests the code that made them, and their query where it distinguishes two of them.
func (l *repeatList) complete(c *computation, shown []*repeat) {
	var requests []event.Event
	same := map[string]int{}
	for _, e := range shown {
		if e.request != nil {
			requests = append(requests, e.request)
			same[e.Message]++
		}
	}
	places := locate(&c.o, requests)
	for _, e := range shown {
		if e.request == nil {
			continue
		}
		e.Initiator, e.Generated = places.source(e.request), places.of[e.request].Generated
		if e.longer != "" && same[e.Message] > 1 {
			e.Message = cutTo(event.OneLine(e.longer), maxRepeatedText)
		}
	}
}

// forget has the reader not know again what is about something that is over.
func (l *repeatList) forget(of uint64) {
	for _, r := range l.order {
		r.entries = slices.DeleteFunc(r.entries, func(e alike.Entry) bool { return e.Of == of })
	}
}

// SumRepeated cuts a list of repeated entries to those that are shown, and sums up the others.
func SumRepeated(list []Repeated) []Repeated {
	if len(list) <= maxRepeated {
		return list
	}
	rest := Repeated{Message: fmt.Sprintf("%d more", len(list)-maxRepeated)}
	for _, r := range list[maxRepeated:] {
		rest.Count += r.Count
	}
	return append(slices.Clone(list[:maxRepeated]), rest)
}

// CountRepeated says how many errors and warnings are repeated: "4 repeated errors"; "" for none.
func CountRepeated(errors, warnings int) string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{errors, "error"}, {warnings, "warning"}} {
		switch {
		case p.n == 1:
			parts = append(parts, "1 repeated "+p.what)
		case p.n > 1:
			parts = append(parts, fmt.Sprintf("%d repeated %ss", p.n, p.what))
		}
	}
	return strings.Join(parts, ", ")
}

// CountStillFailing says how many endpoints have the same failures as before: "2 endpoints still fail"; "" for none.
func CountStillFailing(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 endpoint still fails"
	}
	return fmt.Sprintf("%d endpoints still fail", n)
}

// countFailedAgain says how many endpoints had the same failures as before, and recovered; "" for none.
func countFailedAgain(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 endpoint failed again and recovered"
	}
	return fmt.Sprintf("%d endpoints failed again and recovered", n)
}

// NewLocated returns an error with its place.
func NewLocated(e *event.Console, p Place) Located {
	return Located{Message: cutTo(event.OneLine(textOf(e)), maxRepeatedText), Source: PlaceName(p)}
}

// Locate adds the places of errors of earlier answers to a report.
func (r *Report) Locate(found []Located) {
	if r.Located = found; len(found) > 0 {
		r.PageText = Untrusted
	}
}

// Given returns the entries that the report shows, by which a reader's next report knows them again, and what it
// reports as over. What had no room or was hidden by the filter is not among them.
func (r *Report) Given() (shown []alike.Entry, over []uint64) { return r.shown, r.over }

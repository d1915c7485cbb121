package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/storms"
	"tidemark.dev/tidemark/host/internal/window"
)

// An entry that the reader was already given is counted, not listed. It is known again by what is said of it: the
// fingerprint of a message and the code that logged it, the endpoint of a request and how it failed, the element. An
// entry that differs in any of these is listed.

// repeat is one before it is shown.
type repeat struct {
	report.Repeated
	severity report.Severity
	entries  []alike.Entry
	request  *event.Network // the first one, of a failed request
	longer   string         // the message with the query of the request
	message  *event.Console // the first one, of a message
	others   []event.Event  // the first one of each other line of code that logged the message, at most maxPlaces
	storm    bool           // the storms have it
}

// maxPlaces bounds how many other places of a message are named.
const maxPlaces = 2

// logged takes a message that the entry counts.
func (r *repeat) logged(e *event.Console) {
	if r.message == nil {
		r.message = e
	}
	line := storms.LineOf(e)
	if line != storms.LineOf(r.message) && len(r.others) < maxPlaces && !slices.ContainsFunc(r.others, func(o event.Event) bool {
		return storms.LineOf(o.(*event.Console)) == line
	}) {
		r.others = append(r.others, e)
	}
}

// from are the events that have the code which the entry came from; none where the message names it.
func (r *repeat) from() []event.Event {
	switch {
	case r.request != nil:
		return []event.Event{r.request}
	case r.message != nil && report.FailedLoad(r.message) == "":
		return append([]event.Event{r.message}, r.others...)
	}
	return nil
}

// repeatKey is what makes two of them one.
type repeatKey struct {
	section capture.Section
	text    string
	as      uint64 // of requests, instead of a text
	tab     int
}

// repeatList are the entries of a report that the reader was already given.
type repeatList struct {
	found            map[repeatKey]*repeat
	order            []*repeat
	errors, warnings int
}

// take counts an entry of a section that the reader was already given. It returns nil for any other.
func (l *repeatList) take(o *window.Options, e alike.Entry, severity report.Severity, section capture.Section, tab int, same, text string) *repeat {
	if !o.WasGiven(e) {
		return nil
	}
	r := l.of(repeatKey{section: section, text: same, tab: tab}, severity, text)
	r.Count++
	r.entries = addEntry(r.entries, e)
	return r
}

// element is take of an error element that is visible since a time; it reports whether the reader was already given it.
func (l *repeatList) element(c *computation, k capture.ElementKey, since int64, severity report.Severity, e alike.Entry) bool {
	if !c.Options.WasGiven(e) {
		return false
	}
	r := l.ofElement(c, k, since, severity)
	r.Count++
	r.entries = addEntry(r.entries, e)
	return true
}

// completed takes an overlay that only gives one its place which the reader was given, or which was there before the window.
func (l *repeatList) completed(c *computation, k capture.ElementKey, since int64, e alike.Entry) bool {
	was, completes := c.duplicates.Completes(k, since)
	if !completes || c.Options.Given != nil && !c.Options.WasGiven(alike.Element(was, 0)) {
		return false
	}
	if c.Options.Stands() {
		r := l.ofElement(c, k, since, report.Error)
		r.Count++
		r.entries = addEntry(r.entries, e)
	}
	return true
}

// ofElement is of for an error element that is visible since a time (0 if that is not known).
func (l *repeatList) ofElement(c *computation, k capture.ElementKey, since int64, severity report.Severity) *repeat {
	text, at := c.overlayText(k, since)
	r := l.of(repeatKey{section: capture.DOMSection, text: k.Selector + " " + k.Text, tab: c.Tab(k.Tab)}, severity, "error element "+text)
	r.Initiator, r.Generated = report.PlaceName(report.Place{File: at.File, Line: at.Line}), at.Generated
	return r
}

// of returns the repeated entry of a key.
func (l *repeatList) of(k repeatKey, severity report.Severity, text string) *repeat {
	r := l.found[k]
	if r == nil {
		r = &repeat{Repeated: report.Repeated{Message: report.RepeatedText(text)}, severity: severity}
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
	if c.Options.Given == nil || c.Options.Noise == nil || !c.Options.Includes(capture.ConsoleSection) {
		return
	}
	until := c.From.Pos[capture.Console]
	first, shown := until, map[int]bool{}
	for _, t := range c.View.Tabs {
		if t.Watched && c.Options.InScope(t.Subject()) {
			first, shown[t.ID] = min(first, t.Loaded.Pos[capture.Console]), true
		}
	}
	for _, e := range c.View.Console().Until(until).Flagged(first) {
		if !shown[e.Tab()] {
			continue
		}
		level, _, stale := c.Options.Noise.Stale(e)
		if !stale || c.BuiltIn(e) != nil {
			continue
		}
		entry, same := alike.Message(e, level)
		severity := report.Warning
		if level == event.Error {
			severity = report.Error
		}
		if r := l.of(repeatKey{section: capture.ConsoleSection, text: level.String() + same, tab: c.Tab(e.Tab())}, severity, e.Text); r.Count == 0 {
			r.Count, r.entries = 1, addEntry(r.entries, entry)
		}
	}
}

// takeUnanswered adds the failed requests from before the window in whose place a tab still shows the browser's own error page.
func (l *repeatList) takeUnanswered(c *computation) {
	if !c.Options.Stands() || !c.Options.Includes(capture.NetworkSection) {
		return
	}
	for _, t := range c.View.Tabs {
		if !t.Watched || t.DOM || c.Away(t.ID) || !c.Options.InScope(t.Subject()) {
			continue
		}
		e := c.documentOf(&t)
		if e == nil || e.Status > 0 || e.Error == "" || c.KeepsOut(e) {
			continue
		}
		entry := alike.Failure(e)
		origin, path := capture.SplitURL(e.URL)
		r := l.of(repeatKey{section: capture.NetworkSection, as: entry.As, tab: c.Tab(t.ID)}, report.Error, failureLine(e, report.Address(e.Origin(), origin, path), e.Detail))
		if r.Count == 0 {
			r.Count, r.request, r.entries = 1, e, addEntry(r.entries, entry)
		}
	}
}

// documentOf returns the last request for the document of a tab's address, nil if it ended in the window or is not in memory.
func (c *computation) documentOf(t *capture.Tab) (last *event.Network) {
	address, _, _ := strings.Cut(t.URL, "#")
	for pos, e := range c.View.Network().InRing().From(t.Loaded.Pos[capture.Network]) {
		if e.Tab() == t.ID && e.Resource == "document" && e.Target == "" && !e.Canceled && e.URL == address {
			if last = e; pos >= c.From.Pos[capture.Network] {
				return nil
			}
		}
	}
	return last
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
func (l *repeatList) list(c *computation, r *report.Report) {
	l.foldLogs()
	slices.SortStableFunc(l.order, func(a, b *repeat) int {
		return cmp.Or(b.severity.Compare(a.severity), cmp.Compare(b.Count, a.Count))
	})
	var shown []*repeat
	for _, e := range l.order {
		if e.storm && e.severity != report.Error {
			r.Give(e.entries...)
			continue
		}
		if e.severity == report.Error {
			l.errors++
		} else {
			l.warnings++
		}
		c.raise(e.severity)
		r.Give(e.entries...)
		if c.Options.Filter == report.ErrorsOnly && e.severity != report.Error {
			r.SeverityHidden++
			continue
		}
		shown = append(shown, e)
	}
	c.errors += l.errors
	c.warnings += l.warnings
	l.complete(c, shown[:min(len(shown), report.MaxRepeated)])
	list := make([]report.Repeated, len(shown))
	for i, e := range shown {
		list[i] = e.Repeated
	}
	r.Repeated = report.SumRepeated(list)
}

// foldLogs has errors that only log the message of another one be part of that.
func (l *repeatList) foldLogs() {
	type said struct {
		tab  int
		text string
	}
	of := func(r *repeat) said { return said{r.message.Tab(), alike.Said(r.message.Text)} }
	thrown := map[said]*repeat{}
	for _, r := range l.order {
		if r.message != nil && r.message.IsUncaught() {
			thrown[of(r)] = r
		}
	}
	if len(thrown) == 0 {
		return
	}
	l.order = slices.DeleteFunc(l.order, func(r *repeat) bool {
		if r.message == nil || r.message.Via != "console" || r.severity != report.Error {
			return false
		}
		first := thrown[of(r)]
		if first == nil {
			return false
		}
		for _, e := range r.entries {
			first.entries = addEntry(first.entries, e)
		}
		return true
	})
}

// complete gives entries the code that they came from, and failed requests their query where it distinguishes two of them.
func (l *repeatList) complete(c *computation, shown []*repeat) {
	var events []event.Event
	same := map[string]int{}
	for _, e := range shown {
		events = append(events, e.from()...)
		if e.request != nil {
			same[e.Message]++
		}
	}
	places := c.Options.Locate(events)
	for _, e := range shown {
		var named []string
		for _, from := range e.from() {
			if source, generated := places.Source(from); source != "" && !slices.Contains(named, source) {
				named = append(named, source)
				e.Generated = e.Generated || generated
			}
		}
		if len(named) > 0 {
			e.Initiator = strings.Join(named, ", ")
		}
		if e.longer != "" && same[e.Message] > 1 {
			e.Message = report.RepeatedText(e.longer)
		}
	}
}

// forget has the reader not know again what is about something that is over.
func (l *repeatList) forget(of uint64) {
	for _, r := range l.order {
		r.entries = slices.DeleteFunc(r.entries, func(e alike.Entry) bool { return e.Of == of })
	}
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

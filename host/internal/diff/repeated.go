package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
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

// repeat is an entry that the reader was already given.
type repeat struct {
	Repeated
	severity Severity
	entries  []checkpoint.Entry
}

// repeatKey is what makes two of them one.
type repeatKey struct {
	section Section
	text    string
	tab     int
}

// given reports whether the reader was already given an entry.
func (o *Options) given(e checkpoint.Entry) bool { return o.Given != nil && o.Given.Has(e.As) }

// repeats counts an entry of the section under way that the reader was already given. It returns false for any other.
func (c *computation) repeats(e checkpoint.Entry, severity Severity, tab int, same, text string) bool {
	if !c.o.given(e) {
		return false
	}
	k := repeatKey{c.section, same, tab}
	r := c.repeated[k]
	if r == nil {
		r = &repeat{Repeated: Repeated{Message: cutTo(event.OneLine(text), maxRepeatedText)}, severity: severity}
		if c.repeated == nil {
			c.repeated = map[repeatKey]*repeat{}
		}
		c.repeated[k] = r
		c.repeatOrder = append(c.repeatOrder, r)
	}
	r.Count++
	r.entries = addEntry(r.entries, e)
	return true
}

// maxKeys bounds how many different entries one entry of a report stands for. Others are listed when they occur again.
const maxKeys = 64

func addEntry(list []checkpoint.Entry, e checkpoint.Entry) []checkpoint.Entry {
	if len(list) >= maxKeys || slices.Contains(list, e) {
		return list
	}
	return append(list, e)
}

// listRepeated puts the repeated entries into a report, and counts them in its severity.
func (c *computation) listRepeated(r *Report) {
	slices.SortStableFunc(c.repeatOrder, func(a, b *repeat) int {
		return cmp.Or(cmp.Compare(rankOf(b.severity), rankOf(a.severity)), cmp.Compare(b.Count, a.Count))
	})
	var shown []Repeated
	for _, e := range c.repeatOrder {
		if e.severity == Error {
			c.repeatedErrors++
		} else {
			c.repeatedWarnings++
		}
		c.raise(e.severity)
		r.shown = append(r.shown, e.entries...)
		if c.o.Filter == ErrorsOnly && e.severity != Error {
			r.SeverityHidden++
			continue
		}
		shown = append(shown, e.Repeated)
	}
	c.errors += c.repeatedErrors
	c.warnings += c.repeatedWarnings
	r.Repeated = SumRepeated(shown)
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

// Given returns the entries that the report shows, by which a reader's next report knows them again, and what it
// reports as over. What had no room or was hidden by the filter is not among them.
func (r *Report) Given() (shown []checkpoint.Entry, over []uint64) { return r.shown, r.over }

// identity begins the identity of an entry.
type identity uint64

// identify returns the identity of what some texts say, whatever the program (FNV-1a).
func identify(parts ...string) identity { return identity(14695981039346656037).with(parts...) }

func (h identity) with(parts ...string) identity {
	for _, p := range parts {
		for i := range len(p) {
			h = (h ^ identity(p[i])) * 1099511628211
		}
		h = (h ^ 0xff) * 1099511628211 // no text contains it: "a", "bc" are not "ab", "c"
	}
	return h
}

// consoleEntry identifies a message: what it says, and the code that logged it. The line of named code does not count,
// because an edit above moves it.
func consoleEntry(e *event.Console, level event.Level) checkpoint.Entry {
	function := ""
	if len(e.Stack) > 0 {
		function, _, _ = strings.Cut(e.Stack[0], " (")
	}
	line := ""
	if function == "" || function == "(anonymous)" {
		line = strconv.Itoa(e.Line)
	}
	file, _, _ := strings.Cut(e.URL, "?")
	h := identify("console", level.String(), e.Origin(), Fingerprint(withoutStamps(e.Text)), file, function, line, strconv.Itoa(e.Column))
	return checkpoint.Entry{Of: uint64(h), As: uint64(h)}
}

// endpointIdentity identifies an endpoint.
func endpointIdentity(k capture.EndpointKey) identity {
	return identify("endpoint", k.Page, k.Origin, k.Method, k.Path, k.Operation)
}

// failureEntry identifies a failed request: its endpoint, and how it failed.
func failureEntry(e *event.Network) checkpoint.Entry {
	of := endpointIdentity(capture.KeyOf(e))
	return checkpoint.Entry{Of: uint64(of), As: uint64(of.with(strconv.Itoa(e.Status), e.Error, Fingerprint(e.Detail)))}
}

// socketEntry identifies what happened to a connection.
func socketEntry(e *event.WebSocket) checkpoint.Entry {
	origin, path := capture.SplitURL(e.URL)
	of := identify("socket", e.Origin(), origin, capture.TemplatePath(path))
	return checkpoint.Entry{Of: uint64(of), As: uint64(of.with(e.Op, Fingerprint(e.Text), strconv.Itoa(e.Code), e.Reason, strconv.Itoa(e.Status)))}
}

// elementEntry identifies an error element beside which others like it were visible before.
func elementEntry(k capture.ElementKey, others int) checkpoint.Entry {
	of := identify("element", k.Origin, k.Selector, Fingerprint(k.Text))
	return checkpoint.Entry{Of: uint64(of), As: uint64(of.with(strconv.Itoa(others)))}
}

// requestEntry identifies one request.
func requestEntry(e *event.Network) checkpoint.Entry {
	h := identify("request", strconv.Itoa(e.Tab()), e.ID, strconv.FormatInt(e.Started, 10))
	return checkpoint.Entry{Of: uint64(h), As: uint64(h)}
}

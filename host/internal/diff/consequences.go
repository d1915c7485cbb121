package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/flash"
)

// Consequence is something that happened on a page while it was acted on, in one line.
type Consequence struct {
	// At is when it began, in milliseconds since the Unix epoch: of a request, when that was made.
	At       int64    `json:"-"`
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`
	// Request is set for requests that did not fail; Count is how often the same happened.
	Request bool `json:"-"`
	Count   int  `json:"count"`
	// Given is true for what the reader was already given, Flash for a message that the page took back itself, Storm for a
	// repetition without end.
	Given bool `json:"-"`
	Flash bool `json:"-"`
	Storm bool `json:"-"`
	// Entries are what the reader will know it by.
	Entries []alike.Entry `json:"-"`
	// IntroducedBy is the change of a file after which it first appeared, nil where no evidence names one.
	IntroducedBy *Introduced `json:"introduced_by,omitempty"`

	same  string // what equal ones have in common, but for what the fields above say
	from  string // of a request that did not fail: the code that made it, as the text of a failed one has it
	path  string // of a request, as its text has it
	query string
	event event.Event // the first one, where something may have introduced it
}

// consequences collects what happened. Equal ones are one, where they came on the same side of since.
type consequences struct {
	list  []Consequence
	since int64
}

func (l *consequences) add(c Consequence, entry alike.Entry) {
	i := slices.IndexFunc(l.list, func(e Consequence) bool {
		return e.same == c.same && e.Severity == c.Severity && e.Given == c.Given && e.Flash == c.Flash && (e.At >= l.since) == (c.At >= l.since)
	})
	if i < 0 {
		i = len(l.list)
		l.list = append(l.list, c)
	}
	l.list[i].Count++
	if entry.As != 0 {
		l.list[i].Entries = addEntry(l.list[i].Entries, entry)
	}
}

// Consequences are what happened since a moment: what broke, whether the same was broken before or not, and
// the requests that a page's scripts made. Noise rules hide what they hide elsewhere. Equal ones are one,
// where they came on the same side of since (milliseconds since the Unix epoch).
func Consequences(from capture.Moment, v *capture.View, since int64, o Options) []Consequence {
	c := computation{from: from, v: v, o: o}
	c.duplicates.findOverlays(&c)
	all := consequences{since: since}
	add := func(is Consequence, entry alike.Entry) {
		if is.same == "" {
			is.same = is.Text
		}
		is.Given = o.given(entry)
		all.add(is, entry)
	}
	storms, stormy := stormsSince(from, v, o)
	for _, s := range storms {
		at := cmp.Or(s.over, v.At.UnixMilli())
		add(Consequence{At: at, Severity: Warning, Text: "repeated without end: " + s.Line(), Storm: true}, alike.Entry{})
	}
	var told []event.Event
	Entries(from, v, o, func(e Entry) {
		if e.Hidden() {
			return
		}
		told = append(told, e.Event)
		if n, ok := e.Event.(*event.Network); ok && n.Failed() {
			c.duplicates.lists(n)
		}
	})
	names, places := sourceNames{}, map[*event.Console][2]Place{}
	told = slices.DeleteFunc(told, func(e event.Event) bool {
		if n, ok := e.(*event.Network); ok && isStatic(n) && c.duplicates.showsModule(n) {
			return true
		}
		m, ok := e.(*event.Console)
		if !ok || c.duplicates.has(&c, m) {
			return ok
		}
		p := c.place(m, nil)
		places[m] = [2]Place{p, loggedAt(&o, m, p)}
		names.add(p.File)
		if logged := places[m][1].File; logged != "" {
			names.add(logged)
		}
		return false
	})
	for _, e := range told {
		switch ev := e.(type) {
		case *event.Console:
			text := Shorten(event.OneLine(textOf(ev)))
			if source := names.source(places[ev][0]); source != "" {
				source = Marked(source, places[ev][0].Generated)
				if logged := names.source(places[ev][1]); logged != "" {
					source += ", logged at " + logged
				}
				text += " (" + source + ")"
			}
			severity, word, level := Warning, "warning", levelOf(ev, o.Noise)
			if level == event.Error {
				severity, word = Error, "error"
			}
			entry, same := alike.Console(ev, level), alike.Text(ev)+loadOf(ev)
			if storm := stormEntry(ev); !o.given(entry) && (o.given(storm) || stormy[sameMessageAs(ev)]) {
				entry, same = storm, withoutNumbers(ev.Text)
			}
			add(Consequence{At: ev.At, Severity: severity, Text: word + ": " + text, same: word + same, event: ev}, entry)
		case *event.Network:
			is := request(ev, &o)
			if is.Request && slices.ContainsFunc(storms, func(s Storm) bool { return s.isOf(ev) }) {
				continue
			}
			is.path = requestName(ev)
			is.query = queryOf(ev.URL)
			is.same = is.Text + withoutBusters(is.query)
			if is.Request {
				add(is, alike.Request(ev))
			} else {
				is.event = ev
				add(is, alike.Failure(ev))
			}
		case *event.WebSocket:
			if ev.Bad || ev.Op == "close" {
				add(Consequence{At: ev.At, Severity: Warning, Text: socketText(ev, &o), event: ev}, alike.Socket(ev))
			}
		}
	}
	addElements(&c, add)
	list := all.withQueries()
	for i, found := 0, 0; o.Introduced != nil && i < len(list) && found < maxIntroduced; i++ {
		if c := &list[i]; c.event != nil && !c.Given {
			c.IntroducedBy = o.Introduced(c.event)
			found++
		}
	}
	return list
}

// addElements adds error elements that were not visible before, and what became of the page as a whole.
func addElements(c *computation, add func(Consequence, alike.Entry)) {
	s := c.elements(func(_ uint64, e *capture.Change) {
		switch {
		case e.Op == "crashed":
			add(Consequence{At: e.At, Severity: Error, Text: "the page crashed"}, alike.Entry{})
		case e.Op == "emptied" && c.v.DOMState.Empty()[e.Tab()] == e.At:
			add(Consequence{At: e.At, Severity: Error, Text: "the page is empty"}, alike.Entry{})
		}
	})
	finder := flash.Finder{View: c.v}
	for _, k := range s.order {
		// A page that is drawn anew shows what it showed before: that is no news.
		w := s.found[k]
		if w.Before > 0 || c.duplicates.tellsOverlay(k) {
			continue
		}
		for _, l := range w.Shown(func(l flash.Life) bool { return finder.Is(k.Tab, l, s.left[k.Tab]) }) {
			is := Consequence{At: l.From, Severity: Warning, Text: fmt.Sprintf("error element %s: %q", k.Selector, Shorten(event.OneLine(k.Text))), event: appeared(k, l)}
			switch {
			case l.Flash:
				is = Consequence{At: l.From, Severity: Clean, Text: fmt.Sprintf("%q", Shorten(event.OneLine(k.Text))), Flash: true}
				add(is, alike.Entry{})
				continue
			case alike.IsOverlay(k.Selector):
				is.Severity = Error
			}
			add(is, alike.Element(k, w.Before))
		}
	}
}

// maxQuery bounds the query of a request in a line, in characters.
const maxQuery = 60

// queryOf returns the query of an address, with its question mark.
func queryOf(url string) string {
	url, _, _ = strings.Cut(url, "#")
	if i := strings.IndexByte(url, '?'); i >= 0 && i < len(url)-1 {
		return cutTo(event.OneLine(url[i:]), maxQuery)
	}
	return ""
}

// withoutBusters returns a query without what only keeps answers from being cached.
func withoutBusters(query string) string {
	parts := strings.Split(strings.TrimPrefix(query, "?"), "&")
	return strings.Join(slices.DeleteFunc(parts, alike.IsBuster), "&")
}

// withQueries gives requests their query where it is all that tells two of them apart.
func (l *consequences) withQueries() []Consequence {
	list := slices.Clone(l.list)
	for i, c := range l.list {
		if c.path != "" && c.query != "" && slices.ContainsFunc(l.list, func(e Consequence) bool { return e.Text == c.Text && e.same != c.same }) {
			list[i].Text = strings.Replace(c.Text, c.path, c.path+c.query, 1)
		}
	}
	slices.SortStableFunc(list, func(a, b Consequence) int { return cmp.Compare(a.At, b.At) })
	return list
}

func place(e *event.Console, o Options) Place {
	if o.Original == nil {
		return Place{File: e.URL, Line: e.Line}
	}
	p, _ := o.Original(e)
	return p
}

func request(e *event.Network, o *Options) Consequence {
	c := Consequence{At: startOf(e), Severity: Clean, Request: true, Text: requestName(e)}
	switch {
	case e.Failed():
		c.Severity, c.Request = Error, false
		if e.Status >= 400 {
			c.Text += fmt.Sprintf(" %d", e.Status)
		} else {
			c.Text += " " + Shorten(event.OneLine(reason(e)))
		}
		if e.Detail != "" {
			c.Text += fmt.Sprintf(" %q", e.Detail)
		}
		c.Text += from(e, o)
	case e.Status != 0:
		c.Text += fmt.Sprintf(" %d", e.Status)
	}
	if c.Request && !slices.Contains([]string{"fetch", "xhr", "document", "eventsource"}, e.Resource) {
		c.Text = "" // pictures, styles, scripts: they say nothing by themselves
	}
	if c.Request && c.Text != "" {
		c.from = from(e, o)
	}
	return c
}

// WithInitiator returns the text with the code that made the request, which the text of a failed one has anyway.
func (c *Consequence) WithInitiator() string { return c.Text + c.from }

package diff

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/flash"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/storms"
	"tidemark.dev/tidemark/host/internal/window"
)

// Consequence is something that happened on a page while it was acted on, in one line.
type Consequence struct {
	// At is when it began, in milliseconds since the Unix epoch: of a request, when that was made.
	At int64 `json:"-"`
	// Before is true for what happened before the moment that the caller named.
	Before   bool            `json:"-"`
	Severity report.Severity `json:"severity"`
	Text     string          `json:"text"`
	// Request is set for requests that did not fail; Count is how often the same happened.
	Request bool `json:"-"`
	Count   int  `json:"count"`
	// Given is true for what the reader was already given, Flash for a message that the page took back itself, Storm for a
	// repetition without end.
	Given bool `json:"-"`
	Flash bool `json:"-"`
	Storm bool `json:"-"`
	// Also is what else said the same: "logged at api.js:12, shown in .error".
	Also string `json:"also,omitempty"`
	// Uncaught is true for an error that nothing caught.
	Uncaught bool `json:"-"`
	// Entries are what the reader will know it by.
	Entries []alike.Entry `json:"-"`
	// IntroducedBy is the change of a file after which it first appeared, nil where no evidence names one.
	IntroducedBy *report.Introduced `json:"introduced_by,omitempty"`

	same  string         // what equal ones have in common, but for what the fields above say
	code  string         // the end of the text that names code, "" if none does
	from  string         // of a request that neither failed nor writes: the code that made it, as the text of others has it
	read  *event.Network // the first request of that line
	order int            // of a request: orders those of the same millisecond
	ended int64          // of a request, in milliseconds since the Unix epoch
	path  string         // of a request, as its text has it
	query string
	// overtaken is true for a request that shows its query though the other one is in an earlier answer.
	overtaken bool
	many      *manyAlike       // of what differs in numbers alone
	event     event.Event      // the first one, where something may have introduced it
	elsewhere []*event.Console // of a message: those of other lines than the first one's
}

// manyAlike is what the parts of consequences have in common that differ in numbers alone, and the code of each.
type manyAlike struct {
	text, path, query alike.Pattern
	code              []string
}

// maxCode bounds how much code is named that differs among consequences that are one.
const maxCode = 3

func (m *manyAlike) add(c Consequence) {
	m.text.Add(strings.TrimSuffix(c.Text, c.code))
	if c.code != "" && !slices.Contains(m.code, c.code) {
		m.code = append(m.code, c.code)
	}
	m.path.Add(c.path)
	m.query.Add(c.query)
}

// merged returns a consequence with what it has in common with those that it stands for.
func (c Consequence) merged() Consequence {
	if m := c.many; m != nil {
		text, path := m.text.String(), m.path.String()
		c.path, c.query = m.path.Path(), m.query.String()
		c.code = strings.Join(m.code[:min(len(m.code), maxCode)], " and")
		if more := len(m.code) - maxCode; more > 0 {
			c.code += fmt.Sprintf(" and %d more", more)
		}
		c.Text = c.path + strings.TrimPrefix(text, path) + c.code
	}
	return c
}

// Line returns what happened in a line: how often, and after which change of a file.
func (c Consequence) Line() string {
	line := c.Text
	if c.Count > 1 {
		line += fmt.Sprintf(" ×%d", c.Count)
	}
	if c.Also != "" {
		line += ", also " + c.Also
	}
	if c.IntroducedBy != nil {
		line += ", " + event.OneLine(c.IntroducedBy.String())
	}
	return line
}

// compare compares when two began.
func (c Consequence) compare(other Consequence) int {
	return cmp.Or(cmp.Compare(c.At, other.At), cmp.Compare(c.order, other.order))
}

// consequences collects what happened. Equal ones are one, where they came on the same side of the moment that the caller named.
type consequences struct{ list []Consequence }

func (l *consequences) add(c Consequence, entry alike.Entry) {
	i := slices.IndexFunc(l.list, func(e Consequence) bool {
		return e.same == c.same && e.Severity == c.Severity && e.Given == c.Given && e.Flash == c.Flash && e.Before == c.Before
	})
	if i < 0 {
		i = len(l.list)
		l.list = append(l.list, c)
	} else if first := &l.list[i]; c.compare(*first) < 0 { // requests come as they ended
		first.At, first.order = c.At, c.order
	}
	l.list[i].Count++
	first := &l.list[i]
	if m := first.many; m != nil {
		m.add(c)
	} else if e, ok := c.event.(*event.Console); ok {
		if of, ok := first.event.(*event.Console); ok {
			first.elsewhere = addElsewhere(first.elsewhere, of, e)
		}
	}
	if first.from != c.from {
		first.from, first.read = "", nil // several lines made them
	}
	first.Also = cmp.Or(first.Also, c.Also)
	for _, e := range append(c.Entries, entry) {
		if e.As != 0 {
			first.Entries = addEntry(first.Entries, e)
		}
	}
}

// Consequences are what happened since a moment: what broke, whether the same was broken before or not, and
// the requests that a page's scripts made. Noise rules hide what they hide elsewhere. Equal ones are one,
// where they came on the same side of since (milliseconds since the Unix epoch).
func Consequences(from capture.Moment, v *capture.View, since int64, o window.Options) []Consequence {
	c := newComputation(window.New(from, v, o))
	o.Given = c.Options.Given
	c.duplicates.FindOverlays()
	var all consequences
	add := func(is Consequence, entry alike.Entry) {
		if is.same == "" {
			is.same = is.Text
		}
		at := is.At
		if o.Waited {
			at = max(at, is.ended)
		}
		is.Given, is.Before = o.WasGiven(entry), at < since
		all.add(is, entry)
	}
	repeated, stormy := storms.Since(from, v, o)
	stormOf := func(e *event.WebSocket) int {
		return slices.IndexFunc(repeated, func(s storms.Storm) bool { return s.IsOfSocket(storms.SocketOf(e)) })
	}
	listStorm := func(s *storms.Storm, known []alike.Entry) {
		at, how := v.At.UnixMilli(), "repeated without end: "
		if s.Over != 0 {
			at, how = s.Over, "repeated, now over: "
		}
		add(Consequence{At: at, Severity: ofConnection(s.Also), Text: how + s.Line(), Storm: true, Entries: known}, alike.Entry{})
	}
	var told []event.Event
	window.Entries(from, v, o, func(e window.Entry) {
		if e.Hidden() {
			return
		}
		told = append(told, e.Event)
		if n, ok := e.Event.(*event.Network); ok && n.Failed() {
			endpoint := capture.KeyOf(n)
			c.duplicates.Lists(n, &endpoint, o.WasGiven(alike.Failure(n)) || o.WasGiven(alike.Failures(n)))
		}
	})
	names, places := report.Sources{}, map[*event.Console][2]report.Place{}
	told = slices.DeleteFunc(told, func(e event.Event) bool {
		if n, ok := e.(*event.Network); ok && n.IsStatic() && c.duplicates.ShowsModule(n) {
			return true
		}
		if s, ok := e.(*event.WebSocket); ok {
			return c.duplicates.HasFrame(s)
		}
		m, ok := e.(*event.Console)
		if !ok || c.duplicates.Has(m) {
			return ok
		}
		p := c.place(m, nil)
		places[m] = [2]report.Place{p, loggedAt(&o, m, p)}
		names.Add(p.File)
		if logged := places[m][1].File; logged != "" {
			names.Add(logged)
		}
		return false
	})
	told = c.withoutLogs(told)
	elements, changes := elementsShown(c)
	for i := range repeated {
		s := &repeated[i]
		var known []alike.Entry
		for _, e := range told {
			if ev, ok := e.(*event.WebSocket); ok && ev.Bad && !ev.IsFrame() && s.IsOfSocket(storms.SocketOf(ev)) {
				if s.Error == "" {
					s.Error = report.Shorten(socketError(ev))
					s.Error += refusal(s.Error, ev.Status)
					s.Also, known = c.also(ev)
				}
				known = addEntry(known, alike.Socket(ev))
			}
		}
		listStorm(s, known)
	}
	late := c.overtaken(told)
	messages, outcomes := variety[storms.Message]{}, variety[alike.Outcome]{}
	for i, e := range told {
		switch ev := e.(type) {
		case *event.Console:
			if !o.WasGiven(alike.Console(ev, c.Level(ev))) {
				messages.add(storms.MessageOf(ev), alike.Text(ev))
			}
		case *event.Network:
			if ev.Failed() {
				ev = c.details.add(c, ev)
				told[i] = ev
			}
			if ev.Failed() && !o.WasGiven(alike.Failure(ev)) || isShown(ev) {
				outcomes.add(sameRequestsAs(ev), report.RequestName(ev)+" "+queryOf(ev.URL))
			}
		}
	}
	for _, e := range told {
		switch ev := e.(type) {
		case *event.Console:
			text, code := strconv.Quote(report.Shorten(event.OneLine(report.MessageText(ev)))), ""
			if source := names.Name(places[ev][0]); source != "" {
				source = report.Marked(source, places[ev][0].Generated)
				if logged := names.Name(places[ev][1]); logged != "" {
					source += ", logged at " + event.Named(logged)
				}
				code = " (" + source + ")"
			}
			severity, word, level := report.Warning, "warning", c.Level(ev)
			if level == event.Error {
				severity, word = report.Error, "error"
			}
			is := Consequence{At: ev.At, Severity: severity, Text: word + ": " + text + code, code: code, Uncaught: severity == report.Error && ev.IsUncaught(), event: ev}
			is.Also, is.Entries = c.also(ev)
			entry, same := alike.Console(ev, level), alike.Text(ev)+report.FailedLoad(ev)
			if storm, kind := alike.Storm(ev), storms.MessageOf(ev); !o.WasGiven(entry) && (o.WasGiven(storm) || stormy[kind] || messages.isMany(kind)) {
				entry, same, is.many = storm, alike.WithoutNumbers(ev.Text)+" "+ev.URL+fmt.Sprint(ev.Line), &manyAlike{}
			}
			is.same = word + same
			add(is, entry)
		case *event.Network:
			is := request(ev, &o)
			overtaken := late[ev] && is.Text != ""
			if is.Request && slices.ContainsFunc(repeated, func(s storms.Storm) bool { return s.IsOf(ev) }) {
				continue
			}
			is.path = report.RequestName(ev)
			is.query = queryOf(ev.URL)
			is.same = is.Text + withoutBusters(is.query)
			entry := alike.Request(ev)
			if !is.Request {
				entry, is.event = alike.Failure(ev), ev
				is.Also, is.Entries = c.also(ev)
			}
			kind, many := sameRequestsAs(ev), alike.Failures(ev)
			if overtaken {
				note := fmt.Sprintf(" (%.0f ms, answered after a later one)", ev.Duration)
				is.Text, is.same, is.overtaken = is.Text+note, is.same+note, true
			} else if !o.WasGiven(entry) && is.Text != "" && (outcomes.isMany(kind) || !is.Request && o.WasGiven(many)) {
				is.same, is.many = fmt.Sprint(kind), &manyAlike{}
				if !is.Request {
					entry = many
				}
			}
			add(is, entry)
		case *event.WebSocket:
			if (ev.Bad || ev.Op == "close") && (!ev.Bad || ev.IsFrame() || stormOf(ev) < 0) {
				is := Consequence{At: ev.At, Severity: report.Warning, Text: socketText(ev, &o), event: ev}
				is.Also, is.Entries = c.also(ev)
				is.Severity = ofConnection(is.Also)
				add(is, alike.Socket(ev))
			}
		}
	}
	addElements(c, elements, changes, add)
	for i := range all.list {
		is := &all.list[i]
		if is.read != nil && is.NeedsInitiator() {
			is.from = sentBy(is.read, &o, true)
		}
		if first, ok := is.event.(*event.Console); ok {
			is.Also = joined(alsoAt(names, c.otherPlaces(first, is.elsewhere, places[first])), is.Also)
		}
	}
	list := all.withQueries()
	for i, found := 0, 0; o.Introduced != nil && i < len(list) && found < maxIntroduced; i++ {
		if c := &list[i]; c.event != nil && !c.Given {
			c.IntroducedBy = o.Introduced(c.event)
			found++
		}
	}
	return list
}

// overtakenMs is by how many milliseconds a request must have been overtaken: others that are made at once take about as long.
const overtakenMs = 50

// maxBefore bounds how many requests that ended before the window are looked at.
const maxBefore = 256

// overtaken returns the requests that ended after a later one of the same endpoint and page, which may have ended before the
// window.
func (c *computation) overtaken(told []event.Event) map[*event.Network]bool {
	type place struct {
		endpoint capture.EndpointKey
		tab      int
	}
	var list []*event.Network
	earliest := int64(math.MaxInt64)
	for _, e := range told {
		if n, ok := e.(*event.Network); ok && isShown(n) && n.Resource != "document" && !n.Stream && n.Started > 0 {
			list = append(list, n)
			earliest = min(earliest, n.Started)
		}
	}
	near := c.View.Network().InRing()
	for pos := c.From.Pos[capture.Network]; pos > near.First() && c.From.Pos[capture.Network]-pos < maxBefore && near.At(pos-1).At >= earliest; pos-- {
		if n := near.At(pos - 1); isShown(n) && c.Options.InScope(n.Subject) && n.Started >= earliest {
			list = append(list, n)
		}
	}
	slices.SortStableFunc(list, func(a, b *event.Network) int { return b.Sent().Compare(a.Sent()) })
	ended := map[place]float64{} // the first end of the later ones
	found := map[*event.Network]bool{}
	for _, n := range list {
		k, end := place{capture.KeyOf(n), n.Tab()}, float64(n.Started)+n.Duration
		first, later := ended[k]
		found[n] = later && first+overtakenMs <= end
		if !later || end < first {
			ended[k] = end
		}
	}
	return found
}

// ofConnection is the severity of what happened to a connection: an error if the page's code logged it as one.
func ofConnection(also string) report.Severity {
	if also != "" {
		return report.Error
	}
	return report.Warning
}

// withoutLogs leaves out errors that only log the message of another one.
func (c *computation) withoutLogs(told []event.Event) []event.Event {
	var errors []*event.Console
	for _, e := range told {
		if m, ok := e.(*event.Console); ok && c.Level(m) == event.Error {
			errors = append(errors, m)
		}
	}
	logs := c.duplicates.ListsErrors(errors)
	return slices.DeleteFunc(told, func(e event.Event) bool {
		m, ok := e.(*event.Console)
		return ok && logs[m]
	})
}

// elementShown is an error element that was not visible before, in one of its lives.
type elementShown struct {
	capture.ElementKey
	flash.Life
	entry alike.Entry
}

// elementsShown returns the error elements that were not visible before and that no other entry mentions, and the changes of
// pages as a whole.
func elementsShown(c *computation) (list []elementShown, changes []*capture.Change) {
	s := c.elements(func(_ uint64, e *capture.Change) { changes = append(changes, e) })
	finder := flash.Finder{View: c.View}
	for _, k := range s.order {
		// A page that is drawn anew shows what it showed before: that is no news.
		w := s.found[k]
		if w.Before > 0 || c.duplicates.TellsOverlay(k) {
			continue
		}
		for _, l := range w.Shown(func(l flash.Life) bool { return finder.Is(k.Tab, l, s.left[k.Tab]) }) {
			if _, completes := c.duplicates.Completes(k, l.From); completes {
				continue
			}
			if entry := alike.Element(k, w.Before); l.Flash || !c.duplicates.Shows(k, l.From, entry) {
				list = append(list, elementShown{k, l, entry})
			}
		}
	}
	return list, changes
}

// addElements adds what became of the page as a whole, and error elements.
func addElements(c *computation, elements []elementShown, changes []*capture.Change, add func(Consequence, alike.Entry)) {
	for _, e := range changes {
		switch {
		case e.Op == "crashed":
			add(Consequence{At: e.At, Severity: report.Error, Text: "the page crashed"}, alike.Entry{})
		case e.Op == "emptied" && c.View.DOMState.Empty()[e.Tab()] == e.At:
			add(Consequence{At: e.At, Severity: report.Error, Text: pageIsEmpty}, alike.Empty(e.Tab(), e.At))
		}
	}
	for _, e := range elements {
		said, at := c.overlayText(e.ElementKey, e.From)
		text, life := fmt.Sprintf("%q", report.Shorten(event.OneLine(said))), alike.Life(e.ElementKey, e.From)
		if e.Flash {
			add(Consequence{At: e.From, Severity: report.Clean, Text: text, Flash: true}, life)
			continue
		}
		is := Consequence{At: e.From, Severity: report.Warning, Text: "error element " + event.Selector(e.Selector) + ": " + text + report.From(report.PlaceName(report.Place{File: at.File, Line: at.Line}), at.Generated, ""), Entries: []alike.Entry{life}, event: c.appeared(e.ElementKey, e.Life)}
		if alike.IsOverlay(e.Selector) {
			is.Severity = report.Error
		}
		add(is, e.entry)
	}
}

// maxQuery bounds the query of a request in a line, in characters.
const maxQuery = 60

// queryOf returns the query of an address, with its question mark.
func queryOf(url string) string {
	url, _, _ = strings.Cut(url, "#")
	if i := strings.IndexByte(url, '?'); i >= 0 && i < len(url)-1 {
		return report.Cut(event.OneLine(url[i:]), maxQuery)
	}
	return ""
}

// withoutBusters returns a query without what only keeps answers from being cached.
func withoutBusters(query string) string {
	parts := strings.Split(strings.TrimPrefix(query, "?"), "&")
	return strings.Join(slices.DeleteFunc(parts, alike.IsBuster), "&")
}

// withQueries gives requests their query where another one to the same path differs in it, or overtook them.
func (l *consequences) withQueries() []Consequence {
	all := make([]Consequence, len(l.list))
	for i, c := range l.list {
		all[i] = c.merged()
	}
	list := slices.Clone(all)
	for i, c := range all {
		if c.path != "" && c.query != "" && (c.overtaken || c.many != nil && c.many.query.Differs() || slices.ContainsFunc(all, func(e Consequence) bool {
			return e.path == c.path && withoutBusters(e.query) != withoutBusters(c.query)
		})) {
			list[i].Text = strings.Replace(c.Text, c.path, c.path+c.query, 1)
		}
	}
	slices.SortStableFunc(list, Consequence.compare)
	return list
}

// isShown reports whether a request that succeeded is shown.
func isShown(e *event.Network) bool {
	return slices.Contains([]string{"fetch", "xhr", "document", "eventsource"}, e.Resource)
}

// variety collects the texts of what differs in numbers alone.
type variety[K comparable] map[K][]string

// add adds a text.
func (v variety[K]) add(k K, text string) {
	if list := v[k]; len(list) <= alike.Few && !slices.Contains(list, text) {
		v[k] = append(list, text)
	}
}

// isMany reports whether there are too many texts to list them one by one.
func (v variety[K]) isMany(k K) bool { return len(v[k]) > alike.Few }

// sameRequestsAs is what makes requests of an action one, if they are more than a few.
func sameRequestsAs(e *event.Network) alike.Outcome {
	k := alike.OutcomeOf(e)
	k.Endpoint.Path += alike.WithoutNumbers(withoutBusters(queryOf(e.URL)))
	return k
}

func request(e *event.Network, o *window.Options) Consequence {
	c := Consequence{At: e.Began(), order: e.Order, ended: e.At, Severity: report.Clean, Request: true, Text: report.RequestName(e)}
	switch {
	case e.Failed():
		c.Severity, c.Request = report.Error, false
		if e.Status >= 400 {
			c.Text += fmt.Sprintf(" %d", e.Status)
		} else {
			c.Text += " " + report.Shorten(event.OneLine(e.Reason()))
		}
		if e.Detail != "" {
			c.Text += fmt.Sprintf(" %q", e.Detail)
		}
	case e.Status != 0:
		c.Text += fmt.Sprintf(" %d", e.Status)
	}
	if c.Request && !isShown(e) {
		c.Text = "" // pictures, styles, scripts: they say nothing by themselves
	}
	switch {
	case c.Text == "":
	case e.Failed() || e.Writes():
		c.code = sentBy(e, o, true)
		c.Text += c.code
	default:
		c.from, c.read = sentBy(e, o, false), e
	}
	return c
}

// WithInitiator returns the text with the code that made the request, which that of a failed one and of a write has anyway.
func (c *Consequence) WithInitiator() string { return c.Text + c.from }

// NeedsInitiator reports whether a read is shown with its code: it was overtaken, or stands for more than a few.
func (c *Consequence) NeedsInitiator() bool { return c.overtaken || c.Count > alike.Few }

// maxLate bounds how many late requests are listed, the newest.
const maxLate = 10

// lateRequest is what makes late requests one.
type lateRequest struct {
	name, query string
	status, tab int
	overtaken   bool
}

// late lists the requests that an action of the reader made, and that succeeded after its answer. It returns nil for a
// reader that does not act.
func late(c *computation, d *report.NetworkDiff) (list []report.Endpoint) {
	if c.Options.Late == nil {
		return nil
	}
	var found []event.Event
	for pos, e := range c.View.Network().From(c.From.Pos[capture.Network]) {
		if !c.Options.InScope(e.Subject) || !e.Answered() || request(e, &window.Options{}).Text == "" || c.KeepsOut(e) || c.storms.Has(c.Tab(e.Tab()), e) || !c.Options.Late(pos, e) || c.Options.WasGiven(alike.Request(e)) {
			continue
		}
		found = append(found, e)
	}
	slices.SortStableFunc(found, func(a, b event.Event) int { return a.(*event.Network).Sent().Compare(b.(*event.Network).Sent()) })
	overtaken := c.overtaken(found)
	same := map[lateRequest][]alike.Entry{}
	count := map[lateRequest]int{}
	of := func(e *event.Network) lateRequest {
		return lateRequest{report.RequestName(e), withoutBusters(queryOf(e.URL)), e.Status, c.Tab(e.Tab()), overtaken[e]}
	}
	found = slices.DeleteFunc(found, func(ev event.Event) bool {
		e := ev.(*event.Network)
		k := of(e)
		count[k]++
		same[k] = addEntry(same[k], alike.Request(e))
		return count[k] > 1
	})
	found = found[max(0, len(found)-maxLate):]
	places := c.Options.Locate(found)
	for _, ev := range found {
		if k := of(ev.(*event.Network)); k.overtaken || count[k] > alike.Few {
			places.Call(&c.Options, ev)
		}
	}
	for _, ev := range found {
		e := ev.(*event.Network)
		k := of(e)
		d.Shown = append(d.Shown, same[k]...)
		initiator, generated := places.Source(e)
		list = append(list, report.Endpoint{Method: e.Method, URL: shownPath(e), Status: e.Status, Count: several(count[k]), Overtaken: k.overtaken, Tab: k.tab, Request: report.Request{
			Operation: e.Operation, StartedAt: report.Time{Time: time.UnixMilli(e.Began()).UTC()}, DurationMs: int(e.Duration + 0.5),
			Initiator: initiator, Generated: generated, CalledAt: places.CalledAt(e),
		}})
	}
	return list
}

// sentBy names the code that made a request or opened a connection, as [report.From] does, and what called it if that is asked
// for; "" if it is not known.
func sentBy(ev event.Event, o *window.Options, calls bool) string {
	p, called := o.PlaceOf(ev), ""
	if calls {
		called = report.PlaceName(o.CallOf(ev))
	}
	return report.From(report.PlaceName(p), p.Generated, called)
}

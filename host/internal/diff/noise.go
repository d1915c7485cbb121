package diff

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/noise"
)

// Fold is the fingerprint by which noise rules know an event: of a console entry its message, of a
// request method, templated address, GraphQL operation and how it went, of a connection what happened to it and where. It is cut to what a rule can have.
func Fold(ev event.Event) string {
	s := ""
	switch e := ev.(type) {
	case *event.Console:
		s = alike.Fingerprint(e.Text)
	case *event.Network:
		origin, path := capture.SplitURL(e.URL)
		outcome := strconv.Itoa(e.Status)
		if e.Status < 400 && e.Failed() {
			outcome = reason(e)
		}
		s = e.Method + " " + origin + capture.TemplatePath(path)
		if e.Operation != "" {
			s += " " + e.Operation
		}
		s += " " + outcome
	case *event.WebSocket:
		origin, path := capture.SplitURL(e.URL)
		s = e.Op + " " + origin + capture.TemplatePath(path)
		switch {
		case e.Bad:
			s += " " + alike.Fingerprint(e.Text)
		case e.Op == "close":
			s += " " + strconv.Itoa(e.Code)
		}
	}
	if len(s) > noise.MaxRuleText {
		cut := noise.MaxRuleText
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut]
	}
	return strings.TrimSpace(s)
}

// seenKey is an entry as it is known again.
type seenKey struct {
	origin, fold string
	level        event.Level
}

// hides says whether noise rules keep an entry out of the report. A user's rule does so only when the
// same was there before the checkpoint, unless it says otherwise.
func (c *computation) hides(ev event.Event) bool {
	hidden := c.keptOut(ev)
	if hidden {
		c.noiseHidden++
	}
	return hidden
}

// keptOut is hides without counting.
func (c *computation) keptOut(ev event.Event) bool {
	if c.o.Noise == nil {
		return false
	}
	if c.builtIn(ev) != nil {
		return true
	}
	rule := c.o.Noise.User(ev, Fold)
	return rule != nil && c.mayHide(rule, ev)
}

// builtIn is the rule of the table that keeps an entry out, nil when none does. What tells of a page that is not up to
// date is over once the page was loaded anew within the window.
func (c *computation) builtIn(ev event.Event) *noise.Rule {
	if rule := c.o.Noise.BuiltIn(ev); rule != nil {
		return rule
	}
	if e, ok := ev.(*event.Console); ok {
		if _, rule, _ := c.o.Noise.Stale(e); rule != nil && c.loadedSince(e) {
			return rule
		}
	}
	return nil
}

// loadedSince says whether the page of an entry was loaded anew after it, and before the window's end.
func (c *computation) loadedSince(e *event.Console) bool {
	if c.loads == nil {
		c.loads = map[int]int64{}
		for _, u := range c.v.Updates.From(0) {
			if (u.How == "load" || u.How == "reload") && u.At <= c.v.At.UnixMilli() {
				c.loads[u.Tab()] = max(c.loads[u.Tab()], u.At)
			}
		}
	}
	return c.loads[e.Tab()] >= e.At
}

// levelOf is the level as which an entry is told.
func levelOf(e *event.Console, rules *noise.Rules) event.Level {
	if rules == nil {
		return e.Level
	}
	as, _, _ := rules.Stale(e)
	return as
}

// hidesFailure says whether a user's rule hides how an endpoint was failing before the window.
func (c *computation) hidesFailure(k capture.EndpointKey, e capture.Endpoint) bool {
	if c.o.Noise == nil {
		return false
	}
	before := &event.Network{
		Head: event.Head{Subject: event.InTab(0, k.Page)}, Method: k.Method, URL: k.Origin + k.Path, Operation: k.Operation,
		Status: e.Status, Error: e.Error, Refused: e.Status > 0 && e.Status < 400 && e.Error == "",
	}
	return c.o.Noise.User(before, Fold) != nil
}

func (c *computation) mayHide(rule *noise.UserRule, ev event.Event) bool {
	if c.o.Beginning || rule.HideNew || rule.Fingerprint != "" && !rule.Made.After(c.from.At) {
		return true // (whoever made a rule of a fingerprint had seen it)
	}
	if c.seen == nil {
		c.seen = map[seenKey]bool{}
		before := c.v.Until(c.from)
		see := func(ev event.Event) {
			// What no rule matches is looked at no further: most of it.
			if c.o.Noise.User(ev, Fold) != nil {
				c.seen[keyOf(ev)] = true
			}
		}
		for _, e := range before.Console().InRing().Marked(0) {
			if e.Level >= event.Warning {
				see(e)
			}
		}
		for _, e := range before.Network().InRing().From(0) {
			if capture.Counts(e) {
				see(e)
			}
		}
		for _, e := range before.WebSocket().InRing().Marked(0) {
			if reportable(e) {
				see(e)
			}
		}
	}
	return c.seen[keyOf(ev)]
}

func keyOf(ev event.Event) seenKey {
	return seenKey{ev.Header().Origin(), Fold(ev), noise.LevelOf(ev)}
}

// reportable says whether a step of a connection is told of by itself.
func reportable(e *event.WebSocket) bool {
	return (!e.IsFrame() || e.Bad) && (e.Op != "close" || !e.Leaving) && !e.Joined
}

// Entry is something that a report tells of, or that noise rules keep out of it.
type Entry struct {
	Event event.Event
	// BuiltIn or User is the rule that keeps it out; both are nil when none does.
	BuiltIn *noise.Rule
	User    *noise.UserRule
	// New says that the user's rule would keep it out, had it not first appeared after the checkpoint.
	New bool
}

// Hidden says whether it is kept out of the report.
func (e *Entry) Hidden() bool { return e.BuiltIn != nil || e.User != nil && !e.New }

// Entries calls each with everything that a report since a moment would tell of: warnings and errors of
// the console, requests, and what happened to connections; each kind in its order.
func Entries(from capture.Moment, v *capture.View, o Options, each func(Entry)) {
	c := computation{from: from, v: v, o: o}
	tell := func(ev event.Event) {
		e := Entry{Event: ev}
		if o.Noise != nil {
			if e.BuiltIn = c.builtIn(ev); e.BuiltIn == nil {
				if e.User = o.Noise.User(ev, Fold); e.User != nil {
					e.New = !c.mayHide(e.User, ev)
				}
			}
		}
		each(e)
	}
	for pos, e := range v.Console().Marked(from.Pos[capture.Console]) {
		if c.tells(pos, e) {
			tell(e)
		}
	}
	for _, e := range v.Network().From(from.Pos[capture.Network]) {
		if o.InScope(e.Subject) && capture.Counts(e) {
			tell(e)
		}
	}
	for _, e := range v.WebSocket().Marked(from.Pos[capture.WebSocket]) {
		if o.InScope(e.Subject) && reportable(e) {
			tell(e)
		}
	}
}

// tells says whether a report tells of a console entry.
func (c *computation) tells(pos uint64, e *event.Console) bool {
	return c.o.covers(capture.ConsoleSection, pos, e.Subject, e.At) && e.Level >= event.Warning && !e.Joined && !c.toldByBackfill(e) &&
		(!e.Left || c.o.First == nil || !slices.Contains(c.o.First.Sections, capture.ConsoleSection))
}

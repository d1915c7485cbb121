// Package noise tells chatter from signal: hot-update logs, extensions' own messages, analytics
// beacons. Its own rules are a table of data (rules.json), in packs that can be switched off; a user's
// and a project's come to them.
//
// It guarantees: a rule matches by kind, origin and level as well as by text, and hides an error only
// where it names the level "error" (or, for requests, "failures") itself. A warning of a hot update that
// failed is hidden by nothing until its page is loaded anew, whatever its prefix; no rule of a user hides
// one at all. A user's rules are found by an
// index, and what it finds is what trying each would find. It hides nothing by itself: callers count
// what it matched. It is pure.
package noise

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
)

//go:embed rules.json
var defaultRules []byte

// Rule is one row of the table. Every condition that is set must hold.
type Rule struct {
	ID    string `json:"id"`
	About string `json:"about"`
	// Pack is what it is switched by.
	Pack string `json:"pack"`
	// Channel is console, network or websocket.
	Channel string `json:"channel"`
	// Levels are the console levels that the rule may hide.
	Levels []string `json:"levels"`
	// Via is where a console entry came from, as in event.Console.
	Via string `json:"via"`
	// Origin, Text and URL are regular expressions: Origin on the URL of a console entry's source,
	// URL on a request's or socket's address.
	Origin string `json:"origin"`
	Text   string `json:"text"`
	URL    string `json:"url"`
	// Failures says that requests are hidden even when they failed.
	Failures bool `json:"failures"`
	// Marks are the entries among those matched that tell of a hot update.
	Marks []Mark `json:"marks"`

	origin, text, url *pattern
	levels            [event.Error + 1]bool
	prefix            string
}

// Mark recognises a hot update in a console entry or socket frame.
type Mark struct {
	Text string `json:"text"`
	// How is hot_update or hot_update_failed.
	How string `json:"how"`
	// Level is that as which a failure is told, where that is not the one it was logged with.
	Level string `json:"level"`

	text  *pattern
	level event.Level
}

// failure is what a development server's client writes where it could not bring a page up to date. A page that is
// loaded anew is.
var failure = regexp.MustCompile(`(?i)\b(fail(s|ed|ure)?|errors?|can( ?not|['’]t)|could(n['’]t| not)|unable|wrong|abort(ed|ing)?|invalid|incompatible|` +
	`reload(ing|ed)?|refused|reject(ed)?|ignor(ed|ing)|unaccepted|not accepted|declined|exception|stale|missing|not found|warning)\b`)

// Rules is a compiled table. It never changes and is safe for concurrent use.
type Rules struct {
	console, network, websocket []*Rule
	// addresses tells most requests apart without trying the rules of network.
	addresses *pattern
	// table is the whole, with the packs that are switched off: nil in the table itself.
	table *Rules
	own   *index
}

// Pack is a part of the table that is switched as a whole.
type Pack struct{ Name, About string }

// Packs are all of them.
var Packs = []Pack{
	{"hot-update", "logs, files and sockets of development servers; never a failed hot update"},
	{"extensions", "what browser extensions log and request"},
	{"analytics", "analytics, advertisement and error-report beacons"},
	{"browser-advice", "advice of Chromium and of frameworks, favicons and source maps"},
}

// IsPack says whether there is a pack of that name.
func IsPack(name string) bool {
	return slices.ContainsFunc(Packs, func(p Pack) bool { return p.Name == name })
}

// With is the table without the packs that are off and with a user's rules, which have been checked.
// More than twice MaxUserRules are not looked at.
func (r *Rules) With(off []string, rules []*UserRule) *Rules {
	table := r.whole()
	on := func(list []*Rule) []*Rule {
		return slices.DeleteFunc(slices.Clone(list), func(rule *Rule) bool { return slices.Contains(off, rule.Pack) })
	}
	requests := on(table.network)
	return &Rules{on(table.console), requests, on(table.websocket), addressesOf(requests), table, newIndex(rules[:min(len(rules), 2*MaxUserRules)])}
}

func (r *Rules) whole() *Rules {
	if r.table != nil {
		return r.table
	}
	return r
}

// BuiltIn returns the rule of the table that calls the event noise, or nil.
func (r *Rules) BuiltIn(ev event.Event) *Rule {
	switch e := ev.(type) {
	case *event.Console:
		return r.Console(e)
	case *event.Network:
		return r.Network(e)
	case *event.WebSocket:
		return r.Socket(e.URL)
	}
	return nil
}

// User returns the user's rule that calls the event noise, or nil. Of several it is one that hides what
// is new, then one with a fingerprint, then the oldest.
func (r *Rules) User(ev event.Event, fold Fold) *UserRule {
	rule := r.own.match(ev, fold)
	if rule != nil && r.FailedUpdate(ev) {
		return nil
	}
	return rule
}

// FailedUpdate says whether an event tells that a hot update failed.
func (r *Rules) FailedUpdate(ev event.Event) bool {
	switch e := ev.(type) {
	case *event.Console:
		if _, _, stale := r.Stale(e); stale {
			return true
		}
		return r.Update(ev) == failed || e.Level == event.Error && slices.ContainsFunc(r.whole().console, func(rule *Rule) bool {
			return len(rule.Marks) > 0 && rule.matchesConsole(e)
		})
	case *event.Network:
		return e.Failed() && slices.ContainsFunc(r.whole().network, func(rule *Rule) bool {
			return rule.Pack == hotUpdate && rule.url.MatchString(e.URL)
		})
	default:
		return r.Update(ev) == failed
	}
}

// failed is how a hot update went that did not succeed.
const failed = "hot_update_failed"

// Default is the table that Tidemark comes with.
func Default() *Rules {
	r, err := New(defaultRules)
	if err != nil {
		panic(err) // the table is part of the program; a test reads it
	}
	return r
}

// New compiles a table. The error names the rule that cannot be read.
func New(rulesJSON []byte) (*Rules, error) {
	var rows []*Rule
	if err := json.Unmarshal(rulesJSON, &rows); err != nil {
		return nil, fmt.Errorf("noise rules: %w", err)
	}
	rules := &Rules{}
	for _, row := range rows {
		if err := row.compile(); err != nil {
			return nil, fmt.Errorf("noise rule %q: %w", row.ID, err)
		}
		switch row.Channel {
		case "console":
			rules.console = append(rules.console, row)
		case "network":
			rules.network = append(rules.network, row)
		case "websocket":
			rules.websocket = append(rules.websocket, row)
		default:
			return nil, fmt.Errorf("noise rule %q: channel %q is none of console, network, websocket", row.ID, row.Channel)
		}
	}
	rules.addresses = addressesOf(rules.network)
	return rules, nil
}

func (r *Rule) compile() (err error) {
	expr := func(s string) (p *pattern) {
		if s == "" || err != nil {
			return nil
		}
		p, err = newPattern(s)
		return p
	}
	r.origin, r.text, r.url = expr(r.Origin), expr(r.Text), expr(r.URL)
	for i := range r.Marks {
		m := &r.Marks[i]
		m.text = expr(m.Text)
		if level, ok := event.ParseLevel(m.Level); ok {
			m.level = level
		} else if m.Level != "" {
			return fmt.Errorf("level %q is not known", m.Level)
		}
	}
	if err != nil {
		return err
	}
	for _, name := range r.Levels {
		level, ok := event.ParseLevel(name)
		if !ok {
			return fmt.Errorf("level %q is not known", name)
		}
		r.levels[level] = true
	}
	if r.text != nil && strings.HasPrefix(r.Text, `^\[`) {
		r.prefix = "[" // most console lines are told apart by their first byte
	}
	if !IsPack(r.Pack) {
		return fmt.Errorf("pack %q is not known", r.Pack)
	}
	if r.origin == nil && r.text == nil && r.url == nil {
		return fmt.Errorf("it has no condition")
	}
	return nil
}

// Console returns the rule that calls the entry noise, or nil.
func (r *Rules) Console(e *event.Console) *Rule {
	for _, rule := range r.console {
		if rule.levels[e.Level] && rule.matchesConsole(e) && !rule.tellsOfFailure(e) {
			return rule
		}
	}
	if e.Via == "browser" && e.Category == "network" && strings.HasPrefix(e.Text, "Failed to load resource") {
		return r.Network(&event.Network{URL: e.URL, Error: e.Text}) // the browser's line about a request is what the request is
	}
	return nil
}

// tellsOfFailure says whether an entry that a rule matches tells that a page could not be brought up to date.
func (r *Rule) tellsOfFailure(e *event.Console) bool {
	return len(r.Marks) > 0 && (r.mark(e.Text).How == failed || e.Level >= event.Warning && r.Pack == hotUpdate && failure.MatchString(e.Text))
}

// Stale says whether an entry tells that its page is no longer what its files are, which ends when the page is loaded
// anew; as is the level as which it is told until then. Once it has ended, the rule hides the entry, if it is not nil.
func (r *Rules) Stale(e *event.Console) (as event.Level, rule *Rule, stale bool) {
	if e.Level != event.Warning || !strings.HasPrefix(e.Text, "[") {
		return e.Level, nil, false
	}
	for _, rule := range r.whole().console {
		if rule.Pack == hotUpdate && rule.matchesConsole(e) && rule.tellsOfFailure(e) {
			as = max(e.Level, rule.mark(e.Text).level)
			if !slices.Contains(r.console, rule) {
				rule = nil // its pack is off
			}
			return as, rule, true
		}
	}
	return e.Level, nil, false
}

// hotUpdate is the pack of development servers' rules.
const hotUpdate = "hot-update"

func (r *Rule) matchesConsole(e *event.Console) bool {
	return (r.Via == "" || r.Via == e.Via) &&
		(r.origin == nil || r.ownWholly(e)) &&
		strings.HasPrefix(e.Text, r.prefix) && (r.text == nil || r.text.MatchString(e.Text))
}

// ownWholly says whether nothing but code of a rule's origin led to an entry. An extension that wraps the console
// stands on top of all that a page logs.
func (r *Rule) ownWholly(e *event.Console) bool {
	return r.origin.MatchString(e.URL) && !slices.ContainsFunc(e.Stack, func(line string) bool {
		_, place, ok := strings.Cut(line, " (")
		return ok && place != "" && place[0] != ':' && !strings.HasPrefix(place, "<") && !r.origin.MatchString(place)
	})
}

// Network returns the rule that calls the request noise, or nil.
func (r *Rules) Network(e *event.Network) *Rule {
	if !r.addresses.worthTrying(e.URL) {
		return nil
	}
	i := slices.IndexFunc(r.network, func(rule *Rule) bool {
		// That a server's stream broke off is no worse than that its socket closed.
		broke := (e.Stream || e.Resource == "eventsource" || strings.Contains(e.URL, "/sockjs-node/")) && e.Status > 0 && e.Status < 400
		return (rule.Failures || broke || !e.Failed()) && rule.url.MatchString(e.URL)
	})
	if i < 0 {
		return nil
	}
	return r.network[i]
}

// Socket returns the rule that calls the connection noise, or nil.
func (r *Rules) Socket(url string) *Rule {
	i := slices.IndexFunc(r.websocket, func(rule *Rule) bool { return rule.url.MatchString(url) })
	if i < 0 {
		return nil
	}
	return r.websocket[i]
}

// Update says how a console entry or socket frame tells of a hot update: hot_update,
// hot_update_failed or "".
func (r *Rules) Update(ev event.Event) string {
	switch e := ev.(type) {
	case *event.Console:
		for _, rule := range r.whole().console {
			if len(rule.Marks) > 0 && rule.matchesConsole(e) {
				return rule.mark(e.Text).How
			}
		}
	case *event.WebSocket:
		if e.Op != "received" || !strings.HasPrefix(e.Text, "{") {
			return ""
		}
		if rule := r.whole().Socket(e.URL); rule != nil {
			return rule.mark(e.Text).How
		}
	}
	return ""
}

// mark is the first of a rule's marks that a text has, none when it has none.
func (r *Rule) mark(text string) Mark {
	for _, m := range r.Marks {
		if m.text.MatchString(text) {
			return m
		}
	}
	return Mark{}
}

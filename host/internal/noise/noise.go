// Package noise separates noise from signal: hot-update logs, messages of browser extensions, analytics beacons. Its
// built-in rules are a table of data (rules.json) in packs that can be turned off. Users and projects add rules.
//
// Guarantees:
//   - A rule matches by kind, origin and level as well as by text.
//   - A rule hides an error only if it names the level "error" (or, for requests, "failures") itself.
//   - No rule hides the warning of a failed hot update until its page is reloaded. No user's rule ever hides one.
//   - The index finds the same user's rule as trying each of them would.
//   - The package is pure and hides nothing: callers count the matches.
package noise

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

//go:embed rules.json
var defaultRules []byte

// Rule is one row of the table. An entry must meet every condition that is set.
type Rule struct {
	ID    string `json:"id"`
	About string `json:"about"`
	// Pack is the pack that turns it on and off.
	Pack string `json:"pack"`
	// Channel is console, network, websocket or frame. A rule for frames hides nothing: its marks tell of updates.
	Channel string `json:"channel"`
	// Levels lists the console levels that the rule may hide.
	Levels []string `json:"levels"`
	// Via is the source of a console entry, as in event.Console.
	Via string `json:"via"`
	// Origin, Text and URL are regular expressions: Origin on the URL of a console entry's source, or on the first line of the
	// stack that opened a socket; URL on a request's or socket's address; Text on a console entry's, or on what a script logged
	// that opens such sockets.
	Origin string `json:"origin"`
	Text   string `json:"text"`
	URL    string `json:"url"`
	// Failures says that the rule hides failed requests, too.
	Failures bool `json:"failures"`
	// Marks recognize hot updates among the matched entries.
	Marks []Mark `json:"marks"`

	origin, text, url *pattern
	levels            [event.Error + 1]bool
	prefix            string
}

// Mark recognizes a hot update in a console entry or socket frame.
type Mark struct {
	// Server names the servers that send what it recognizes, and the version of each in which that was seen.
	Server string `json:"server"`
	Text   string `json:"text"`
	// How is hot_update or hot_update_failed.
	How string `json:"how"`
	// Level is the reported level of a failure, if it differs from the logged one.
	Level string `json:"level"`
	// Reloads says that the client reloads the page for a failure that it logs as an error.
	Reloads bool `json:"reloads"`
	// Mendable says that the page is up to date again once a later update of the same module was applied.
	Mendable bool `json:"mendable"`

	text  *pattern
	level event.Level
}

// failure matches the messages of a development server's client that could not update a page. Reloading the page
// updates it.
var failure = lazyregexp.New(`(?i)\b(fail(s|ed|ure)?|errors?|can( ?not|['’]t)|could(n['’]t| not)|unable|wrong|abort(ed|ing)?|invalid|incompatible|` +
	`reload(ing|ed)?|refused|reject(ed)?|ignor(ed|ing)|unaccepted|not accepted|declined|exception|stale|missing|not found|warning)\b`)

// Rules is a compiled table. It never changes and is safe for concurrent use.
type Rules struct {
	console, network, websocket, frames []*Rule
	// addresses rules out most requests without trying the rules of network.
	addresses *pattern
	// table is the whole table, including packs that are off. It is nil in the table itself.
	table *Rules
	own   *index
}

// Pack is a part of the table that is turned on and off as a whole.
type Pack struct{ Name, About string }

// Packs lists all packs.
var Packs = []Pack{
	{"hot-update", "logs, files and sockets of development servers; never a failed hot update"},
	{"extensions", "logs and requests of browser extensions"},
	{"analytics", "analytics, advertisement and error-report beacons"},
	{"browser-advice", "advice from Chromium and frameworks, favicons and source maps"},
}

// IsPack reports whether a pack of that name exists.
func IsPack(name string) bool {
	return slices.ContainsFunc(Packs, func(p Pack) bool { return p.Name == name })
}

// With returns the table without the packs that are off and with checked users' rules. It ignores rules beyond twice
// MaxUserRules.
func (r *Rules) With(off []string, rules []*UserRule) *Rules {
	table := r.whole()
	on := func(list []*Rule) []*Rule {
		return slices.DeleteFunc(slices.Clone(list), func(rule *Rule) bool { return slices.Contains(off, rule.Pack) })
	}
	requests := on(table.network)
	return &Rules{on(table.console), requests, on(table.websocket), table.frames, addressesOf(requests), table, newIndex(rules[:min(len(rules), 2*MaxUserRules)])}
}

func (r *Rules) whole() *Rules {
	if r.table != nil {
		return r.table
	}
	return r
}

// BuiltIn returns the rule of the table that classifies the event as noise, or nil.
func (r *Rules) BuiltIn(ev event.Event) *Rule {
	switch e := ev.(type) {
	case *event.Console:
		return r.Console(e)
	case *event.Network:
		return r.Network(e)
	case *event.WebSocket:
		return r.Socket(e)
	}
	return nil
}

// User returns the user's rule that classifies the event as noise, or nil. Of several it returns one with HideNew
// first, then one with a fingerprint, then the oldest.
func (r *Rules) User(ev event.Event, fold Fold) *UserRule {
	rule := r.own.match(ev, fold)
	if rule != nil && r.FailedUpdate(ev) {
		return nil
	}
	return rule
}

// FailedUpdate reports whether an event shows that a hot update failed.
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
		return r.whole().LostUpdate(e) != nil
	default:
		return r.Update(ev) == failed
	}
}

// failed is the outcome of a failed hot update.
const failed = "hot_update_failed"

// Default returns the built-in table.
func Default() *Rules {
	r, err := New(defaultRules)
	if err != nil {
		panic(err) // the table is part of the program; a test reads it
	}
	return r
}

// New compiles a table. Its error names the invalid rule.
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
		case "frame":
			rules.frames = append(rules.frames, row)
		default:
			return nil, fmt.Errorf("noise rule %q: channel %q is not console, network, websocket or frame", row.ID, row.Channel)
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
			return fmt.Errorf("unknown level %q", m.Level)
		}
	}
	if err != nil {
		return err
	}
	for _, name := range r.Levels {
		level, ok := event.ParseLevel(name)
		if !ok {
			return fmt.Errorf("unknown level %q", name)
		}
		r.levels[level] = true
	}
	if r.text != nil && strings.HasPrefix(r.Text, `^\[`) {
		r.prefix = "[" // the first byte rules out most console lines
	}
	if !IsPack(r.Pack) {
		return fmt.Errorf("unknown pack %q", r.Pack)
	}
	if r.origin == nil && r.text == nil && r.url == nil && r.Channel != "frame" {
		return fmt.Errorf("it has no condition")
	}
	return nil
}

// Console returns the rule that classifies the entry as noise, or nil.
func (r *Rules) Console(e *event.Console) *Rule {
	for _, rule := range r.console {
		if rule.levels[e.Level] && rule.matchesConsole(e) && !rule.tellsOfFailure(e) {
			return rule
		}
	}
	if e.Via == "browser" && e.Category == "network" && strings.HasPrefix(e.Text, "Failed to load resource") {
		return r.Network(&event.Network{URL: e.URL, Error: e.Text}) // the browser's line about a request is judged as the request
	}
	return nil
}

// tellsOfFailure reports whether an entry that a rule matches shows that a page could not be updated.
func (r *Rule) tellsOfFailure(e *event.Console) bool {
	return len(r.Marks) > 0 && (r.mark(e.Text).How == failed || e.Level >= event.Warning && r.Pack == hotUpdate && failure().MatchString(e.Text))
}

// Stale reports whether an entry shows that its page no longer matches its files. This ends when the page is reloaded.
// Until then the entry is reported at level as. After that rule hides it, unless rule is nil.
func (r *Rules) Stale(e *event.Console) (as event.Level, rule *Rule, stale bool) {
	if !MayBeStale(e) {
		return e.Level, nil, false
	}
	for _, rule := range r.whole().console {
		if rule.Pack == hotUpdate && rule.matchesConsole(e) && rule.tellsOfFailure(e) {
			mark := rule.mark(e.Text)
			if e.Level == event.Error && !mark.Reloads {
				return e.Level, nil, false
			}
			as = max(e.Level, mark.level)
			if !slices.Contains(r.console, rule) {
				rule = nil // its pack is off
			}
			return as, rule, true
		}
	}
	return e.Level, nil, false
}

// LostUpdate returns the rule that hides a request for a file of a hot update which failed, once its page is reloaded. It is nil
// for other requests, and if the rule's pack is off.
func (r *Rules) LostUpdate(e *event.Network) *Rule {
	if !e.Failed() || !r.addresses.worthTrying(e.URL) {
		return nil
	}
	i := slices.IndexFunc(r.network, func(rule *Rule) bool { return rule.Pack == hotUpdate && rule.url.MatchString(e.URL) })
	if i < 0 {
		return nil
	}
	return r.network[i]
}

// Mendable reports whether an entry shows that an update of a module failed, and that a later one of the same module mends that.
func (r *Rules) Mendable(e *event.Console) bool {
	return MayBeStale(e) && slices.ContainsFunc(r.whole().console, func(rule *Rule) bool {
		return rule.Pack == hotUpdate && len(rule.Marks) > 0 && rule.matchesConsole(e) && rule.mark(e.Text).Mendable
	})
}

// UpdatedModule returns the module of which Vite's client logs that it ran the new code, "" for any other entry.
func UpdatedModule(e *event.Console) string {
	module, _ := strings.CutPrefix(e.Text, "[vite] hot updated: ")
	if module == e.Text {
		return ""
	}
	return module
}

// FailedModule returns the module of which Vite's client logs that it could not load the new code, "" for any other entry.
func FailedModule(e *event.Console) string {
	rest, is := strings.CutPrefix(e.Text, "[vite] Failed to reload ")
	module, _, whole := strings.Cut(rest, ". This could be")
	if !is || !whole {
		return ""
	}
	return module
}

// next is the built-in rule for what Next.js logs about hot updates.
var next = sync.OnceValue(func() *Rule {
	rules := Default().console
	return rules[slices.IndexFunc(rules, func(r *Rule) bool { return r.ID == "next-log" })]
})

// TellsOfRefresh reports whether a message is one of Next.js about a hot update, whether its rule is on or not.
func TellsOfRefresh(e *event.Console) bool {
	return strings.HasPrefix(e.Text, "[") && next().matchesConsole(e)
}

// MayBeStale is false for an entry of which [Rules.Stale] is false whatever the rules are.
func MayBeStale(e *event.Console) bool {
	return e.Level >= event.Warning && strings.HasPrefix(e.Text, "[")
}

// hotUpdate is the pack with the rules for development servers.
const hotUpdate = "hot-update"

func (r *Rule) matchesConsole(e *event.Console) bool {
	return (r.Via == "" || r.Via == e.Via) &&
		(r.origin == nil || r.ownWholly(e)) &&
		strings.HasPrefix(e.Text, r.prefix) && (r.text == nil || r.text.MatchString(e.Text))
}

// ownWholly reports whether only code of a rule's origin led to an entry. An extension that wraps the console is on top
// of the stack of every entry that a page logs.
func (r *Rule) ownWholly(e *event.Console) bool {
	return r.origin.MatchString(e.URL) && !slices.ContainsFunc(e.Stack, func(line string) bool {
		_, place, ok := event.CutFrame(line)
		return ok && place != "" && place[0] != ':' && !strings.HasPrefix(place, "<") && !r.origin.MatchString(place)
	})
}

// Network returns the rule that classifies the request as noise, or nil.
func (r *Rules) Network(e *event.Network) *Rule {
	if !r.addresses.worthTrying(e.URL) {
		return nil
	}
	i := slices.IndexFunc(r.network, func(rule *Rule) bool {
		// A broken server stream counts as a closed socket.
		broke := (e.Stream || e.Resource == "eventsource" || strings.Contains(e.URL, "/sockjs-node/")) && e.Status > 0 && e.Status < 400
		return (rule.Failures || broke || !e.Failed()) && rule.url.MatchString(e.URL)
	})
	if i < 0 {
		return nil
	}
	return r.network[i]
}

// Socket returns the rule that classifies the connection as noise, or nil.
func (r *Rules) Socket(e *event.WebSocket) *Rule {
	i := slices.IndexFunc(r.websocket, func(rule *Rule) bool {
		return (rule.origin == nil || len(e.Stack) > 0 && rule.origin.MatchString(e.Stack[0])) && rule.url.MatchString(e.URL)
	})
	if i < 0 {
		return nil
	}
	return r.websocket[i]
}

// SocketOf returns the rule that classifies the socket as noise of which the browser logged that it failed, or nil. The entry
// names the script, not what in it opened the socket: logged returns what the script had logged itself.
func (r *Rules) SocketOf(e *event.Console, logged func(script string) iter.Seq[string]) *Rule {
	url, ok := event.FailedSocket(e)
	if !ok {
		return nil
	}
	for _, rule := range r.websocket {
		if rule.text == nil || !rule.url.MatchString(url) {
			continue
		}
		for text := range logged(e.URL) {
			if rule.text.MatchString(text) {
				return rule
			}
		}
	}
	return nil
}

// Update returns the hot update that a console entry or socket frame shows: hot_update, hot_update_failed or "".
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
		if rule := r.whole().Socket(e); rule != nil {
			return rule.mark(e.Text).How
		}
		for _, rule := range r.whole().frames {
			if how := rule.mark(e.Text).How; how != "" {
				return how
			}
		}
	}
	return ""
}

// mark returns the first of a rule's marks that matches a text, or an empty one.
func (r *Rule) mark(text string) Mark {
	for _, m := range r.Marks {
		if m.text.MatchString(text) {
			return m
		}
	}
	return Mark{}
}

package noiserules

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/host/internal/noise"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/window"
)

// Tools lists the tools that change noise rules.
var Tools = []*tool.Tool[*Rules]{
	configureNoiseTool,
}

// NoiseParams are the arguments of configure_noise.
type NoiseParams struct {
	// Action is list (the default), add, remove, enable, disable, explain or suggest.
	Action string `json:"action,omitempty"`
	// ID is the id of the rule to remove, or of the rule to add.
	ID string `json:"id,omitempty"`
	// Pack is the pack to enable or disable.
	Pack string `json:"pack,omitempty"`
	// The conditions of the rule to add; Text also narrows explain.
	Kind        string `json:"kind,omitempty"`
	Level       string `json:"level,omitempty"`
	Origin      string `json:"origin,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Text        string `json:"text,omitempty"`
	HideNew     bool   `json:"hide_new,omitempty"`
	// Expires is when the rule ends, as [noise.ParseEnd] reads it; "" means with the session.
	Expires string `json:"expires,omitempty"`
	Note    string `json:"note,omitempty"`
}

// NoiseAnswer is the answer of configure_noise.
type NoiseAnswer struct {
	// PageText is [report.Untrusted] if entries quote pages.
	PageText string `json:"page_text,omitempty"`
	// Added is the new rule, Replaced the rule that it replaced, and Removed the removed rule.
	Added    *NoiseRule `json:"added,omitempty"`
	Replaced *NoiseRule `json:"replaced,omitempty"`
	Removed  *NoiseRule `json:"removed,omitempty"`
	// Hidden counts the entries in memory that noise rules hide.
	Hidden int         `json:"hidden,omitempty"`
	Packs  []NoisePack `json:"packs,omitempty"`
	Rules  []NoiseRule `json:"rules,omitempty"`
	// Entries are explained, the most frequent first; Omitted counts the others.
	Entries     []NoiseEntry      `json:"entries,omitempty"`
	Omitted     int               `json:"omitted,omitempty"`
	Suggestions []NoiseSuggestion `json:"suggestions,omitempty"`
	// Note says why there are no suggestions.
	Note string `json:"note,omitempty"`
	// Problems describe rules that are not used, and why.
	Problems []string `json:"problems,omitempty"`
	// Unsaved says why a change is in memory only.
	Unsaved string `json:"unsaved,omitempty"`
}

// NoiseRule is a rule with its owner and the number of entries in memory that it hides.
type NoiseRule struct {
	*noise.UserRule
	Expires *report.Time `json:"expires,omitempty"`
	Made    *report.Time `json:"made,omitempty"`
	// Of is the owner: user, session or project.
	Of    string `json:"of"`
	Hides int    `json:"hides"`
}

func ruleLine(r *noise.UserRule, of string, hides int) NoiseRule {
	line := NoiseRule{UserRule: r, Of: of, Hides: hides}
	if !r.Expires.IsZero() {
		line.Expires = &report.Time{Time: r.Expires}
	}
	if !r.Made.IsZero() {
		line.Made = &report.Time{Time: r.Made}
	}
	return line
}

// ownLine returns the line of a rule of the user or of a session.
func ownLine(r *noise.UserRule, hides int) NoiseRule {
	if r.Session {
		return ruleLine(r, "session", hides)
	}
	return ruleLine(r, "user", hides)
}

// NoisePack is a pack of built-in rules.
type NoisePack struct {
	Name  string `json:"name"`
	On    bool   `json:"on"`
	About string `json:"about"`
	Hides int    `json:"hides"`
}

// NoiseEntry is one distinct entry, with whether it is hidden and why.
type NoiseEntry struct {
	Kind        string `json:"kind"`
	Level       string `json:"level"`
	Origin      string `json:"origin,omitempty"`
	Fingerprint string `json:"fingerprint"`
	Count       int    `json:"count"`
	Hidden      bool   `json:"hidden"`
	Because     string `json:"because"`
}

// NoiseSuggestion is a rule that would hide an entry that repeats while nothing is wrong.
type NoiseSuggestion struct {
	Kind        string `json:"kind"`
	Level       string `json:"level"`
	Origin      string `json:"origin,omitempty"`
	Fingerprint string `json:"fingerprint"`
	// WouldHide counts the entries in memory that it would have hidden, CleanPeriods the clean periods that had
	// any.
	WouldHide    int `json:"would_hide"`
	CleanPeriods int `json:"clean_periods"`
}

// maxExplained and maxSuggested bound an answer's lists.
const (
	maxExplained = 30
	maxSuggested = 10
)

var configureNoiseTool = tool.New(tool.Definition{
	Name: "configure_noise", Title: "Noise rules", Effect: tool.Destroys,
	Description: "Manage what answers hide as noise (noise_hidden): list rules and packs, explain what is hidden, suggest rules, add or remove one.",
	Arguments: `
		"action":{"type":"string","enum":["list","add","remove","enable","disable","explain","suggest"]},
		"id":{"type":"string"},
		"pack":{"type":"string","description":"to enable or disable"},
		"kind":{"type":"string","enum":["console","network","websocket"]},
		"level":{"type":"string","enum":["info","warning","error"],"description":"highest level to hide, default warning; failed requests are errors"},
		"origin":{"type":"string"},
		"fingerprint":{"type":"string","description":"from explain or suggest"},
		"text":{"type":"string","description":"part of the message or address; * matches anything"},
		"hide_new":{"type":"boolean","description":"also hide what first appears after a checkpoint"},
		"expires":{"type":"string","description":"8h, 7d, date, never; default: until you disconnect"},
		"note":{"type":"string"}`,
}, (*Rules).ConfigureNoise)

// ConfigureNoise implements the tool configure_noise.
func (e *Rules) ConfigureNoise(_ context.Context, client *checkpoint.Client, p NoiseParams) (*NoiseAnswer, error) {
	switch p.Action {
	case "", "list":
		return e.listNoise(client), nil
	case "add":
		return e.addNoise(client, p)
	case "remove":
		return e.removeNoise(client, p.ID)
	case "enable", "disable":
		return e.switchPack(client, p.Pack, p.Action == "enable")
	case "explain":
		return e.explainNoise(client, p.Text), nil
	case "suggest":
		return e.suggestNoise(client), nil
	}
	return nil, usererr.Invalid("action is %q; it must be list, add, remove, enable, disable, explain or suggest", p.Action)
}

// entries calls each with every entry in memory that a client's report could contain.
func (e *Rules) entries(client *checkpoint.Client, rules *noise.Rules, each func(window.Entry)) *capture.View {
	v := e.store.View(e.clock())
	window.Entries(v.Start(), v, window.Options{Origins: client.Scope.Origins, Noise: rules, Beginning: true}, each)
	return v
}

func (e *Rules) listNoise(client *checkpoint.Client) *NoiseAnswer {
	u := e.Of(client)
	a := &NoiseAnswer{Problems: u.Problems}
	byRule, byPack := map[*noise.UserRule]int{}, map[string]int{}
	e.entries(client, u.Rules, func(n window.Entry) {
		switch {
		case n.BuiltIn != nil:
			byPack[n.BuiltIn.Pack]++
			a.Hidden++
		case n.Hidden():
			byRule[n.User]++
			a.Hidden++
		}
	})
	for _, p := range noise.Packs {
		a.Packs = append(a.Packs, NoisePack{p.Name, !slices.Contains(u.off, p.Name), p.About, byPack[p.Name]})
	}
	for _, r := range u.User {
		a.Rules = append(a.Rules, ownLine(r, byRule[r]))
	}
	if u.project != nil {
		for _, r := range u.project.Rules {
			a.Rules = append(a.Rules, ruleLine(r, "project", byRule[r]))
		}
	}
	if slices.ContainsFunc(a.Rules, func(r NoiseRule) bool { return r.Fingerprint != "" }) {
		a.PageText = report.Untrusted
	}
	return a
}

// ruleID matches a valid id of a rule.
var ruleID = lazyregexp.New(`^[a-z0-9][a-z0-9_-]{0,49}$`)

// RuleOf returns the rule that the arguments describe, after checking it.
func (p *NoiseParams) RuleOf(now time.Time, location *time.Location) (*noise.UserRule, error) {
	r := &noise.UserRule{
		ID: p.ID, Kind: p.Kind, Level: p.Level, Origin: p.Origin, Fingerprint: p.Fingerprint, Text: p.Text,
		HideNew: p.HideNew, Note: event.Clean(p.Note), Made: now.UTC().Truncate(time.Millisecond),
	}
	if p.ID != "" && !ruleID().MatchString(p.ID) {
		return nil, usererr.Invalid("id is %q; use at most 50 lowercase letters, digits, _ and -", p.ID)
	}
	if err := r.Check(); err != nil {
		return nil, usererr.Invalid("cannot add the rule: %v", err)
	}
	end := p.Expires
	if end == "" {
		end = "session"
	}
	var err error
	if r.Expires, r.Session, err = noise.ParseEnd(end, now, location); err != nil {
		return nil, usererr.Invalid("cannot add the rule: %v", err)
	}
	return r, nil
}

func (e *Rules) addNoise(client *checkpoint.Client, p NoiseParams) (*NoiseAnswer, error) {
	rule, err := p.RuleOf(e.clock(), e.location)
	if err != nil {
		return nil, err
	}
	rule.By = e.clients.NameOf(client)
	a := &NoiseAnswer{}
	if err := e.add(e.sessionOf(client), rule, e.clock(), a); err != nil {
		return nil, err
	}
	hides := 0
	e.entries(client, e.table.With(nil, []*noise.UserRule{rule}), func(n window.Entry) {
		if n.User != nil {
			hides++
		}
	})
	added := ownLine(rule, hides)
	a.Added = &added
	return a, nil
}

// sessionOf returns the client whose disconnection ends its session. It is nil for a client that connects for each
// call: its session is the daemon's life.
func (e *Rules) sessionOf(client *checkpoint.Client) *checkpoint.Client {
	if e.clients.Connected(client) {
		return client
	}
	return nil
}

// add adds a rule and replaces one that hides the same.
func (e *Rules) add(session *checkpoint.Client, rule *noise.UserRule, now time.Time, a *NoiseAnswer) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pruneLocked(now)
	taken := map[string]bool{}
	var same *noise.UserRule
	for _, r := range e.allLocked() {
		taken[r.ID] = true
		if r.Same(rule) && r.HideNew == rule.HideNew {
			same = r
		}
	}
	switch {
	case rule.ID == "" && same != nil:
		rule.ID = same.ID
	case rule.ID == "":
		for i := 1; rule.ID == "" || taken[rule.ID]; i++ {
			rule.ID = "n" + strconv.Itoa(i)
		}
	case taken[rule.ID] && (same == nil || same.ID != rule.ID):
		return usererr.New(usererr.AlreadyExists, "noise rule %q already exists; remove it first or use another id", rule.ID)
	}
	if same != nil {
		before := ownLine(same, 0)
		a.Replaced = &before
		e.dropLocked(same)
	} else if len(taken) >= noise.MaxUserRules {
		return usererr.New(usererr.LimitReached, "there are already %d noise rules, the maximum; remove some first", len(taken))
	}
	if rule.Session {
		e.sessions = append(e.sessions, sessionRule{rule, session})
	} else {
		e.user.Settings.Rules = append(e.user.Settings.Rules, rule)
	}
	a.Unsaved = e.savedLocked()
	return nil
}

// pruneLocked drops expired rules.
func (e *Rules) pruneLocked(now time.Time) {
	ended := func(r *noise.UserRule) bool { return r.Ended(now) }
	e.user.Settings.Rules = slices.DeleteFunc(e.user.Settings.Rules, ended)
	e.sessions = slices.DeleteFunc(e.sessions, func(r sessionRule) bool { return ended(r.UserRule) })
}

// allLocked returns the rules of the user and of sessions.
func (e *Rules) allLocked() []*noise.UserRule {
	all := slices.Clone(e.user.Settings.Rules)
	for _, r := range e.sessions {
		all = append(all, r.UserRule)
	}
	return all
}

func (e *Rules) dropLocked(rule *noise.UserRule) {
	e.user.Settings.Rules = slices.DeleteFunc(e.user.Settings.Rules, func(r *noise.UserRule) bool { return r == rule })
	e.sessions = slices.DeleteFunc(e.sessions, func(r sessionRule) bool { return r.UserRule == rule })
}

// savedLocked applies a change and saves it. It returns the reason if it cannot be saved, "" otherwise.
func (e *Rules) savedLocked() string {
	e.changedLocked()
	if e.user.Save == nil {
		return ""
	}
	if err := e.user.Save(e.user.Settings); err != nil {
		return fmt.Sprintf("it is in memory only: %v", err)
	}
	return ""
}

func (e *Rules) removeNoise(client *checkpoint.Client, id string) (*NoiseAnswer, error) {
	if id == "" {
		return nil, usererr.Invalid("id is missing; pass the id of a rule from list")
	}
	u := e.Of(client)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pruneLocked(e.clock())
	var ids []string
	for _, r := range e.allLocked() {
		if r.ID == id {
			e.dropLocked(r)
			removed := ownLine(r, 0)
			return &NoiseAnswer{Removed: &removed, Unsaved: e.savedLocked()}, nil
		}
		ids = append(ids, r.ID)
	}
	if u.project != nil && slices.ContainsFunc(u.project.Rules, func(r *noise.UserRule) bool { return r.ID == id }) {
		return nil, usererr.Invalid("noise rule %q is in the project's .tidemark.toml; remove it there", id)
	}
	if noise.IsPack(id) {
		return nil, usererr.Invalid("%s is a pack; turn it off with disable", id)
	}
	if len(ids) == 0 {
		return nil, usererr.New(usererr.NotFound, "there is no noise rule %q; there are no rules", id)
	}
	if len(ids) == 1 {
		return nil, usererr.New(usererr.NotFound, "there is no noise rule %q; the only one is %s", id, ids[0])
	}
	return nil, usererr.New(usererr.NotFound, "there is no noise rule %q; rules are %s", id, strings.Join(ids, ", "))
}

func (e *Rules) switchPack(client *checkpoint.Client, pack string, on bool) (*NoiseAnswer, error) {
	if !noise.IsPack(pack) {
		var names []string
		for _, p := range noise.Packs {
			names = append(names, p.Name)
		}
		return nil, usererr.New(usererr.NotFound, "there is no pack %q; packs are %s", pack, strings.Join(names, ", "))
	}
	e.mu.Lock()
	s := e.user.Settings
	s.Off = slices.DeleteFunc(s.Off, func(name string) bool { return name == pack })
	if !on {
		s.Off = append(s.Off, pack)
	}
	unsaved := e.savedLocked()
	e.mu.Unlock()
	a := e.listNoise(client)
	a.Unsaved, a.Rules = unsaved, nil
	if u := e.Of(client); on && slices.Contains(u.off, pack) {
		a.Problems = append(slices.Clone(a.Problems), "the project's .tidemark.toml still turns "+pack+" off")
	}
	return a, nil
}

// EntryKey identifies entries that noise rules treat as one.
type EntryKey struct {
	Kind, Origin, Fold string
	Level              event.Level
}

// EntryKeyOf returns the key of an event.
func EntryKeyOf(ev event.Event) EntryKey {
	k := EntryKey{Origin: ev.Header().Origin(), Fold: window.Fold(ev), Level: noise.LevelOf(ev)}
	switch ev.(type) {
	case *event.Console:
		k.Kind = "console"
	case *event.Network:
		k.Kind = "network"
	case *event.WebSocket:
		k.Kind = "websocket"
	}
	return k
}

// explainNoise says whether and why the entries in memory that contain a text are hidden. Without a text it explains
// all hidden entries.
func (e *Rules) explainNoise(client *checkpoint.Client, text string) *NoiseAnswer {
	u := e.Of(client)
	a := &NoiseAnswer{Problems: u.Problems}
	found := map[EntryKey]*NoiseEntry{}
	var list []*NoiseEntry
	e.entries(client, u.Rules, func(n window.Entry) {
		if n.Hidden() {
			a.Hidden++
		}
		if text == "" && !n.Hidden() || !strings.Contains(strings.ToLower(textOf(n.Event)), strings.ToLower(text)) {
			return
		}
		k := EntryKeyOf(n.Event)
		known := found[k]
		if known == nil {
			level := k.Level
			if c, ok := n.Event.(*event.Console); ok && !n.Hidden() {
				level, _, _ = u.Rules.Stale(c)
			}
			known = &NoiseEntry{Kind: k.Kind, Level: level.String(), Origin: k.Origin, Fingerprint: k.Fold, Hidden: n.Hidden(), Because: u.Because(n)}
			found[k] = known
			list = append(list, known)
		}
		known.Count++
	})
	slices.SortStableFunc(list, func(a, b *NoiseEntry) int { return cmp.Compare(b.Count, a.Count) })
	a.Omitted = max(0, len(list)-maxExplained)
	for _, l := range list[:len(list)-a.Omitted] {
		a.Entries = append(a.Entries, *l)
	}
	if len(a.Entries) > 0 {
		a.PageText = report.Untrusted
	}
	return a
}

func textOf(ev event.Event) string {
	switch e := ev.(type) {
	case *event.Console:
		return e.Text
	case *event.Network:
		return e.Method + " " + e.URL
	case *event.WebSocket:
		return e.URL + " " + e.Text
	}
	return ""
}

// Because says why an entry is hidden or not.
func (u *InUse) Because(n window.Entry) string {
	switch {
	case n.BuiltIn != nil && u.Rules.FailedUpdate(n.Event):
		return fmt.Sprintf("pack %s: a hot update failed, and its page was reloaded, updated or closed since", n.BuiltIn.Pack)
	case n.BuiltIn != nil:
		return fmt.Sprintf("pack %s: %s", n.BuiltIn.Pack, n.BuiltIn.About)
	case n.User != nil && n.User.HideNew:
		return fmt.Sprintf("rule %s: %s", n.User.ID, n.User)
	case n.User != nil:
		return fmt.Sprintf("rule %s: %s; shown after checkpoints older than the first of these", n.User.ID, n.User)
	case u.Rules.FailedUpdate(n.Event):
		return "no rule hides a failed hot update"
	}
	rules := u.User
	if u.project != nil {
		rules = slices.Concat(rules, u.project.Rules)
	}
	for _, r := range rules {
		if why := r.MissesBy(n.Event, window.Fold); why != "" {
			return fmt.Sprintf("rule %s matches, but %s", r.ID, why)
		}
	}
	return "no rule matches"
}

package noise

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
)

// Kinds are what a user's rule can be about.
var Kinds = []string{"console", "network", "websocket"}

// Limits of a user's rules.
const (
	// MaxUserRules is how many a user, and how many a project, can have.
	MaxUserRules = 250
	// MaxRuleText is the longest text or fingerprint, in bytes.
	MaxRuleText = 1000
	maxRuleNote = 200 // bytes
	// minLiteral is the number of characters that a text needs in a row. A shorter one would hide nearly everything.
	minLiteral = 3
)

// UserRule is a rule of a user, an agent or a project. An entry must meet every condition that is set.
type UserRule struct {
	// ID identifies it among the rules of its owner.
	ID string `json:"id" toml:"id"`
	// Kind is console, network or websocket; "" is any.
	Kind string `json:"kind,omitempty" toml:"kind"`
	// Level is the highest level that it hides, "warning" if it is "". A failed request is an error, a
	// connection that ended or failed is a warning, and other requests and connections are info.
	Level string `json:"level,omitempty" toml:"level"`
	// Origin is the origin of the page; "" is any.
	Origin string `json:"origin,omitempty" toml:"origin"`
	// Fingerprint matches exactly one entry whose variable parts, such as numbers and ids, are folded.
	Fingerprint string `json:"fingerprint,omitempty" toml:"fingerprint"`
	// Text is a part of a message or address; * matches anything.
	Text string `json:"text,omitempty" toml:"text"`
	// HideNew makes it hide entries that first appeared after the checkpoint of the comparison, too.
	HideNew bool `json:"hide_new,omitempty" toml:"hide_new"`
	// Expires is when the rule ends; zero is never.
	Expires time.Time `json:"expires,omitzero" toml:"-"`
	// Session says that it ends with the session that added it.
	Session bool   `json:"session,omitempty" toml:"-"`
	Note    string `json:"note,omitempty" toml:"note"`
	// By is the client that added it.
	By string `json:"by,omitempty" toml:"-"`
	// Made is when it was added; zero for a project's rule.
	Made time.Time `json:"made,omitzero" toml:"-"`

	level event.Level
	parts []string // of Text, between the stars
	any   bool     // of every kind
}

// Check prepares the rule for matching. Its error says what is wrong and what to do.
func (r *UserRule) Check() error {
	r.Text, r.Fingerprint = strings.TrimSpace(r.Text), strings.TrimSpace(r.Fingerprint)
	if r.Kind != "" && !slices.Contains(Kinds, r.Kind) {
		return fmt.Errorf("kind is %q; it must be console, network or websocket, or omitted for all three", r.Kind)
	}
	r.any = r.Kind == ""
	r.level = event.Warning
	if r.Level != "" {
		var ok bool
		if r.level, ok = event.ParseLevel(r.Level); !ok {
			return fmt.Errorf("level is %q; it must be debug, log, info, warning or error: the highest level to hide", r.Level)
		}
	}
	if r.Origin != "" {
		origin, err := event.ParseOrigin(r.Origin)
		if err != nil {
			return fmt.Errorf("origin: %w", err)
		}
		r.Origin = origin
	}
	if r.Text == "" && r.Fingerprint == "" {
		return fmt.Errorf("it has neither text nor fingerprint and would hide everything of its kind; set text to a part of the message or address")
	}
	if len(r.Text) > MaxRuleText || len(r.Fingerprint) > MaxRuleText {
		return fmt.Errorf("text and fingerprint have at most %d bytes; a distinctive part of the entry is enough", MaxRuleText)
	}
	if len(r.Note) > maxRuleNote {
		return fmt.Errorf("the note has %d bytes; the limit is %d", len(r.Note), maxRuleNote)
	}
	if r.Fingerprint != "" && r.Kind == "" {
		return fmt.Errorf("a fingerprint needs its kind: console, network or websocket; configure_noise with the action explain shows both")
	}
	r.parts = nil
	longest := 0
	for part := range strings.SplitSeq(r.Text, "*") {
		if part != "" {
			r.parts = append(r.parts, part)
			longest = max(longest, len(part))
		}
	}
	if r.Text != "" && longest < minLiteral {
		return fmt.Errorf("text is %q; it needs at least %d characters in a row, or it would hide nearly everything", r.Text, minLiteral)
	}
	return nil
}

// MissesBy says why a rule that matches an event in all but its level does not hide it. It returns "" if the rule does
// not match, or hides the event.
func (r *UserRule) MissesBy(ev event.Event, fold Fold) string {
	s, ok := subjectOf(ev, fold)
	worse := *r
	worse.level = event.Error
	if !ok || r.holds(&s) || !worse.holds(&s) {
		return ""
	}
	return fmt.Sprintf("hides %ss at most; level %q would include this", r.level, s.level)
}

// Ended reports whether the rule has expired.
func (r *UserRule) Ended(now time.Time) bool { return !r.Expires.IsZero() && !now.Before(r.Expires) }

// Same reports whether both rules have the same conditions.
func (r *UserRule) Same(o *UserRule) bool {
	return r.Kind == o.Kind && r.level == o.level && r.Origin == o.Origin && r.Fingerprint == o.Fingerprint && r.Text == o.Text
}

// String describes what the rule hides.
func (r *UserRule) String() string {
	words := []string{"entries", "up to level " + r.level.String()}
	if r.level == event.Error {
		words[1] = "of any level"
	}
	if r.Kind != "" {
		words = append([]string{r.Kind}, words...)
	}
	if r.Text != "" {
		words = append(words, "that contain "+strconv.Quote(r.Text))
	}
	if r.Fingerprint != "" {
		words = append(words, "with the fingerprint "+strconv.Quote(r.Fingerprint))
	}
	if r.Origin != "" {
		words = append(words, "on "+r.Origin)
	}
	return strings.Join(words, " ")
}

// ParseEnd parses when a rule ends: a duration (30m, 8h, 7d), a date or time, "session", or "never". A date means the
// end of that day in location.
func ParseEnd(s string, now time.Time, location *time.Location) (end time.Time, session bool, err error) {
	s = strings.TrimSpace(s)
	switch s {
	case "", "never":
		return time.Time{}, false, nil
	case "session":
		return time.Time{}, true, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= 3650 {
			return now.AddDate(0, 0, n).UTC(), false, nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d > 0 {
		return now.Add(d).UTC(), false, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		end = t
	} else if day, err := time.ParseInLocation(time.DateOnly, s, location); err == nil {
		end = day.AddDate(0, 0, 1)
	} else {
		return time.Time{}, false, fmt.Errorf("expires is %q; it must be a duration (30m, 8h, 7d), a date (2026-12-31), a time (2026-12-31T18:00:00Z), session or never", s)
	}
	if !end.After(now) {
		return time.Time{}, false, fmt.Errorf("expires is %q, which is in the past; it is %s now", s, now.UTC().Format(time.RFC3339))
	}
	return end.UTC(), false, nil
}

// subject holds the parts of an event that rules match.
type subject struct {
	kind   string
	level  event.Level
	origin string
	text   string
	second string // another text that a rule's text may match
	ev     event.Event
	fold   Fold
	folded string
	isFold bool
}

// Fold returns an event's fingerprint, "" if it has no fingerprint. Package diff provides it.
type Fold func(event.Event) string

func subjectOf(ev event.Event, fold Fold) (s subject, ok bool) {
	s.ev, s.fold = ev, fold
	switch e := ev.(type) {
	case *event.Console:
		s.kind, s.level, s.origin, s.text = "console", e.Level, e.Origin(), e.Text
	case *event.Network:
		s.kind, s.level, s.origin, s.text = "network", event.Info, e.Origin(), e.URL
		if e.Failed() {
			s.level = event.Error
		}
	case *event.WebSocket:
		s.kind, s.level, s.origin, s.text, s.second = "websocket", event.Info, e.Origin(), e.URL, e.Text
		if e.Bad || e.Op == "close" {
			s.level = event.Warning
		}
	default:
		return s, false
	}
	return s, true
}

// LevelOf returns the level of an event for users' rules.
func LevelOf(ev event.Event) event.Level {
	s, _ := subjectOf(ev, nil)
	return s.level
}

func (s *subject) fingerprint() string {
	if !s.isFold {
		s.folded, s.isFold = s.fold(s.ev), true
	}
	return s.folded
}

func (r *UserRule) holds(s *subject) bool {
	return s.level <= r.level && (r.any || r.Kind == s.kind) && (r.Origin == "" || r.Origin == s.origin) &&
		(len(r.parts) == 0 || containsInOrder(s.text, r.parts) || s.second != "" && containsInOrder(s.second, r.parts)) &&
		(r.Fingerprint == "" || r.Fingerprint == s.fingerprint())
}

func containsInOrder(s string, parts []string) bool {
	for _, p := range parts {
		i := strings.Index(s, p)
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return true
}

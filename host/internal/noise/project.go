package noise

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"tidemark.dev/tidemark/host/internal/lazyregexp"
)

// Project holds the noise settings of a project's file.
type Project struct {
	// Off lists the packs that are off.
	Off   []string
	Rules []*UserRule
	// Problems describe the lines that are not used, each with what to do.
	Problems []string
}

// projectRule is a rule as written in the file.
type projectRule struct {
	UserRule
	// Expires is a date or a time, with or without quotes.
	Expires any `toml:"expires"`
}

// Limits of a project's file. Parsing takes time in proportion to the square of its keys.
const (
	MaxProjectFile = 256 << 10 // bytes
	MaxProjectKeys = 4096
)

// maxBadLines is how many lines with invalid TOML are skipped before the whole file is rejected.
const maxBadLines = 20

// ruleHeader matches the first line of a rule.
var ruleHeader = lazyregexp.New(`^\s*\[\[\s*noise\s*\.\s*rules\s*\]\]`)

// tableHeader matches the header of a table, and noiseHeader that of a noise table.
var (
	tableHeader = lazyregexp.New(`^[ \t]*\[\[?[ \t]*["'A-Za-z0-9_-]`)
	noiseHeader = lazyregexp.New(`^[ \t]*\[\[?[ \t]*["']?noise\b`)
)

// WithoutNoise returns a project's file with the lines of its noise tables emptied. The other lines keep their numbers.
func WithoutNoise(file []byte) []byte {
	lines := bytes.Split(bytes.Clone(file), []byte("\n"))
	within := false
	for i, l := range lines {
		if tableHeader().Match(l) {
			within = noiseHeader().Match(l)
		}
		if within {
			lines[i] = nil
		}
	}
	return bytes.Join(lines, []byte("\n"))
}

// ParseProject parses a project's file. It skips what it cannot read and reports it by line, so that a mistake in one
// rule does not disable another. Times without a zone are in location.
func ParseProject(file []byte, now time.Time, location *time.Location) *Project {
	p := &Project{}
	var doc struct {
		Noise struct {
			Off   []string         `toml:"off"`
			Rules []map[string]any `toml:"rules"`
		} `toml:"noise"`
	}
	lines := bytes.Split(bytes.Clone(file), []byte("\n"))
	for bad := 0; ; bad++ {
		err := toml.Unmarshal(bytes.Join(lines, []byte("\n")), &doc)
		if err == nil {
			break
		}
		var at *toml.DecodeError
		if !errors.As(err, &at) || bad == maxBadLines {
			p.say(0, "cannot read the file: %v; none of its noise rules is used", err)
			return p
		}
		line, _ := at.Position()
		if line < 1 || line > len(lines) || len(bytes.TrimSpace(lines[line-1])) == 0 {
			p.say(line, "cannot read the file: %v; none of its noise rules is used", err)
			return p
		}
		p.say(line, "ignored, because it is not valid: %s. Fix the line.", strings.TrimPrefix(at.Error(), "toml: "))
		lines[line-1] = nil
		doc.Noise.Off, doc.Noise.Rules = nil, nil
	}
	var starts []int
	for i, l := range lines {
		if ruleHeader().Match(l) {
			starts = append(starts, i+1)
		}
	}
	var all struct {
		Noise map[string]any `toml:"noise"`
	}
	if err := toml.Unmarshal(bytes.Join(lines, []byte("\n")), &all); err == nil {
		for _, name := range slices.Sorted(maps.Keys(all.Noise)) {
			if name != "off" && name != "rules" {
				p.say(0, "unknown key noise.%s; use noise.off or [[noise.rules]]", name)
			}
		}
	}
	for _, name := range doc.Noise.Off {
		if !IsPack(name) {
			p.say(0, "noise.off: there is no pack %q; packs are %s", name, packNames())
			continue
		}
		p.Off = append(p.Off, name)
	}
	taken := map[string]bool{}
	for i, fields := range doc.Noise.Rules {
		line := 0
		if len(starts) == len(doc.Noise.Rules) {
			line = starts[i]
		}
		rule, err := projectRuleOf(fields, now, location)
		switch {
		case err != nil:
			p.say(line, "noise rule %d: %v; the rule is not used", i+1, err)
			continue
		case len(p.Rules) == MaxUserRules:
			p.say(line, "more than %d noise rules; this one and those below are not used: remove some", MaxUserRules)
			return p
		}
		if rule.ID == "" {
			rule.ID = fmt.Sprintf("p%d", i+1)
		}
		if taken[rule.ID] {
			p.say(line, "noise rule %d: the id %q is already taken; the rule is not used: give it another id", i+1, rule.ID)
			continue
		}
		taken[rule.ID] = true
		p.Rules = append(p.Rules, rule)
	}
	return p
}

func packNames() string {
	var names []string
	for _, p := range Packs {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

func (p *Project) say(line int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if line > 0 {
		text = fmt.Sprintf("line %d: %s", line, text)
	}
	p.Problems = append(p.Problems, text)
}

func projectRuleOf(fields map[string]any, now time.Time, location *time.Location) (*UserRule, error) {
	data, err := toml.Marshal(fields)
	if err != nil {
		return nil, err
	}
	var r projectRule
	d := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		var strict *toml.StrictMissingError
		if errors.As(err, &strict) && len(strict.Errors) > 0 {
			return nil, fmt.Errorf("unknown key %q; a rule has id, kind, level, origin, fingerprint, text, hide_new, expires and note", strings.Join(strict.Errors[0].Key(), "."))
		}
		return nil, errors.New(strings.TrimPrefix(err.Error(), "toml: "))
	}
	rule := &r.UserRule
	if rule.Expires, err = projectEnd(r.Expires, location); err != nil {
		return nil, err
	}
	if rule.Ended(now) {
		return nil, fmt.Errorf("it expired at %s; remove it or set a later expires", rule.Expires.Format(time.RFC3339))
	}
	return rule, rule.Check()
}

// projectEnd parses when a rule of a file ends. It accepts no duration: a file has no time that one could start at.
func projectEnd(v any, location *time.Location) (time.Time, error) {
	switch v := v.(type) {
	case nil:
		return time.Time{}, nil
	case time.Time:
		return v.UTC(), nil
	case toml.LocalDate:
		return v.AsTime(location).AddDate(0, 0, 1).UTC(), nil
	case toml.LocalDateTime:
		return v.AsTime(location).UTC(), nil
	case string:
		if t, err := time.Parse(time.RFC3339, v); err == nil {
			return t.UTC(), nil
		}
		if t, err := time.ParseInLocation(time.DateOnly, v, location); err == nil {
			return t.AddDate(0, 0, 1).UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("expires is %v; in a project's file it must be a date such as 2026-12-31 or a time such as 2026-12-31T18:00:00Z", v)
}

// ProjectTable returns a rule as TOML for a project's file.
func ProjectTable(r *UserRule) (string, error) {
	table := struct {
		ID          string `toml:"id,omitempty"`
		Kind        string `toml:"kind,omitempty"`
		Level       string `toml:"level,omitempty"`
		Origin      string `toml:"origin,omitempty"`
		Fingerprint string `toml:"fingerprint,omitempty"`
		Text        string `toml:"text,omitempty"`
		HideNew     bool   `toml:"hide_new,omitempty"`
		Expires     string `toml:"expires,omitempty"`
		Note        string `toml:"note,omitempty"`
	}{r.ID, r.Kind, r.Level, r.Origin, r.Fingerprint, r.Text, r.HideNew, "", r.Note}
	if !r.Expires.IsZero() {
		table.Expires = r.Expires.UTC().Format(time.RFC3339)
	}
	data, err := toml.Marshal(table)
	return "[[noise.rules]]\n" + string(data), err
}

// Command generate writes protocol/redaction-gitleaks.json: the rules of gitleaks about formats that begin with distinct
// characters, as patterns that mean the same in RE2 and JavaScript. It runs in the repository's root.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"

	"github.com/pelletier/go-toml/v2"

	"tidemark.dev/tidemark/host/internal/redact"
)

const (
	source = "github.com/zricethezav/gitleaks/v8"
	// version is the release whose rules are converted.
	version = "v8.30.1"
	target  = "protocol/redaction-gitleaks.json"
)

// left are the rules that are not converted, and why.
var left = map[string]string{
	"airtable-personnal-access-token": "begins like path and pattern",
	"clickhouse-cloud-api-secret-key": "looks like the start of a hash",
	"curl-auth-header":                "spans several lines",
	"curl-auth-user":                  "spans several lines",
	"gitlab-session-cookie":           "begins with the name of the cookie",
	"microsoft-teams-webhook":         "has a rule of its own",
	"square-access-token":             "begins like data in base64",
	"twilio-api-key":                  "has a rule of its own",
	"slack-webhook-url":               "has a rule of its own",
	"flutterwave-public-key":          "is public",
}

// terminator is how gitleaks ends a token.
const terminator = "(?:[\\x60'\"\\s;]|\\\\[nr]|$)"

// rule is a rule of gitleaks.
type rule struct {
	ID    string `toml:"id"`
	Regex string `toml:"regex"`
	Path  string `toml:"path"`
}

// generated is the shape of the file.
type generated struct {
	Note    string      `json:"note"`
	Source  string      `json:"source"`
	License []string    `json:"license"`
	Values  []converted `json:"values"`
}

type converted struct {
	ID      string   `json:"id"`
	Needs   []string `json:"needs"`
	Pattern string   `json:"pattern"`
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	out, err := exec.Command("go", "mod", "download", "-json", source+"@"+version).Output()
	if err != nil {
		return fmt.Errorf("download %s: %w", source, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return err
	}
	files := os.DirFS(module.Dir)
	license, err := fs.ReadFile(files, "LICENSE")
	if err != nil {
		return err
	}
	data, err := fs.ReadFile(files, "config/gitleaks.toml")
	if err != nil {
		return err
	}
	var config struct{ Rules []rule }
	if err := toml.Unmarshal(data, &config); err != nil {
		return err
	}
	file := generated{
		Note:    "Written by host/internal/redact/generate. Patterns of gitleaks whose matches begin with distinct characters.",
		Source:  source + " " + version + ", config/gitleaks.toml",
		License: strings.Split(strings.TrimSpace(string(license)), "\n"),
	}
	for _, r := range config.Rules {
		if r.Regex == "" || r.Path != "" || left[r.ID] != "" {
			continue
		}
		if v, ok := convert(r); ok && !ours(v.Needs) {
			file.Values = append(file.Values, v)
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(file); err != nil {
		return err
	}
	return os.WriteFile(target, b.Bytes(), 0o644)
}

// ours reports whether a rule of redaction.json is tried on texts with all of these.
func ours(needs []string) bool {
	return !slices.ContainsFunc(needs, func(need string) bool {
		return !slices.ContainsFunc(redact.OwnValues(), func(v redact.ValueRule) bool {
			return slices.ContainsFunc(v.Needs, func(n string) bool { return len(n) > 2 && strings.HasPrefix(need, n) })
		})
	})
}

// convert returns a rule as a portable pattern. It returns false for a rule without a distinct beginning.
func convert(r rule) (converted, bool) {
	text := strings.ReplaceAll(r.Regex, terminator, "")
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return converted{}, false
	}
	tree = plain(tree)
	begins, tree := beginnings(tree, r.Regex, true)
	if len(begins) == 0 || slices.ContainsFunc(begins, func(s string) bool { return !isDistinct(s) }) {
		return converted{}, false
	}
	widen(tree)
	pattern, ok := printed(tree, r.Regex, true)
	if !ok {
		return converted{}, false
	}
	pattern = `\b` + strings.ReplaceAll(pattern[:min(4, len(pattern))], `\b`, "") + pattern[min(4, len(pattern)):]
	regexp.MustCompile(pattern)
	return converted{ID: "gitleaks_" + strings.ReplaceAll(r.ID, "-", "_"), Needs: begins, Pattern: pattern}, true
}

// isDistinct reports whether words seldom begin like this.
func isDistinct(s string) bool {
	return len(s) >= 4 || len(s) == 3 && strings.ContainsAny(s, "_-.~")
}

// plain removes groups that only capture.
func plain(re *syntax.Regexp) *syntax.Regexp {
	if re.Op == syntax.OpCapture {
		return plain(re.Sub[0])
	}
	for i, sub := range re.Sub {
		re.Sub[i] = plain(sub)
	}
	if re.Op == syntax.OpConcat { // of what was in groups
		var all []*syntax.Regexp
		for _, sub := range re.Sub {
			if sub.Op == syntax.OpConcat {
				all = append(all, sub.Sub...)
			} else if sub.Op != syntax.OpEmptyMatch {
				all = append(all, sub)
			}
		}
		re.Sub = all
	}
	return re
}

// maxBeginnings bounds the literals of a rule.
const maxBeginnings = 8

// beginnings returns the literals with which each match begins, and the expression. With drop it is without the alternatives
// that begin with none.
func beginnings(re *syntax.Regexp, text string, drop bool) ([]string, *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{spelled(re, text)}, re
	case syntax.OpCharClass:
		var all []string
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for c := re.Rune[i]; c <= re.Rune[i+1] && len(all) <= maxBeginnings; c++ {
				all = append(all, string(c))
			}
		}
		if len(all) > maxBeginnings {
			return nil, re
		}
		return all, re
	case syntax.OpAlternate:
		var all []string
		var kept []*syntax.Regexp
		for _, sub := range re.Sub {
			begins, sub := beginnings(sub, text, drop)
			if len(begins) == 0 && !drop {
				return nil, re
			}
			if len(begins) > 0 {
				all = append(all, begins...)
				kept = append(kept, sub)
			}
		}
		if len(kept) == 1 {
			return all, kept[0]
		}
		alternatives := *re
		alternatives.Sub = kept
		return all, &alternatives
	case syntax.OpConcat:
		all := []string{""}
		kept := *re
		kept.Sub = slices.Clone(re.Sub)
		for i, sub := range re.Sub {
			if sub.Op == syntax.OpWordBoundary {
				continue
			}
			begins, part := beginnings(sub, text, drop && all[0] == "") // only the first part may lose alternatives
			kept.Sub[i] = part
			if len(begins) == 0 || len(begins)*len(all) > maxBeginnings {
				break
			}
			var longer []string
			for _, a := range all {
				for _, b := range begins {
					longer = append(longer, a+b)
				}
			}
			all = longer
			if sub.Op == syntax.OpAlternate { // its alternatives may go on
				break
			}
		}
		if all[0] == "" {
			return nil, re
		}
		return all, &kept
	}
	return nil, re
}

// spelled returns a literal. One of any case is spelled as in the text of the rule.
func spelled(re *syntax.Regexp, text string) string {
	s := string(re.Rune)
	if re.Flags&syntax.FoldCase == 0 {
		return s
	}
	if i := strings.Index(strings.ToLower(text), strings.ToLower(s)); i >= 0 {
		return text[i : i+len(s)]
	}
	return s
}

// widen lets the last part of a token be longer, so that no rest of it remains.
func widen(re *syntax.Regexp) {
	switch {
	case re.Op == syntax.OpRepeat && re.Max >= 0 && re.Sub[0].Op == syntax.OpCharClass:
		re.Max = -1
	case re.Op == syntax.OpConcat && len(re.Sub) > 0:
		widen(re.Sub[len(re.Sub)-1])
	case re.Op == syntax.OpAlternate:
		for _, sub := range re.Sub {
			widen(sub)
		}
	}
}

// printed writes an expression without flags and names. It returns false for what has no portable form. first is set until
// a literal was written.
func printed(re *syntax.Regexp, text string, first bool) (string, bool) {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return "", true
	case syntax.OpWordBoundary:
		return `\b`, true
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 || first {
			return regexp.QuoteMeta(spelled(re, text)), true
		}
		var b strings.Builder
		for _, c := range re.Rune {
			if low, up := unicode.ToLower(c), unicode.ToUpper(c); low != up {
				fmt.Fprintf(&b, "[%c%c]", up, low)
			} else {
				b.WriteString(regexp.QuoteMeta(string(c)))
			}
		}
		return b.String(), true
	case syntax.OpCharClass:
		return class(re.Rune)
	case syntax.OpConcat:
		var b strings.Builder
		for _, sub := range re.Sub {
			s, ok := printed(sub, text, first)
			if !ok {
				return "", false
			}
			if sub.Op == syntax.OpAlternate {
				s = "(?:" + s + ")"
			}
			b.WriteString(s)
			first = first && sub.Op == syntax.OpWordBoundary
		}
		return b.String(), true
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			s, ok := printed(sub, text, first)
			if !ok {
				return "", false
			}
			all = append(all, s)
		}
		return strings.Join(all, "|"), true
	case syntax.OpQuest, syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		s, ok := printed(re.Sub[0], text, first)
		if !ok {
			return "", false
		}
		if re.Sub[0].Op != syntax.OpCharClass && len(s) > 1 {
			s = "(?:" + s + ")"
		}
		return s + times(re), true
	}
	return "", false
}

func times(re *syntax.Regexp) string {
	switch {
	case re.Op == syntax.OpQuest:
		return "?"
	case re.Op == syntax.OpStar:
		return "*"
	case re.Op == syntax.OpPlus:
		return "+"
	case re.Max == re.Min:
		return fmt.Sprintf("{%d}", re.Min)
	case re.Max < 0:
		return fmt.Sprintf("{%d,}", re.Min)
	}
	return fmt.Sprintf("{%d,%d}", re.Min, re.Max)
}

// class writes the ASCII part of a class. It returns false for one with many other characters, as [^a] has.
func class(ranges []rune) (string, bool) {
	var b strings.Builder
	for i := 0; i+1 < len(ranges); i += 2 {
		from, to := ranges[i], ranges[i+1]
		if from > unicode.MaxASCII && to-from < 2 { // other cases of k and s
			continue
		}
		if to > unicode.MaxASCII {
			return "", false
		}
		b.WriteString(quoted(from))
		if to > from {
			if to > from+1 {
				b.WriteByte('-')
			}
			b.WriteString(quoted(to))
		}
	}
	return "[" + b.String() + "]", true
}

func quoted(c rune) string {
	if strings.ContainsRune(`\]^-[`, c) {
		return `\` + string(c)
	}
	if c < ' ' {
		return fmt.Sprintf(`\x%02x`, c)
	}
	return string(c)
}

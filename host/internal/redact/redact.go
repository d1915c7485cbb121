// Package redact takes secrets out of text, URLs, headers and bodies.
//
// It guarantees: what its rules call a secret is replaced by the mask and counted; applying it twice
// gives the same as once, with a second count of zero; text without a secret comes back unchanged
// and unallocated. The rules are data (protocol/redaction.json); the extension applies the same ones
// at the source, and the host applies them again to what arrives. It is pure.
//
// Two strengths of evidence are told apart. Structured data (JSON, forms, queries) masks the value
// of every secret key. Free text masks `password: …` but leaves prose ("Password: is too short",
// "Unexpected token: }") readable.
package redact

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"tidemark.dev/tidemark/protocol"
)

// Rules is the shape of protocol/redaction.json.
type Rules struct {
	// Mask stands in place of a secret.
	Mask string `json:"mask"`
	// Headers are the lower-case names of headers whose values are secret.
	Headers []string `json:"headers"`
	Keys    struct {
		// Any: a key is secret when one of its words is here.
		Any []string `json:"any"`
		// Last: a key is secret when its last word is here. Weak evidence in free text.
		Last []string `json:"last"`
		// Phrases: a key is secret when it contains these words in a row.
		Phrases []string `json:"phrases"`
		// InnocentLast: a key that ends in one of these words is no secret (password_length).
		InnocentLast []string `json:"innocent_last"`
		// Stems: a key that contains none of these is no secret; only for speed.
		Stems []string `json:"stems"`
		// Prose: after `password:` in free text these words begin a sentence, not a secret.
		Prose []string `json:"prose"`
	} `json:"keys"`
	// Values are secrets that are known by their own looks.
	Values []ValueRule `json:"values"`
}

// ValueRule is a secret that is known by its own looks.
type ValueRule struct {
	ID string `json:"id"`
	// Needs are literals of which a text must contain one, else the pattern is not tried.
	Needs []string `json:"needs"`
	// Pattern is a regular expression that RE2 and JavaScript read alike.
	Pattern string `json:"pattern"`
	// Keep and After stand around the mask; Keep may name groups of the pattern.
	Keep  string `json:"keep"`
	After string `json:"after"`
	// Luhn asks for the check digit of a payment card.
	Luhn bool `json:"luhn"`
}

// Redactor applies one set of rules. It never changes after [New] and is safe for concurrent use.
type Redactor struct {
	mask                                    string
	headers, any, last, innocentLast, prose map[string]bool
	phrases, stems                          []string
	values                                  []valueRule
}

type valueRule struct {
	ValueRule
	re *regexp.Regexp
}

// New compiles rules. The error names the rule that cannot be read.
func New(rulesJSON []byte) (*Redactor, error) {
	var rules Rules
	if err := json.Unmarshal(rulesJSON, &rules); err != nil {
		return nil, fmt.Errorf("redaction rules: %w", err)
	}
	r := &Redactor{
		mask:         rules.Mask,
		headers:      set(rules.Headers),
		any:          set(rules.Keys.Any),
		last:         set(rules.Keys.Last),
		innocentLast: set(rules.Keys.InnocentLast),
		prose:        set(rules.Keys.Prose),
		stems:        rules.Keys.Stems,
	}
	for _, p := range rules.Keys.Phrases {
		r.phrases = append(r.phrases, " "+p+" ")
		r.any[strings.ReplaceAll(p, " ", "")] = true
	}
	for _, v := range rules.Values {
		re, err := regexp.Compile(v.Pattern)
		if err != nil {
			return nil, fmt.Errorf("redaction rules: value %q: %w", v.ID, err)
		}
		r.values = append(r.values, valueRule{v, re})
	}
	return r, nil
}

// Default is made from the rules that Tidemark comes with.
func Default() *Redactor {
	r, err := New(protocol.RedactionRules)
	if err != nil {
		panic(err) // the rules are part of the program; a test reads them
	}
	return r
}

func set(words []string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}

// Text masks secrets in free text (console messages, frames, error elements) and counts them.
func (r *Redactor) Text(s string) (string, int) {
	if looksStructured(s) {
		return r.Body(s)
	}
	return r.mend(s, false)
}

// Body masks secrets in structured data: JSON or a form.
func (r *Redactor) Body(s string) (string, int) { return r.mend(s, true) }

// URL masks secrets in query, fragment and user info.
func (r *Redactor) URL(s string) (string, int) {
	i := strings.IndexAny(s, "?#")
	if i < 0 {
		return r.maskValues(s)
	}
	query, n := r.maskPairs(s[i:], true)
	if n > 0 {
		s = s[:i] + query
	}
	s, m := r.maskValues(s)
	return s, n + m
}

// Headers masks the values of secret headers, and secrets inside the others. It changes the map.
func (r *Redactor) Headers(h map[string]string) int {
	n := 0
	for name, value := range h {
		if value == "" || value == r.mask {
			continue
		}
		if r.SecretHeader(name) {
			h[name] = r.mask
			n++
			continue
		}
		if v, m := r.Text(value); m > 0 {
			h[name] = v
			n += m
		}
	}
	return n
}

// SecretHeader says whether a header's value is a secret as a whole.
func (r *Redactor) SecretHeader(name string) bool {
	return r.headers[strings.ToLower(name)] || r.SecretKey(name)
}

func looksStructured(s string) bool {
	return len(s) > 1 && (s[0] == '{' && (s[1] == '"' || s[1] == '\n') || s[0] == '[' && (s[1] == '{' || s[1] == '"'))
}

// mend masks pairs first: the value of a pair is masked as a whole, whatever it looks like.
func (r *Redactor) mend(s string, strict bool) (string, int) {
	s, n := r.maskPairs(s, strict)
	s, m := r.maskValues(s)
	return s, n + m
}

func (r *Redactor) maskValues(s string) (string, int) {
	n := 0
	for i := range r.values {
		rule := &r.values[i]
		if !rule.applies(s) {
			continue
		}
		s = rule.re.ReplaceAllStringFunc(s, func(found string) string {
			if strings.Contains(found, r.mask) || rule.Luhn && !luhn(found) {
				return found
			}
			n++
			keep := ""
			if rule.Keep != "" {
				keep = string(rule.re.ExpandString(nil, expandable(rule.Keep), found, rule.re.FindStringSubmatchIndex(found)))
			}
			return keep + r.mask + rule.After
		})
	}
	return s, n
}

// expandable turns $1$2 into ${1}${2}: JavaScript reads the first, Go wants the second.
func expandable(keep string) string {
	return groupRef.ReplaceAllString(keep, "$${$1}")
}

var groupRef = regexp.MustCompile(`\$(\d)`)

func (v *valueRule) applies(s string) bool {
	if v.Luhn {
		return hasDigits(s, 15)
	}
	for _, need := range v.Needs {
		if strings.Contains(s, need) {
			return true
		}
	}
	return false
}

// hasDigits says whether s has n digits in a row, single spaces or dashes between them allowed.
func hasDigits(s string, n int) bool {
	run, gap := 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			run, gap = run+1, 0
			if run == n {
				return true
			}
		case (c == ' ' || c == '-') && gap == 0:
			gap = 1
		default:
			run, gap = 0, 0
		}
	}
	return false
}

// luhn checks a card number's check digit, ISO/IEC 7812-1.
func luhn(s string) bool {
	sum, double := 0, false
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] < '0' || s[i] > '9' {
			continue
		}
		d := int(s[i] - '0')
		if double {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
		double = !double
	}
	return sum%10 == 0
}

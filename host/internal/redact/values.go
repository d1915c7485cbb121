package redact

import (
	"encoding/base64"
	mathbits "math/bits"
	"regexp"
	"strings"
	"unicode/utf8"
)

// valueRule is a compiled [ValueRule].
type valueRule struct {
	ValueRule
	find, unless func() *regexp.Regexp
	keep, after  string // as Go expands them
}

// needs finds in one pass the literals of a text that rules need.
type needs struct {
	// starts maps the first two bytes of a literal to its index in lists; 0 means none.
	starts [1 << 16]uint16
	lists  [][]need
	// always are the rules that need no literal.
	always ruleSet
}

type need struct {
	literal string
	rule    int
}

// ruleSet has a bit for each rule.
type ruleSet [maxRules / 64]uint64

// maxRules bounds the number of rules about values.
const maxRules = 512

func (s *ruleSet) add(rule int) { s[rule/64] |= 1 << (rule % 64) }

func newNeeds(rules []valueRule) *needs {
	n := &needs{lists: make([][]need, 1)}
	for i, rule := range rules {
		if len(rule.Needs) == 0 {
			n.always.add(i)
		}
		for _, literal := range rule.Needs {
			if len(literal) == 1 { // has no first two; applies looks for it
				n.always.add(i)
				continue
			}
			at := &n.starts[pair(literal, 0)]
			if *at == 0 {
				n.lists = append(n.lists, nil)
				*at = uint16(len(n.lists) - 1)
			}
			n.lists[*at] = append(n.lists[*at], need{literal, i})
		}
	}
	return n
}

func pair(s string, i int) uint16 { return uint16(s[i])<<8 | uint16(s[i+1]) }

func (n *needs) of(s string) ruleSet {
	found := n.always
	for i := 0; i+1 < len(s); i++ {
		at := n.starts[pair(s, i)]
		if at == 0 {
			continue
		}
		for _, need := range n.lists[at] {
			if strings.HasPrefix(s[i:], need.literal) {
				found.add(need.rule)
			}
		}
	}
	return found
}

func (r *Redactor) maskValues(s string, tr *trace) (string, int) {
	n := 0
	cards := hasDigits(s, 14)
	for word, bits := range r.needs.of(s) {
		for ; bits != 0; bits &= bits - 1 {
			rule := &r.values[word*64+mathbits.TrailingZeros64(bits)]
			if rule.Luhn && !cards || !rule.applies(s) {
				continue
			}
			var m int
			s, m = r.maskValue(s, rule, tr)
			n += m
		}
	}
	return s, n
}

func (r *Redactor) maskValue(s string, rule *valueRule, tr *trace) (string, int) {
	p := r.pass(s, tr)
	find := rule.find()
	for _, at := range find.FindAllStringSubmatchIndex(s, -1) {
		from, to := at[0], at[1]
		found := s[from:to]
		if rule.Unless != "" && rule.unless().MatchString(found) || rule.Luhn && !luhn(found) || rule.Base64 && !r.encodesSecret(found) || r.cutsMask(s, from) || r.cutsMask(s, to) {
			continue
		}
		from += len(find.ExpandString(nil, rule.keep, s, at))
		to -= len(find.ExpandString(nil, rule.after, s, at))
		if s[from:to] != r.mask {
			p.mask(from, to, KindValue, rule.ID)
		}
	}
	return p.done()
}

// cutsMask reports whether a position is inside a mask, so that a match there is part of the mask.
func (r *Redactor) cutsMask(s string, at int) bool {
	return strings.Contains(s[max(0, at-len(r.mask)+1):min(len(s), at+len(r.mask)-1)], r.mask)
}

// applies reports whether the pattern is worth trying on a text that contains a needed literal.
func (v *valueRule) applies(s string) bool {
	return len(v.Needs) != 1 || len(v.Needs[0]) > 1 || strings.Contains(s, v.Needs[0])
}

// maxBase64 bounds the length of encoded JSON that is searched, in bytes. What is longer is a map of a source or a file.
const maxBase64 = 4 << 10

// encodesSecret reports whether the JSON that a text encodes has a secret.
func (r *Redactor) encodesSecret(s string) bool {
	if len(s) > maxBase64 {
		return false
	}
	s = strings.TrimRight(s, "=")
	if len(s)%4 == 1 { // it was cut
		s = s[:len(s)-1]
	}
	decoded, err := base64.RawURLEncoding.DecodeString(strings.NewReplacer("+", "-", "/", "_").Replace(s))
	if err != nil || !utf8.Valid(decoded) {
		return false
	}
	_, n := r.Body(string(decoded))
	return n > 0
}

// hasDigits reports whether s has n digits in a row, with one or two blanks, or a dash, a dot, an underscore or a plus between them.
func hasDigits(s string, n int) bool {
	run, gap := 0, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			run, gap = run+1, 0
			if run == n {
				return true
			}
		case (c == ' ' || c == '\t' || c == '-' || c == '_' || c == '.' || c == '+') && gap == 0:
			gap = 1
		case (c == ' ' || c == '\t') && gap == 1 && (s[i-1] == ' ' || s[i-1] == '\t'):
			gap = 2
		case c >= 0x80 && gap == 0 && blankAt(s, i) > 0:
			i += blankAt(s, i) - 1
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

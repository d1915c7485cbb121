package redact

import (
	mathbits "math/bits"
	"regexp"
	"strings"
)

// valueRule is a compiled [ValueRule].
type valueRule struct {
	ValueRule
	find, unless *regexp.Regexp
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
const maxRules = 256

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
	for word, bits := range r.needs.of(s) {
		for ; bits != 0; bits &= bits - 1 {
			rule := &r.values[word*64+mathbits.TrailingZeros64(bits)]
			if !rule.applies(s) {
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
	for _, at := range rule.find.FindAllStringSubmatchIndex(s, -1) {
		from, to := at[0], at[1]
		found := s[from:to]
		if rule.unless != nil && rule.unless.MatchString(found) || rule.Luhn && !luhn(found) || r.cutsMask(s, from) || r.cutsMask(s, to) {
			continue
		}
		from += len(rule.find.ExpandString(nil, rule.keep, s, at))
		to -= len(rule.find.ExpandString(nil, rule.after, s, at))
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
	switch {
	case v.Luhn:
		return hasDigits(s, 14)
	case len(v.Needs) == 1 && len(v.Needs[0]) == 1:
		return strings.Contains(s, v.Needs[0])
	}
	return true
}

// hasDigits reports whether s has n digits in a row, with single spaces or dashes between them.
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

package noise

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// pattern is a regular expression that most texts are told apart from without trying it.
type pattern struct {
	expr *regexp.Regexp
	// literals are pieces of which every text that matches has at least one; nil when there are none to go by.
	literals []string
	// starts has a bit for the hash of each literal's first bytes, so that a text is read once for many of them;
	// byStart has those that begin with them.
	starts  [16]uint64
	byStart map[uint32][]string
}

// few is how many literals are looked for one after the other.
const few = 2

func newPattern(s string) (*pattern, error) {
	expr, err := regexp.Compile(s)
	if err != nil {
		return nil, err
	}
	tree, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return nil, err
	}
	p := &pattern{expr: expr}
	if l := literalsOf(tree.Simplify()); shortest(l) >= gram {
		p.know(l)
	}
	return p, nil
}

// addressesOf tells a text apart that no rule's address matches; it has no expression.
func addressesOf(rules []*Rule) *pattern {
	var all []string
	for _, rule := range rules {
		if rule.url.literals == nil {
			return &pattern{}
		}
		all = append(all, rule.url.literals...)
	}
	p := &pattern{}
	p.know(all)
	return p
}

func (p *pattern) know(literals []string) {
	p.literals, p.byStart = literals, map[uint32][]string{}
	for _, l := range literals {
		g := uint32(l[0])<<16 | uint32(l[1])<<8 | uint32(l[2])
		p.byStart[g] = append(p.byStart[g], l)
		h := hash(g)
		p.starts[h>>6&15] |= 1 << (h & 63)
	}
}

// MatchString says whether the text has a match.
func (p *pattern) MatchString(s string) bool {
	return p.worthTrying(s) && p.expr.MatchString(s)
}

// worthTrying says whether the text has one of the literals.
func (p *pattern) worthTrying(s string) bool {
	if p.literals == nil {
		return true
	}
	if len(p.literals) <= few {
		return slices.ContainsFunc(p.literals, func(l string) bool { return strings.Contains(s, l) })
	}
	if len(s) < gram {
		return false
	}
	g := uint32(s[0])<<8 | uint32(s[1])
	for i := gram - 1; i < len(s); i++ {
		g = (g<<8 | uint32(s[i])) & 0xffffff
		if h := hash(g); p.starts[h>>6&15]&(1<<(h&63)) == 0 {
			continue
		}
		if rest := s[i-gram+1:]; slices.ContainsFunc(p.byStart[g], func(l string) bool { return strings.HasPrefix(rest, l) }) {
			return true
		}
	}
	return false
}

// literalsOf are the literals of which a match has at least one: of several choices the one whose shortest is the
// longest.
func literalsOf(re *syntax.Regexp) (best []string) {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return []string{string(re.Rune)}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return literalsOf(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return literalsOf(re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if l := literalsOf(sub); shortest(l) > shortest(best) {
				best = l
			}
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			l := literalsOf(sub)
			if l == nil {
				return nil
			}
			best = append(best, l...)
		}
	}
	return best
}

func shortest(list []string) int {
	if len(list) == 0 {
		return 0
	}
	return len(slices.MinFunc(list, func(a, b string) int { return len(a) - len(b) }))
}

package noise

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// pattern is a regular expression with a fast check that rules out most texts.
type pattern struct {
	expr *regexp.Regexp
	// literals are pieces of text. Every matching text has at least one of them; nil if there is no such set.
	literals []string
	// starts has a bit for the hash of each literal's first bytes, so that one pass over a text finds many literals.
	// byStart maps the first bytes to the literals.
	starts  [16]uint64
	byStart map[uint32][]string
}

// few is how many literals are searched for one by one.
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

// addressesOf returns a pattern without an expression, which rules out addresses that no rule matches.
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

// MatchString reports whether the text has a match.
func (p *pattern) MatchString(s string) bool {
	return p.worthTrying(s) && p.expr.MatchString(s)
}

// worthTrying reports whether the text has one of the literals.
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

// literalsOf returns literals of which every match has at least one. Of several sets it chooses the one whose shortest
// literal is the longest.
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

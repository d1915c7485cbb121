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
}

func newPattern(s string) (*pattern, error) {
	expr, err := regexp.Compile(s)
	if err != nil {
		return nil, err
	}
	tree, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return nil, err
	}
	return &pattern{expr, literalsOf(tree.Simplify())}, nil
}

// MatchString says whether the text has a match.
func (p *pattern) MatchString(s string) bool {
	if p.literals != nil && !slices.ContainsFunc(p.literals, func(l string) bool { return strings.Contains(s, l) }) {
		return false
	}
	return p.expr.MatchString(s)
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

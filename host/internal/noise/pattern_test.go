package noise

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

// TestAPatternMatchesWhatItsExpressionMatches tries expressions of every shape, and those of the table, on texts that
// match them and on texts that nearly do.
func TestAPatternMatchesWhatItsExpressionMatches(t *testing.T) {
	exprs := []string{
		`^\[vite\]`, `(?i)hot update`, `a|`, `(ab|cd)+x`, `(abc)?d`, `(abc){2,3}`, `(abc){0,3}`, `[ab]c`, `x*`, `(foo|[0-9]bar)baz`, `a.b`, `^$`, `é+`, `(?i:K)x`,
	}
	for _, r := range slicesOf(Default()) {
		for _, p := range []*pattern{r.origin, r.text, r.url} {
			if p != nil {
				exprs = append(exprs, p.expr.String())
				if p.literals == nil {
					t.Errorf("rule %s: %s has no literal to go by, so that it is tried on every text", r.ID, p.expr)
				}
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom(exprs).Draw(t, "expression")
		p, err := newPattern(s)
		if err != nil {
			t.Fatal(err)
		}
		text := rapid.OneOf(rapid.StringMatching(s), rapid.StringMatching(`[abcdxfobarz\[\]vite -]{0,12}`)).Draw(t, "text")
		text = rapid.SampledFrom([]string{"", "x ", "é"}).Draw(t, "before") + text
		if got, want := p.MatchString(text), regexp.MustCompile(s).MatchString(text); got != want {
			t.Fatalf("%s on %q: %v, want %v; literals %q", s, text, got, want, p.literals)
		}
	})
}

func slicesOf(r *Rules) []*Rule {
	return append(append(append([]*Rule{}, r.console...), r.network...), r.websocket...)
}

package compare

import "testing"

// TestALineThatReplacesOneHasColumns: in UTF-16 units, as the stacks of browsers have them.
func TestALineThatReplacesOneHasColumns(t *testing.T) {
	for name, c := range map[string]struct {
		was, is string
		want    Run
	}{
		"a word":       {"a\nf(one, b)\n", "a\nf(three, b)\n", Run{2, 1, 1, 3, 8}},
		"inserted":     {"f()\n", "f(x)\n", Run{1, 1, 1, 3, 4}},
		"removed":      {"f(x)\n", "f()\n", Run{1, 1, 1, 3, 3}},
		"all":          {"a\n", "b\n", Run{1, 1, 1, 1, 2}},
		"in a word":    {"a.euro()\n", "a.eura()\n", Run{1, 1, 1, 3, 7}},
		"repeated":     {"aa\n", "aaa\n", Run{1, 1, 1, 1, 4}},
		"behind a 😀":   {"😀 one\n", "😀 two\n", Run{1, 1, 1, 4, 7}},
		"one of bytes": {"é1\n", "è1\n", Run{1, 1, 1, 1, 3}},
		"not UTF-8":    {"\xff1\n", "\xfe1\n", Run{1, 1, 1, 1, 3}},
		"two lines":    {"a\nb\n", "c\nd\n", Run{1, 2, 2, 0, 0}},
		"a new line":   {"a\n", "a\nb\n", Run{2, 0, 1, 0, 0}},
	} {
		a, b := newText(c.was), newText(c.is)
		if got := runs(a, b, match(a, b)); len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

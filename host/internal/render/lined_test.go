package render

import "testing"

type beats struct{}

func (beats) Lines() (title string, total int, lines []string) { return "Beats", 3, []string{"a\nb"} }

// A section without words of its own is shown as its lines, of which the page may have written some.
func TestASectionWithoutWordsIsShownByItsLines(t *testing.T) {
	s := lined(beats{})
	if s.title != "Beats" || s.count != "3" || s.omitted != 2 || len(s.rows) != 1 || !s.rows[0].head[0].quoted {
		t.Errorf("%+v", s)
	}
}

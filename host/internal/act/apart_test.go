package act

import (
	"slices"
	"testing"

	"tidemark.dev/tidemark/host/internal/alike"
	"tidemark.dev/tidemark/host/internal/diff"
)

func TestWhatIsLateIsNotNewASecondTime(t *testing.T) {
	loop := []alike.Entry{{Of: 1, As: 1}}
	list := []diff.Consequence{
		{At: 10, Severity: diff.Error, Text: "loop", Entries: loop},
		{At: 20, Severity: diff.Error, Text: "loop", Entries: loop},
		{At: 20, Severity: diff.Error, Text: "other", Entries: []alike.Entry{{Of: 2, As: 2}}},
		{At: 20, Severity: diff.Warning, Text: "storm", Storm: true},
	}
	texts := func(list []diff.Consequence) (out []string) {
		for _, c := range list {
			out = append(out, c.Text)
		}
		return out
	}
	for _, c := range []struct {
		first                 bool
		late, found, repeated []string
	}{
		{false, []string{"loop"}, []string{"other", "storm"}, []string{"loop"}},
		{true, nil, []string{"loop", "other", "storm"}, nil},
	} {
		caused, late := apart(slices.Clone(list), 15, c.first)
		found, repeated := broken(caused)
		if !slices.Equal(texts(late), c.late) || !slices.Equal(texts(found), c.found) || !slices.Equal(texts(repeated), c.repeated) {
			t.Errorf("first %v: late %v, new %v, repeated %v", c.first, texts(late), texts(found), texts(repeated))
		}
	}
}

package alike_test

import (
	"testing"

	"tidemark.dev/tidemark/host/internal/alike"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		texts      []string
		text, path string
	}{
		{nil, "", ""},
		{[]string{"/v1/items"}, "/v1/items", "/v1/items"},
		{[]string{"/v1/items/a1", "/v1/items/a27"}, "/v1/items/a{n}", "/v1/items/{id}"},
		{[]string{"row 1 of 40 failed", "row 2 of 40 failed", "row 1 of 40 failed"}, "row {n} of 40 failed", "row {id} of 40 failed"},
		{[]string{"1/2", "1/3", "2/2"}, "{n}/{n}", "{id}/{id}"},
		{[]string{"row 1", "line 2", "row 1 of 3"}, "row 1", "row 1"},
	} {
		var p alike.Pattern
		for _, text := range c.texts {
			p.Add(text)
		}
		if text, path := p.String(), p.Path(); text != c.text || path != c.path {
			t.Errorf("%q: %q, %q", c.texts, text, path)
		}
	}
}

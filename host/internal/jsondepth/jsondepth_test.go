package jsondepth_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/jsondepth"
)

// depth is how deep a value is nested.
func depth(v any) int {
	deepest := 0
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			deepest = max(deepest, depth(one))
		}
		return 1 + deepest
	case map[string]any:
		for _, one := range v {
			deepest = max(deepest, depth(one))
		}
		return 1 + deepest
	}
	return 0
}

func TestTheDepthOfAnyValueIsFound(t *testing.T) {
	text := rapid.StringOf(rapid.RuneFrom([]rune(`\"[]{}a`)))
	rapid.Check(t, func(t *rapid.T) {
		var value func(int) any
		value = func(level int) any {
			switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
			case level > 0 && kind == 1:
				var list []any
				for range rapid.IntRange(0, 3).Draw(t, "items") {
					list = append(list, value(level-1))
				}
				return append([]any{}, list...)
			case level > 0 && kind == 2:
				object := map[string]any{}
				for range rapid.IntRange(0, 3).Draw(t, "fields") {
					object[text.Draw(t, "name")] = value(level - 1)
				}
				return object
			}
			return text.Draw(t, "text")
		}
		v := value(5)
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		d := depth(v)
		if jsondepth.Exceeds(data, d) || d > 0 && !jsondepth.Exceeds(data, d-1) {
			t.Fatalf("%s has the depth %d", data, d)
		}
	})
}

func TestNoTextTakesLong(t *testing.T) {
	for _, part := range []string{`"`, `\`, `"\`, `[]`, `"\\`, "a"} {
		text := []byte(strings.Repeat(part, 8<<20/len(part)))
		began := time.Now()
		jsondepth.Exceeds(text, jsondepth.Most)
		jsondepth.Exceeds(append([]byte(`"`), text...), jsondepth.Most)
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%q again and again takes %s", part, took)
		}
	}
}

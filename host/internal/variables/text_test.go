package variables

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestNoKeyPassesForMoreFields: a page chooses its keys, and may write fields into them.
func TestNoKeyPassesForMoreFields(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.OneOf(rapid.SampledFrom([]string{"a: 1, admin", "x}, y: {b", "content-type", "", "12", `"`, "\\"}), rapid.StringMatching(`[a-c0-9:,{}"' \\]{0,12}`))
		keys := rapid.SliceOfNDistinct(key, 1, 4, rapid.ID[string]).Draw(t, "keys")
		v := &Value{Type: "Object", Open: true}
		for _, k := range keys {
			v.Children = append(v.Children, Value{Key: Key{Name: k}, Type: "boolean", Text: "true"})
		}
		shown := v.Inline(1000)
		rest := strings.TrimPrefix(shown, "{")
		for i, k := range keys {
			var is string
			if strings.HasPrefix(rest, `"`) {
				d := json.NewDecoder(strings.NewReader(rest))
				if err := d.Decode(&is); err != nil {
					t.Fatalf("%s: %v", shown, err)
				}
				rest = rest[d.InputOffset():]
			} else {
				n := strings.IndexAny(rest, ":,{} ")
				is, rest = rest[:n], rest[n:]
			}
			end := ": true, "
			if i == len(keys)-1 {
				end = ": true}"
			}
			if is != k || !strings.HasPrefix(rest, end) {
				t.Fatalf("%s does not have the field %q", shown, k)
			}
			rest = rest[len(end):]
		}
	})
}

// TestAnObjectIsCutBetweenItsFields: a part of a field would be read as another text.
func TestAnObjectIsCutBetweenItsFields(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{`{id: 1, email: "[masked]", total: 240}`, 20, `{id: 1, …}`},
		{`{id: 1, email: "[masked]", total: 240}`, 34, `{id: 1, email: "[masked]", …}`},
		{`{text: "a, b, c, d, e, f", total: 240}`, 20, `{…}`},
		{`{text: "a \", b", total: 240, open: true}`, 36, `{text: "a \", b", total: 240, …}`},
		{`Order {id: 1, total: 240, open: true}`, 20, `Order {id: 1, …}`},
		{`["first", "second", "third"]`, 24, `["first", "second", …]`},
		{`function () { [native code] }`, 20, `function () { …}`},
		{`{id: 1}`, 20, `{id: 1}`},
		{`Symbol(a long description)`, 20, `Symbol(a long…ption)`},
	} {
		v := Value{Type: "Object", Text: c.text}
		if got := v.Literal(c.most); got != c.want {
			t.Errorf("%s in %d: %s, want %s", c.text, c.most, got, c.want)
		}
	}
}

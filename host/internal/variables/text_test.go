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

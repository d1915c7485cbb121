package sourcemap

import (
	"context"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/sourcemap/maptest"
)

func TestMapsOfEvaluatedCode(t *testing.T) {
	whole := string(maptest.Map{Sources: []string{"webpack://_N_E/./src/title.js"}, Mappings: maptest.Mappings([]maptest.Segment{{SourceLine: 4}})}.JSON())
	name := "webpack-internal:///./src/title.js"
	if !IsEvaluated(name) || IsEvaluated("http://localhost/webpack-internal:///") {
		t.Error("names of evaluated code")
	}
	for data, want := range map[string]int{
		`{"` + name + `":` + whole + `}`:                                5,
		`{"` + name + `":{"version":3},"webpack-internal:///./b.js":7}`: 0,
		`{"webpack-internal:///./src/other.js":` + whole + `}`:          0,
		whole: 0,
		`{`:   0,
	} {
		c := NewCache(CacheOptions{Bytes: 1 << 20, Retry: time.Minute, Clock: time.Now, Fetch: func(_ context.Context, s Script) (string, []byte, error) {
			if !s.Evaluated {
				t.Error("the script's own map is fetched")
			}
			return s.URL, []byte(data), nil
		}})
		s := Script{Tab: 1, URL: "http://localhost/page.js", Evaluated: true}
		m := c.Await(t.Context(), s, func(int64) bool { return true })
		c.Close()
		if (m == nil) != (data == "{") {
			t.Errorf("%s: %v", data, m)
		}
		if pos, _ := m.Evaluated(name).Find(1, 1); pos.Line != want || want > 0 && pos.Source != "src/title.js" {
			t.Errorf("%s: %+v", data, pos)
		}
		if want > 0 && m.Size() <= m.Evaluated(name).Size() {
			t.Errorf("a size of %d", m.Size())
		}
	}
}

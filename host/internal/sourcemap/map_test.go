package sourcemap

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/sourcemap/maptest"
)

func parsed(t testing.TB, address string, m maptest.Map) *Map {
	t.Helper()
	out, err := Parse(address, m.JSON())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func place(t testing.TB, m *Map, line, column int) string {
	t.Helper()
	p, ok := m.Find(line, column)
	if !ok {
		return ""
	}
	s := fmt.Sprintf("%s:%d:%d", p.Source, p.Line, p.Column)
	if p.Ignored {
		s += " ignored"
	}
	if p.Shared {
		s += " shared"
	}
	return s
}

func TestAPlaceBelongsToTheLastSegmentThatBeginsAtItOrBefore(t *testing.T) {
	m := parsed(t, "http://localhost/js/app.js.map", maptest.Map{
		Sources: []string{"../src/App.tsx", "../src/cart/index.ts", "../src/index.ts"},
		Mappings: maptest.Mappings([]maptest.Segment{
			{Line: 0, Column: 4, Source: 0, SourceLine: 6, SourceColumn: 2},
			{Line: 0, Column: 10, Source: -1},
			{Line: 0, Column: 20, Source: 1, SourceLine: 0},
			{Line: 3, Column: 0, Source: 2, SourceLine: 99, SourceColumn: 8},
		}),
	})
	for _, c := range []struct {
		line, column int
		want         string
	}{
		{1, 4, ""}, // before the first
		{1, 5, "src/App.tsx:7:3"},
		{1, 10, "src/App.tsx:7:3"},
		{1, 11, ""}, // has no original
		{1, 20, ""},
		{1, 21, "src/cart/index.ts:1:1 shared"},
		{1, 1 << 20, "src/cart/index.ts:1:1 shared"},
		{2, 1, ""}, // a line without any
		{4, 1, "src/index.ts:100:9 shared"},
		{5, 1, ""},
		{0, 1, ""},
		{1, 0, ""},
		{-1, -1, ""},
	} {
		if got := place(t, m, c.line, c.column); got != c.want {
			t.Errorf("%d:%d is %q, want %q", c.line, c.column, got, c.want)
		}
	}
}

func TestNamesAreResolvedAndFreedOfWhatABundlerAdds(t *testing.T) {
	for _, c := range []struct{ address, root, source, want string }{
		{"http://h:1/assets/index-1a2b.js.map", "", "../../src/App.tsx", "src/App.tsx"},
		{"http://h/src/App.tsx?t=1", "", "App.tsx", "src/App.tsx"},
		{"http://h/a/b.js", "", "/src/App.tsx", "/src/App.tsx"},
		{"http://h/a/b.js", "../lib", "App.tsx", "lib/App.tsx"},
		{"http://h/a/b.js", "/root/", "App.tsx", "/root/App.tsx"},
		{"http://h/a/b.js", "", "webpack://shop/./src/App.tsx", "src/App.tsx"},
		{"http://h/a/b.js", "", "webpack:///./src/[id].tsx?ab12", "src/[id].tsx"},
		{"http://h/a/b.js", "webpack:///", "src/App.tsx", "src/App.tsx"},
		{"http://h/a/b.js", "", "webpack://_N_E/../../App.tsx", "App.tsx"},
		{"http://h/a/b.js", "", "file:///home/me/shop/src/App.tsx", "/home/me/shop/src/App.tsx"},
		{"http://h/a/b.js", "", "webpack/runtime/", ""},
		{"http://h", "", "App.tsx", "App.tsx"},
		{"", "", "../App.tsx", "App.tsx"},
	} {
		m := parsed(t, c.address, maptest.Map{SourceRoot: c.root, Sources: []string{c.source}, Mappings: "AAAA"})
		want := c.want
		if want != "" {
			want += ":1:1"
		}
		if got := place(t, m, 1, 1); got != want {
			t.Errorf("%q of %s (root %q) is %q, want %q", c.source, c.address, c.root, got, want)
		}
	}
}

func TestIndexedMapsAreReadSectionBySection(t *testing.T) {
	section := func(line, column int, source string) maptest.Section {
		s := maptest.Section{Map: maptest.Map{Version: 3, Sources: []string{source}, Mappings: "AAAA,UACK;AACA"}}
		s.Offset.Line, s.Offset.Column = line, column
		return s
	}
	m := parsed(t, "http://h/all.js.map", maptest.Map{Sections: []maptest.Section{section(0, 0, "a.ts"), section(0, 100, "b.ts"), section(5, 7, "c.ts")}})
	for _, c := range []struct {
		line, column int
		want         string
	}{
		{1, 1, "a.ts:1:1"},
		{1, 100, "a.ts:2:6"},
		{1, 101, "b.ts:1:1"},
		{1, 111, "b.ts:2:6"},
		{2, 1, "b.ts:3:6"},
		{6, 7, ""}, // section b goes on to here, but says nothing of it
		{6, 8, "c.ts:1:1"},
		{7, 1, "c.ts:3:6"},
	} {
		if got := place(t, m, c.line, c.column); got != c.want {
			t.Errorf("%d:%d is %q, want %q", c.line, c.column, got, c.want)
		}
	}
}

func TestFilesThatAreNotTheDevelopersOwnAreSaidToBe(t *testing.T) {
	for _, field := range []string{"ignoreList", "x_google_ignoreList"} {
		m, err := Parse("http://h/a.js", fmt.Appendf(nil, `)]}'
			{"version":3,"sources":["own.ts","node_modules/react.js",null],"%s":[1,7,-1,"2"],"mappings":"AAAA,CCAA,CCAA"}`, field))
		if err != nil {
			t.Fatal(err)
		}
		if got := []string{place(t, m, 1, 1), place(t, m, 1, 2), place(t, m, 1, 3)}; !slices.Equal(got, []string{"own.ts:1:1", "node_modules/react.js:1:1 ignored", ""}) {
			t.Errorf("%s: %q", field, got)
		}
	}
}

func TestADamagedMapIsAnError(t *testing.T) {
	for _, data := range []string{
		"", "null", "[]", "{", `)]}'`, "<!doctype html>", `{"version":3}`, `{"version":2,"sources":[],"mappings":""}`,
		`{"version":3,"sources":{},"mappings":""}`, `{"version":3,"sources":[],"mappings":7}`,
		`{"version":3,"sources":["a"],"mappings":"A!"}`, `{"version":3,"sources":["a"],"mappings":"AA"}`,
		`{"version":3,"sources":["a"],"mappings":"AAAAAA"}`, `{"version":3,"sources":["a"],"mappings":"g"}`,
		`{"version":3,"sources":["a"],"mappings":"D"}`, `{"version":3,"sources":["a"],"mappings":"gggggggggggggC"}`,
		`{"version":3,"sources":["a"],"mappings":"+/////D,+/////D"}`, `{"version":3,"sources":["a"],"mappings":"+++++e,+++++e,+++++e,+++++e,+++++e"}`,
		`{"version":3,"sections":{}}`, `{"version":3,"sections":[{"map":{"version":3,"sources":[],"mappings":""}}]}`,
		`{"version":3,"sections":[{"offset":{"line":0,"column":0},"map":{"version":3,"sections":[]}}]}`,
		`{"version":3,"sections":[{"offset":{"line":1,"column":0},"map":{"sources":[],"mappings":""}},{"offset":{"line":0,"column":0},"map":{"sources":[],"mappings":""}}]}`,
	} {
		if _, err := Parse("http://h/a.js", []byte(data)); !errors.Is(err, errDamaged) {
			t.Errorf("%q: %v", data, err)
		}
	}
	// A segment of a file that is not there is only that: the rest of the map can be used.
	m, err := Parse("http://h/a.js", []byte(`{"version":3,"sources":["a"],"mappings":"AAAA,CGAA,CHAA"}`))
	if err != nil || place(t, m, 1, 2) != "" || place(t, m, 1, 3) != "a:1:1" {
		t.Error(err)
	}
}

// TestNoMapMakesALookUpSlow: a hostile one may have much of nothing, or no order.
func TestNoMapMakesALookUpSlow(t *testing.T) {
	const n = 8 << 20
	for name, mappings := range map[string]string{
		"lines":     "AAAA" + strings.Repeat(";", n) + "AACA" + strings.Repeat(";", n) + "AACA",
		"commas":    "AAAA" + strings.Repeat(",", n) + ";" + strings.Repeat(",", n) + ",AACA",
		"one place": strings.Repeat("AAAA,", n/4),
	} {
		m := parsed(t, "", maptest.Map{Sources: []string{"a"}, Mappings: mappings})
		// A look-up decodes from one mark to the next, at most.
		last := 0
		for _, mark := range append(m.parts[0].marks, mark{offset: int32(len(mappings))}) {
			if n := int(mark.offset) - last; n > every*(much+40) {
				t.Fatalf("%s: %d bytes without a mark", name, n)
			}
			last = int(mark.offset)
		}
		if got := place(t, m, 1, 7); got != "a:1:1" {
			t.Errorf("%s: %s", name, got)
		}
		if m.Size() > 3*len(mappings) {
			t.Errorf("%s: %d bytes take %d", name, len(mappings), m.Size())
		}
	}
	for lines, want := range map[int]bool{maxUnordered / 2: true, maxUnordered: false} {
		_, err := Parse("", maptest.Map{Sources: []string{"a"}, Mappings: strings.Repeat("CAAA,DAAA,", lines)}.JSON())
		if (err == nil) != want {
			t.Errorf("%d segments in no order: %v", 2*lines, err)
		}
	}
}

// slow is the definition of a look-up.
func slow(segments []maptest.Segment, line, column int) *maptest.Segment {
	var best *maptest.Segment
	for i, s := range segments {
		if s.Line == line && s.Column <= column && (best == nil || s.Column >= best.Column) {
			best = &segments[i]
		}
	}
	return best
}

func TestWhatWasEncodedIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ordered := rapid.Bool().Draw(t, "ordered")
		small := rapid.IntRange(0, 400)
		var segments []maptest.Segment
		line, column := 0, 0
		for range rapid.IntRange(0, 300).Draw(t, "n") {
			if rapid.IntRange(0, 9).Draw(t, "new line") == 0 {
				line += rapid.SampledFrom([]int{1, 2, 3, much - 1, much, much + 1, 1000}).Draw(t, "lines")
				column = 0
			}
			if column += rapid.IntRange(0, 40).Draw(t, "columns"); !ordered {
				column = small.Draw(t, "column")
			}
			segments = append(segments, maptest.Segment{Line: line, Column: column, Source: rapid.IntRange(-1, 4).Draw(t, "source"), SourceLine: rapid.IntRange(0, 1<<30).Draw(t, "source line"), SourceColumn: small.Draw(t, "source column")})
		}
		data := maptest.Map{Sources: []string{"0", "1", "2", "3", "4"}, Mappings: maptest.Mappings(segments)}.JSON()
		m, err := Parse("", data)
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			l, c := rapid.IntRange(0, line+2).Draw(t, "line"), small.Draw(t, "at")
			want := ""
			if s := slow(segments, l, c); s != nil && s.Source >= 0 {
				want = fmt.Sprintf("%d:%d:%d", s.Source, s.SourceLine+1, s.SourceColumn+1)
			}
			got := ""
			if p, ok := m.Find(l+1, c+1); ok {
				got = fmt.Sprintf("%s:%d:%d", p.Source, p.Line, p.Column)
			}
			if got != want {
				t.Fatalf("%d:%d is %q, want %q, in %s", l, c, got, want, data)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"version":3,"sources":["a.ts"],"mappings":"AAAA;;EACA,gBAAgB"}`), 1, 1)
	f.Add([]byte(`{"version":3,"sections":[{"offset":{"line":0,"column":4},"map":{"version":3,"sources":["a"],"mappings":"AAAA"}}]}`), 1, 6)
	f.Add([]byte(`)]}'`+"\n"+`{"version":3,"sourceRoot":"../..","sources":["../x",null],"ignoreList":[0],"mappings":"CCDD,+++++D"}`), 1, 1)
	f.Fuzz(func(t *testing.T, data []byte, line, column int) {
		m, err := Parse("http://h/js/app.js.map", data)
		if err != nil {
			if !errors.Is(err, errDamaged) {
				t.Fatal(err)
			}
			return
		}
		if m.Size() > 300+120*len(data) {
			t.Fatalf("%d bytes became %d", len(data), m.Size())
		}
		if p, ok := m.Find(line, column); ok && (p.Source == "" || p.Line < 1 || p.Column < 1) {
			t.Fatalf("%+v", p)
		}
		if again, err := Parse("http://h/js/app.js.map", bytes.Clone(data)); err != nil || again.Size() != m.Size() {
			t.Fatal("read twice, it is another map", err)
		}
	})
}

func BenchmarkParse10MB(b *testing.B) {
	data, n := maptest.Bundle(10 << 20)
	b.Logf("%d bytes, %d segments", len(data), n)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		m, err := Parse("http://h/app.js.map", data)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(m.Size()), "kept-bytes")
	}
}

func BenchmarkFind10MB(b *testing.B) {
	data, n := maptest.Bundle(10 << 20)
	m, err := Parse("http://h/app.js.map", data)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		i := rand.IntN(n)
		if p, ok := m.Find(1, 1+10*i+3); !ok || p.Line != i%5000+1 {
			b.Fatal(p, ok, i)
		}
	}
}

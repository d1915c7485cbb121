package sourcemap

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/sourcemap/maptest"
)

const appMap = "http://h/assets/app.js.map"

func TestALineIsFoundInGeneratedCode(t *testing.T) {
	m := parsed(t, appMap, maptest.Map{Version: 3, Sources: []string{"../src/App.tsx", "../lib/App.tsx"}, Mappings: maptest.Mappings([]maptest.Segment{
		{Line: 0, Column: 0, Source: 0, SourceLine: 0},
		{Line: 0, Column: 10, Source: 0, SourceLine: 4, SourceColumn: 2},
		{Line: 0, Column: 15, Source: 0, SourceLine: 4, SourceColumn: 9},
		{Line: 0, Column: 20, Source: 1, SourceLine: 4},
		{Line: 0, Column: 30, Source: 0, SourceLine: 4, SourceColumn: 2}, // a copy
		{Line: 1, Column: 0, Source: 0, SourceLine: 9},
	})})
	for _, c := range []struct {
		path         string
		line, column int
		want         string
	}{
		{"src/App.tsx", 5, 1, "5: [{1 11 1 21} {1 31 2 1}]"},
		{"./src/App.tsx", 5, 1, "5: [{1 11 1 21} {1 31 2 1}]"},
		{"/src/App.tsx", 5, 4, "5: [{1 16 1 21}]"},
		{"lib/App.tsx", 5, 1, "5: [{1 21 1 31}]"},
		{"src/App.tsx", 6, 1, "10: [{2 1 0 0}]"}, // nothing is left of the lines before
		{"src/App.tsx", 11, 1, "0: []"},
		{"pp.tsx", 5, 1, "0: []"},
		{"", 5, 1, "0: []"},
		{"src/Other.tsx", 5, 1, "0: []"},
	} {
		ranges, at := m.Generated(c.path, c.line, c.column)
		if got := fmt.Sprintf("%d: %v", at, ranges); got != c.want {
			t.Errorf("%s:%d:%d is %s, not %s", c.path, c.line, c.column, got, c.want)
		}
	}
	if !m.Holds("src/App.tsx") || !m.Holds("App.tsx") || m.Holds("pp.tsx") || m.Holds("") {
		t.Error("which files the map holds")
	}
}

func TestNamesStandWhereTheIdentifierBegins(t *testing.T) {
	m := parsed(t, appMap, maptest.Map{Version: 3, Sources: []string{"a.ts"}, Names: []string{"total", "sum"}, Mappings: "AAAA,SAASA,CACRC"})
	for column, want := range map[int]string{1: "", 10: "total", 11: "sum", 12: ""} {
		if p, ok := m.Find(1, column); !ok || p.Name != want {
			t.Errorf("column %d is %+v", column, p)
		}
	}
}

// TestWhereALineWentItCameFrom: the beginning of every piece maps back to the line that was taken, and a line of
// which something is left is found.
func TestWhereALineWentItCameFrom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var segments []maptest.Segment
		line, column := 0, 0
		for range rapid.IntRange(1, 200).Draw(t, "segments") {
			if rapid.IntRange(0, 9).Draw(t, "break") == 0 {
				line, column = line+rapid.IntRange(1, 3).Draw(t, "lines"), 0
			}
			segments = append(segments, maptest.Segment{
				Line: line, Column: column, Source: rapid.IntRange(-1, 1).Draw(t, "source"),
				SourceLine: rapid.IntRange(0, 5).Draw(t, "line"), SourceColumn: rapid.IntRange(0, 5).Draw(t, "column"),
			})
			column += rapid.IntRange(1, 5).Draw(t, "columns")
		}
		m, err := Parse(appMap, maptest.Map{Version: 3, Sources: []string{"a.ts", "b.ts"}, Mappings: maptest.Mappings(segments)}.JSON())
		if err != nil {
			t.Fatal(err)
		}
		for want := range 6 {
			ranges, at := m.Generated("a.ts", want+1, 1)
			left := slices.ContainsFunc(segments, func(s maptest.Segment) bool { return s.Source == 0 && s.SourceLine == want })
			if left != (at == want+1) || (at == 0) != (len(ranges) == 0) {
				t.Fatalf("line %d went to %v, of line %d", want+1, ranges, at)
			}
			for _, r := range ranges {
				if p, ok := m.Find(r.Line, r.Column); !ok || p.Source != "assets/a.ts" || p.Line != at {
					t.Fatalf("line %d went to %+v, which comes from %+v", at, r, p)
				}
				if r.EndLine != 0 && (r.EndLine < r.Line || r.EndLine == r.Line && r.EndColumn <= r.Column) {
					t.Fatalf("%+v ends before it begins", r)
				}
			}
		}
	})
}

package sourcemap

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// component is a map of one component's file.
func component(t interface{ Fatal(...any) }, name, text string) *Map {
	data, err := json.Marshal(map[string]any{"version": 3, "sources": []string{name}, "sourcesContent": []string{text}, "mappings": "AAAA"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Parse("http://127.0.0.1:5173/src/App.vue", data)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestAStyleLineIsThatOfTheFile: whatever stands around the blocks, the line is that of the declaration.
func TestAStyleLineIsThatOfTheFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blank := rapid.StringOfN(rapid.SampledFrom([]rune("\n x{}")), 0, 12, -1)
		before, between, after := blank.Draw(t, "before"), blank.Draw(t, "between"), blank.Draw(t, "after")
		inner := rapid.SliceOfN(rapid.SampledFrom([]string{"\n", "\n\n", ".a { }"}), 0, 4).Draw(t, "inner")
		first := strings.Join(inner, "")
		second := first + "\n.b {\n  position: fixed;\n}\n"
		file := before + "<style>" + first + "</style>" + between + "<style lang=\"css\" scoped>" + second + "</style>" + after
		line := 1 + strings.Count(second[:strings.Index(second, "position")], "\n")
		want := 1 + strings.Count(file[:strings.Index(file, "position")], "\n")
		m := component(t, "App.vue", file)
		if got, ok := m.StyleLine("/home/ada/src/App.vue", 2, line, "position"); !ok || got != want {
			t.Fatalf("line %d, %v; want %d", got, ok, want)
		}
		for _, no := range []struct {
			file     string
			n, line  int
			property string
		}{{"Other.vue", 2, line, "position"}, {"App.vue", 3, line, "position"}, {"App.vue", 2, line - 1, "position"}, {"App.vue", 2, line, "display"}, {"App.vue", 2, line + 9, "position"}, {"App.vue", 2, 0, "position"}, {"App.vue", 2, line, ""}} {
			if got, ok := m.StyleLine(no.file, no.n, no.line, no.property); ok {
				t.Fatalf("%+v is line %d", no, got)
			}
		}
	})
}

func TestStylesAreBounded(t *testing.T) {
	text := "<style>" + strings.Repeat("a{position:fixed}\n", maxStyles/10) + "</style>"
	m := component(t, "App.vue", text)
	if len(m.styles) != 0 || m.Size() > 1000 {
		t.Errorf("%d blocks, %d bytes", len(m.styles), m.Size())
	}
	if m := component(t, "app.ts", "<style>\na{position:fixed}</style>"); len(m.styles) != 0 {
		t.Error("a script has styles")
	}
	var none *Map
	if _, ok := none.StyleLine("App.vue", 1, 1, "position"); ok {
		t.Error("no map has a line")
	}
}

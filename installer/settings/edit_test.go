package settings

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var (
	entryPath   = []string{"mcpServers", "tidemark"}
	sampleEntry = Server{Type: "stdio", Command: `C:\Program Files\<tide & mark>\tidemark.exe`, Args: []string{"mcp"}}
)

// space draws what may stand between two tokens of JSONC.
func space(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{" ", "\n", "\r\n", "\t", "  ", "\n  ", "// a, \"b\" {\n", "/* c } , */", "/* d\n */"}), 0, 3).Draw(t, "space"), "")
}

func jsonText(t *rapid.T, depth int) string {
	kinds := []string{"null", "true", "-1.50e3", `"x"`, `"a\"}//\u00e9"`, `"é{"`}
	kind := rapid.IntRange(0, len(kinds)+1).Draw(t, "kind")
	switch {
	case kind < len(kinds):
		return kinds[kind]
	case depth == 0:
		return "0"
	case kind == len(kinds):
		return listText(t, depth-1)
	}
	return objectText(t, depth-1, nil)
}

func listText(t *rapid.T, depth int) string {
	var items []string
	for range rapid.IntRange(0, 2).Draw(t, "items") {
		items = append(items, space(t)+jsonText(t, depth)+space(t))
	}
	return "[" + strings.Join(items, ",") + trailing(t, len(items)) + space(t) + "]"
}

func trailing(t *rapid.T, n int) string {
	if n > 0 && rapid.Bool().Draw(t, "trailing") {
		return ","
	}
	return ""
}

// objectText draws an object with the members given, and others.
func objectText(t *rapid.T, depth int, members []string) string {
	for i := range rapid.IntRange(0, 3).Draw(t, "members") {
		members = append(members, fmt.Sprintf("\"k%d\"%s:%s%s", i, space(t), space(t), jsonText(t, depth)))
	}
	members = rapid.Permutation(members).Draw(t, "order")
	for i, m := range members {
		members[i] = space(t) + m + space(t)
	}
	return "{" + strings.Join(members, ",") + trailing(t, len(members)) + space(t) + "}"
}

func drawJSON(t *rapid.T) string {
	var members []string
	if rapid.Bool().Draw(t, "has servers") {
		members = []string{`"mcpServers"` + space(t) + ":" + space(t) + objectText(t, 2, nil)}
	}
	text := space(t) + objectText(t, 2, members) + space(t)
	if rapid.IntRange(0, 9).Draw(t, "bom") == 0 {
		text = bom + text
	}
	return text
}

func TestWhatIsPutIntoJSONCanBeTakenOutToTheByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { roundTrip(t, JSON{}, drawJSON(t), entryPath) })
}

func TestWhatIsPutIntoTOMLCanBeTakenOutToTheByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { roundTrip(t, TOML{}, drawTOML(t), []string{"mcp_servers", "tidemark"}) })
}

func TestAnItemThatIsPutIntoAListCanBeTakenOutToTheByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var members []string
		if rapid.Bool().Draw(t, "has lists") {
			var lists []string
			if rapid.Bool().Draw(t, "has the list") {
				lists = []string{`"after"` + space(t) + ":" + listText(t, 2) + space(t)}
			}
			members = []string{`"hooks"` + space(t) + ":" + space(t) + objectText(t, 2, lists)}
		}
		roundTrip(t, JSON{}, space(t)+objectText(t, 2, members)+space(t), []string{"hooks", "after", ListItem})
	})
}

func drawTOML(t *rapid.T) string {
	lines := []string{
		"# a comment", "", "  ", "top%d = 1 # why", "[table%d]", "[table%d.inner]\nx = 'y'", "[[list%d]]\nz = [1,\n 2, # two\n]",
		"text%d = \"\"\"\n[mcp_servers.tidemark]\ncommand = \"no\"\n\"\"\"", "[mcp_servers.other%d]\ncommand = \"npx\" # theirs\nargs = [\"-y\",]", "quoted%d.\"a b\" = true",
	}
	newline := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "newline")
	var text []string
	for i := range rapid.IntRange(0, 6).Draw(t, "lines") {
		line := rapid.SampledFrom(lines).Draw(t, "line")
		text = append(text, strings.ReplaceAll(line, "%d", fmt.Sprint(i)))
	}
	all := strings.ReplaceAll(strings.Join(text, "\n"), "\n", newline)
	if rapid.Bool().Draw(t, "last newline") && all != "" {
		all += newline
	}
	return all
}

func roundTrip(t *rapid.T, f Format, text string, path []string) {
	t.Helper()
	entry := sampleEntry
	if f == (TOML{}) {
		entry.Type = ""
	}
	before, err := f.Read([]byte(text), path)
	if err != nil || len(before) > 0 && path[len(path)-1] != ListItem {
		t.Fatalf("%q: %v, %v", text, before, err)
	}
	out, edit, err := f.Insert([]byte(text), path, entry)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if v, err := f.Read(out, path); err != nil || len(v) != len(before)+1 || !Same(v[len(before)], entry) {
		t.Fatalf("%q: %v, %v", out, v, err)
	}
	back, err := f.Remove(out, edit)
	if err != nil || string(back) != text {
		t.Fatalf("before %q\nwith   %q\nafter  %q\n%v", text, out, back, err)
	}
	if _, err := f.Remove(back, edit); !errors.Is(err, ErrGone) && len(bytes.TrimSpace(back)) > 0 {
		t.Fatalf("taken out twice: %v", err)
	}
}

// What others write into the file afterwards stays, whatever becomes of the white space.
func TestWhatOthersWriteAfterwardsStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawJSON(t)
		f := JSON{}
		out, edit, err := f.Insert([]byte(text), entryPath, sampleEntry)
		if err != nil {
			t.Fatal(err)
		}
		later := []string{rapid.SampledFrom([]string{"mcpServers", "later"}).Draw(t, "where"), "another"}
		more, _, err := f.Insert(out, later, Server{Command: "x"})
		if err != nil {
			t.Fatal(err)
		}
		left, err := f.Remove(more, edit)
		if err != nil {
			t.Fatalf("%q: %v", more, err)
		}
		now, err := decodeJSON(bytes.TrimPrefix(left, []byte(bom)))
		if err != nil {
			t.Fatalf("%q: %v", left, err)
		}
		want, err := decodeJSON(bytes.TrimPrefix(more, []byte(bom)))
		if err != nil {
			t.Fatal(err)
		}
		want = without(want, entryPath, edit.Depth)
		if !reflect.DeepEqual(now, want) {
			t.Fatalf("with  %q\nafter %q", more, left)
		}
	})
}

func TestEntriesAreWrittenAsTheirFileIs(t *testing.T) {
	cases := []struct{ name, before, after string }{
		{"two spaces", "{\n  \"a\": 1\n}\n", "{\n  \"a\": 1,\n  \"mcpServers\": {\n    \"tidemark\": {\n      \"command\": \"x\",\n      \"args\": [\n        \"mcp\"\n      ]\n    }\n  }\n}\n"},
		{"tabs, a trailing comma and comments", "{\n\t\"mcpServers\": {\n\t\t// mine\n\t\t\"fs\": {}, // files\n\t},\n}", "{\n\t\"mcpServers\": {\n\t\t// mine\n\t\t\"fs\": {}, // files\n\t\t\"tidemark\": {\n\t\t\t\"command\": \"x\",\n\t\t\t\"args\": [\n\t\t\t\t\"mcp\"\n\t\t\t]\n\t\t},\n\t},\n}"},
		{"a comment behind the last", "{\n  \"a\": 1 // one\n}", "{\n  \"a\": 1, // one\n  \"mcpServers\": {\n    \"tidemark\": {\n      \"command\": \"x\",\n      \"args\": [\n        \"mcp\"\n      ]\n    }\n  }\n}"},
		{"one line", `{"mcpServers":{"fs":{}},"b":2}`, `{"mcpServers":{"fs":{}, "tidemark": {"command":"x","args":["mcp"]}},"b":2}`},
		{"nothing", "", "{\n  \"mcpServers\": {\n    \"tidemark\": {\n      \"command\": \"x\",\n      \"args\": [\n        \"mcp\"\n      ]\n    }\n  }\n}\n"},
		{"empty object", "{}\n", "{\n  \"mcpServers\": {\n    \"tidemark\": {\n      \"command\": \"x\",\n      \"args\": [\n        \"mcp\"\n      ]\n    }\n  }\n}\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out, edit, err := JSON{}.Insert([]byte(c.before), entryPath, Server{Command: "x", Args: []string{"mcp"}})
			if err != nil || string(out) != c.after {
				t.Fatalf("%v\n%s\nwant\n%s", err, out, c.after)
			}
			if back, err := (JSON{}).Remove(out, edit); err != nil || string(back) != c.before {
				t.Fatalf("%v: %q", err, back)
			}
		})
	}
}

func TestAFileThatWasWrittenAnewIsFreedOfTheEntry(t *testing.T) {
	out, edit, err := JSON{}.Insert([]byte("{\n\t\"a\": 1\n}"), entryPath, sampleEntry)
	if err != nil {
		t.Fatal(err)
	}
	standard, err := decodeJSON(out)
	if err != nil {
		t.Fatal(err)
	}
	anew := fmt.Sprintf(`{ "mcpServers":%s, "a":2 }`, `{"tidemark":{"args":["mcp"],"type":"stdio","command":`+quote(sampleEntry.Command)+`}}`)
	_ = standard
	left, err := JSON{}.Remove([]byte(anew), edit)
	if err != nil || string(left) != `{  "a":2 }` {
		t.Fatalf("%q, %v", left, err)
	}
}

func TestAnEntryThatWasChangedIsLeft(t *testing.T) {
	for _, f := range []Format{JSON{}, TOML{}} {
		out, edit, err := f.Insert(nil, []string{"servers", "tidemark"}, Server{Command: "x", Args: []string{"mcp"}})
		if err != nil {
			t.Fatal(err)
		}
		edited := bytes.Replace(out, []byte("mcp"), []byte("other"), 1)
		if _, err := f.Remove(edited, edit); !errors.Is(err, ErrChanged) {
			t.Errorf("%T: %v", f, err)
		}
	}
}

func TestFilesThatCannotBeEditedAreRefusedInWords(t *testing.T) {
	cases := []struct {
		f          Format
		text, want string
	}{
		{JSON{}, "{", "invalid JSON"},
		{JSON{}, "[1]", "not a JSON object"},
		{JSON{}, `{"mcpServers": null}`, `its "mcpServers" is not an object`},
		{JSON{}, `{"mcpServers": {}, "mcpServers": {}}`, `"mcpServers" twice`},
		{JSON{}, "\xff\xfe{\x00", "invalid JSON"},
		{TOML{}, "a = ", "invalid TOML: line 1"},
		{TOML{}, "mcpServers = {a = {}}", "add it by hand"},
		{TOML{}, "mcpServers = 3", "add it by hand"},
	}
	for _, c := range cases {
		if out, _, err := c.f.Insert([]byte(c.text), entryPath, sampleEntry); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q; %q", c.text, err, c.want, out)
		}
	}
}

package mcpserver

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"tidemark.dev/tidemark/host/internal/engine"
	"tidemark.dev/tidemark/host/internal/tool"
)

var update = flag.Bool("update", false, "write docs/TOOLS.md anew")

// TestTheToolsAreDocumented: the tables of docs/TOOLS.md are what the definitions say.
func TestTheToolsAreDocumented(t *testing.T) {
	const path, begin, end = "../../../docs/TOOLS.md", "-update` -->\n", "<!-- end -->"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has lost the comments around its tables", path)
	}
	want := before + begin + toolTables(t) + end + after
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(data) {
		t.Errorf("%s is not what the definitions say; run `go test ./host/internal/mcpserver -run %s -update`", path, t.Name())
	}
}

// toolTables is a table for each set; required arguments are bold.
func toolTables(t *testing.T) string {
	var b strings.Builder
	for _, set := range tool.Sets {
		rows := ""
		for _, tool := range engine.Tools {
			if tool.Set != set {
				continue
			}
			d := definitions[tool.Name]
			schema, err := json.Marshal(d.InputSchema)
			if err != nil {
				t.Fatal(err)
			}
			required := map[string]bool{}
			for _, name := range gjson.GetBytes(schema, "required").Array() {
				required[name.Str] = true
			}
			var args []string
			gjson.GetBytes(schema, "properties").ForEach(func(name, _ gjson.Result) bool {
				if required[name.Str] {
					args = append(args, "**"+name.Str+"**")
				} else {
					args = append(args, name.Str)
				}
				return true
			})
			rows += fmt.Sprintf("| `%s` | %s | %s |\n", tool.Name, strings.ReplaceAll(d.Description, "|", `\|`), strings.Join(args, ", "))
		}
		if rows != "" {
			fmt.Fprintf(&b, "\n## %s\n\n| tool | what it does | arguments |\n|---|---|---|\n%s", set, rows)
		}
	}
	return b.String() + "\n"
}

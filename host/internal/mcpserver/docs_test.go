package mcpserver

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/tidwall/gjson"
	"github.com/tiktoken-go/tokenizer/codec"

	"tidemark.dev/tidemark/host/internal/engine"
	"tidemark.dev/tidemark/host/internal/tool"
)

var update = flag.Bool("update", false, "rewrite docs/TOOLS.md")

// situation is a case for a person to check: which call the definitions should lead an agent to.
type situation struct {
	Situation string          `json:"situation"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// situations are those of testdata/situations.json.
func situations(t *testing.T) []situation {
	t.Helper()
	data, err := os.ReadFile("testdata/situations.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []situation
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSituationsAreCallsThatTheToolsTake: each situation's arguments are valid for its tool.
func TestSituationsAreCallsThatTheToolsTake(t *testing.T) {
	all := situations(t)
	if len(all) < 20 {
		t.Errorf("%d situations, want 20 or more", len(all))
	}
	for _, s := range all {
		d := definitions()[s.Tool]
		if d == nil {
			t.Errorf("%s: there is no tool %s", s.Situation, s.Tool)
			continue
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(d.InputSchema.(json.RawMessage), &schema); err != nil {
			t.Fatal(err)
		}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		var arguments map[string]any
		if err := json.Unmarshal(s.Arguments, &arguments); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(arguments); err != nil {
			t.Errorf("%s: %s %s: %v", s.Situation, s.Tool, s.Arguments, err)
		}
	}
}

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

// toolTables is a table for each set, with required arguments in bold, and a table of the situations.
func toolTables(t *testing.T) string {
	var b strings.Builder
	for _, set := range tool.Sets {
		rows := ""
		for _, tool := range engine.Tools {
			if tool.Set != set {
				continue
			}
			d := definitions()[tool.Name]
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
	b.WriteString("\n## Which tool when\n\nThe descriptions should lead an agent to these calls.\n\n| situation | call |\n|---|---|\n")
	for _, s := range situations(t) {
		fmt.Fprintf(&b, "| %s | `%s` `%s` |\n", s.Situation, s.Tool, s.Arguments)
	}
	return b.String() + "\n"
}

// TestTimeTravelFitsItsBudget: every session that turns the set on pays for its definitions.
func TestTimeTravelFitsItsBudget(t *testing.T) {
	const most, reserved = 900, 40 // for the argument agent of timeline_branch
	o200k := codec.NewO200kBase()
	total := 0
	for _, each := range engine.Tools {
		if each.Set != tool.TimeTravel {
			continue
		}
		d := definitions()[each.Name]
		schema, err := json.Marshal(d.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		n, err := o200k.Count(d.Name + " " + d.Description + " " + string(schema))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%-22s %4d tokens", d.Name, n)
		total += n
	}
	t.Logf("%d tokens", total)
	if total > most-reserved {
		t.Errorf("the set takes %d tokens of %d, of which %d are reserved", total, most, reserved)
	}
}

// TestOnlyWhatMayDestroySaysSo: finding what broke reads what was recorded, or runs a command that the user has granted.
func TestOnlyWhatMayDestroySaysSo(t *testing.T) {
	for _, each := range engine.Tools {
		if each.Set != tool.TimeTravel {
			continue
		}
		if is := *definitions()[each.Name].Annotations.DestructiveHint; is != (each.Name == "timeline_restore") {
			t.Errorf("%s: destructive is %v", each.Name, is)
		}
	}
}

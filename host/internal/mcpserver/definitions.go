package mcpserver

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/engine"
	"tidemark.dev/tidemark/host/internal/render"
)

// effect is what a tool changes, for its annotations.
type effect int

const (
	reads    effect = iota // changes nothing but the client's own cursor
	creates                // adds, and replaces an object of the same name
	adds                   // adds or advances something; destroys nothing
	destroys               // removes
	acts                   // does something on a page that may have any effect
)

// definitions describe each tool to a model. Every session pays for every word; docs/TOOLS.md and bench count them.
var definitions = func() map[string]*mcp.Tool {
	all := map[string]*mcp.Tool{}
	for _, set := range []map[string]*mcp.Tool{observing, opening, acting, debugging} {
		maps.Copy(all, set)
	}
	return all
}()

func define(name, title string, what effect, description, properties string, required ...string) *mcp.Tool {
	yes, no := true, false
	annotations := &mcp.ToolAnnotations{Title: title, OpenWorldHint: &no, DestructiveHint: &no}
	switch what {
	case reads:
		annotations.ReadOnlyHint, annotations.IdempotentHint = true, name != "get_changes_since" && name != "browser_snapshot"
	case creates:
		annotations.DestructiveHint = &yes // replaces an object of the same name
	case acts:
		annotations.DestructiveHint = &yes
	case destroys:
		annotations.DestructiveHint, annotations.IdempotentHint = &yes, true
	}
	input := map[string]any{"type": "object", "properties": json.RawMessage(properties), "additionalProperties": false}
	if len(required) > 0 {
		input["required"] = required
	}
	t := &mcp.Tool{Name: name, Description: description, Annotations: annotations, InputSchema: compact(input)}
	answer := engine.FindTool(name).Answer
	if _, isText := render.ForAgent(answer); !isText {
		t.OutputSchema = outputSchema(reflect.TypeOf(answer).Elem())
	}
	return t
}

// compact drops the white space of a schema.
func compact(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // the schemas are part of the program; a test reads them
	}
	return data
}

// outputSchema infers the schema of an answer. Lists are never null, and times are strings.
func outputSchema(t reflect.Type) json.RawMessage {
	schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[diff.Time](): {Type: "string", Format: "date-time"},
	}})
	if err != nil {
		panic(err)
	}
	neverNull(schema)
	schema.AdditionalProperties = nil // fields may be added without a new version
	return compact(schema)
}

func neverNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if i := slices.Index(s.Types, "null"); i >= 0 && len(s.Types) == 2 {
		s.Type, s.Types = s.Types[1-i], nil
	}
	if s.Type == "object" && len(s.Properties) > 0 {
		s.AdditionalProperties = nil
	}
	for _, p := range s.Properties {
		neverNull(p)
	}
	neverNull(s.Items)
}

package mcpserver

import (
	"encoding/json"
	"reflect"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark.dev/tidemark/host/internal/engine"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/tool"
)

// definitions are the tools as clients list them, by name. They are made when they are needed first: hooks start this program
// often, and need none.
var definitions = sync.OnceValue(func() map[string]*mcp.Tool {
	all := map[string]*mcp.Tool{}
	for _, t := range engine.Tools {
		all[t.Name] = define(t)
	}
	return all
})

func define(t *engine.Tool) *mcp.Tool {
	yes, no := true, false
	annotations := &mcp.ToolAnnotations{Title: t.Title, OpenWorldHint: &no, DestructiveHint: &no}
	switch t.Effect {
	case tool.Reads:
		annotations.ReadOnlyHint, annotations.IdempotentHint = true, true
	case tool.Advances:
		annotations.ReadOnlyHint = true
	case tool.Creates, tool.Acts:
		annotations.DestructiveHint = &yes
	case tool.Destroys:
		annotations.DestructiveHint, annotations.IdempotentHint = &yes, true
	}
	// An unknown argument is refused by package tool, with what the tool takes instead.
	input := map[string]any{"type": "object", "properties": json.RawMessage("{" + t.Arguments + "}")}
	if len(t.Required) > 0 {
		input["required"] = t.Required
	}
	d := &mcp.Tool{Name: t.Name, Description: t.Description, Annotations: annotations, InputSchema: compact(input)}
	if _, isText := render.ForAgent(t.Answer); !isText {
		d.OutputSchema = outputSchema(reflect.TypeOf(t.Answer).Elem())
	}
	return d
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
		reflect.TypeFor[report.Time](): {Type: "string", Format: "date-time"},
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

package mcpserver

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/engine"
)

// effect is what a tool does to the world, for its annotations.
type effect int

const (
	reads    effect = iota // changes nothing but the reader's own place
	creates                // adds, and replaces what has the same name
	destroys               // removes
)

// definitions are what an agent is told of each tool. Every word is paid for in every session: a test
// holds all of them under 2,000 tokens.
var definitions = map[string]*mcp.Tool{
	"get_changes_since": define("get_changes_since", "Browser changes", reads,
		"What is new in the browser since your last call (or a checkpoint): console errors and warnings, failed, recovered, slow and new endpoints, WebSocket trouble, error elements, user actions. Call it after every edit.", `{
		"checkpoint":{"type":"string","description":"checkpoint name or ISO 8601 time; default: since your last call. Only calls without it advance your place"},
		"include":{"type":"array","items":{"type":"string","enum":["console","network","websocket","dom","actions"]},"description":"default all"},
		"severity":{"type":"string","enum":["all","warnings","errors_only"],"description":"hide what is milder"},
		"wait":{"type":"string","enum":["none","settled","reload"],"description":"settled: until the page is quiet; reload: for the reload or hot update first, then quiet"},
		"timeout_ms":{"type":"integer","minimum":0,"description":"of wait, default 3000"},
		"tab":{"type":"integer","description":"default all tabs in scope"}}`),
	"checkpoint_create": define("checkpoint_create", "Create checkpoint", creates,
		"Name this moment, to compare with later. An existing one of that name is replaced.", `{
		"name":{"type":"string","maxLength":50,"pattern":"^[a-z][a-z0-9_]*$","description":"such as session_start, before_refactor; no date or time"},
		"note":{"type":"string","maxLength":200}}`, "name"),
	"checkpoint_list": define("checkpoint_list", "List checkpoints", reads,
		"Checkpoints, oldest first, each with the severity since the one before.", `{}`),
	"checkpoint_delete": define("checkpoint_delete", "Delete checkpoint", destroys,
		"Delete a named checkpoint.", `{"name":{"type":"string"}}`, "name"),
	"configure_noise": define("configure_noise", "Noise rules", destroys,
		"What answers leave out (noise_hidden): list rules and packs, explain what is hidden, suggest rules, add or remove one.", `{
		"action":{"type":"string","enum":["list","add","remove","enable","disable","explain","suggest"]},
		"id":{"type":"string"},
		"pack":{"type":"string","description":"to enable or disable"},
		"kind":{"type":"string","enum":["console","network","websocket"]},
		"level":{"type":"string","enum":["info","warning","error"],"description":"worst to hide, default warning; failed requests are errors"},
		"origin":{"type":"string"},
		"fingerprint":{"type":"string","description":"as explain and suggest give it"},
		"text":{"type":"string","description":"part of message or address; * is anything"},
		"hide_new":{"type":"boolean","description":"also what first appears after a checkpoint"},
		"expires":{"type":"string","description":"8h, 7d, date, never; default: your session"},
		"note":{"type":"string"}}`),
	"get_browser_logs": define("get_browser_logs", "Console log", reads,
		"Raw console entries with stacks. For details; get_changes_since is cheaper.", `{
		"level":{"type":"string","enum":["debug","log","info","warning","error"],"description":"least level"},
		"search":{"type":"string"},`+paging),
	"get_network_bodies": define("get_network_bodies", "Requests", reads,
		"Raw requests with headers and text bodies, secrets masked.", `{
		"method":{"type":"string"},
		"url":{"type":"string","description":"part of the address"},
		"status_min":{"type":"integer","description":"400: only failures"},`+paging),
	"get_websocket_events": define("get_websocket_events", "WebSocket events", reads,
		"Raw WebSocket connections and frames.", `{
		"url":{"type":"string","description":"part of the address"},`+paging),
	"get_enhanced_actions": define("get_enhanced_actions", "User actions", reads,
		"What the person at the browser did: clicks, typing, navigation.", `{`+paging),
	"browser_snapshot": define("browser_snapshot", "Page snapshot", reads,
		"Capture page structure as ARIA accessibility tree, with element references [e12]. From the second call on you get only what changed, as long as it is the same page.", `{
		"interactive_only":{"type":"boolean","description":"default true; false: all text too"},
		"full_snapshot":{"type":"boolean","description":"everything again, for complete context"},
		"root":{"type":"string","description":"only inside this reference"},
		"depth":{"type":"integer","minimum":1},
		"search":{"type":"string","description":"only lines with this text"},
		"max_tokens":{"type":"integer","minimum":100},
		"format":{"type":"string","enum":["compact","yaml"]},
		"tab":{"type":"integer","description":"default the last used"}}`),
	"browser_tabs": define("browser_tabs", "Tabs", reads,
		"List the browser's tabs.", `{"action":{"type":"string","enum":["list"]}}`),
}

// paging are the arguments that every raw read takes.
const paging = `
		"after":{"type":"integer","minimum":0,"description":"position to read on from: next of the last answer; default the newest"},
		"limit":{"type":"integer","minimum":1,"maximum":1000,"description":"default 100"},
		"tab":{"type":"integer"}}`

func define(name, title string, what effect, description, properties string, required ...string) *mcp.Tool {
	yes, no := true, false
	annotations := &mcp.ToolAnnotations{Title: title, OpenWorldHint: &no, DestructiveHint: &no}
	switch what {
	case reads:
		annotations.ReadOnlyHint, annotations.IdempotentHint = true, name != "get_changes_since" && name != "browser_snapshot"
	case creates:
		annotations.DestructiveHint = &yes // one of the same name is replaced
	case destroys:
		annotations.DestructiveHint, annotations.IdempotentHint = &yes, true
	}
	input := map[string]any{"type": "object", "properties": json.RawMessage(properties), "additionalProperties": false}
	if len(required) > 0 {
		input["required"] = required
	}
	t := &mcp.Tool{Name: name, Description: description, Annotations: annotations, InputSchema: compact(input)}
	answer := engine.FindTool(name).Answer
	if _, isText := answer.(texter); !isText {
		t.OutputSchema = outputSchema(reflect.TypeOf(answer))
	}
	return t
}

// compact drops the white space of the table above.
func compact(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // the table is part of the program; a test reads it
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

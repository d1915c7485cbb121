package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tiktoken-go/tokenizer/codec"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/engine"
	"tidemark.dev/tidemark/host/internal/mcpserver"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/enginetest"
	"tidemark.dev/tidemark/protocol"
)

// connect is a real MCP client of a world's engine.
func connect(t *testing.T, w *enginetest.World) *mcp.ClientSession {
	t.Helper()
	client, leave := w.Engine.Clients.Join("", "test", checkpoint.Scope{})
	return serve(t, w, client, leave)
}

// serve is a session that speaks for a client; it leaves at the end of the test.
func serve(t *testing.T, w *enginetest.World, client *checkpoint.Client, leave func()) *mcp.ClientSession {
	t.Helper()
	return serveWith(t, w, client, leave, nil)
}

// serveWith is [serve] for a client with capabilities of its own.
func serveWith(t *testing.T, w *enginetest.World, client *checkpoint.Client, leave func(), options *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	ours, theirs := net.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = mcpserver.Serve(ctx, w.Engine, client, "0.0.0", ours)
	}()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options).Connect(ctx, &mcp.IOTransport{Reader: theirs, Writer: theirs}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		_ = theirs.Close()
		cancel()
		<-served
		leave()
	})
	return session
}

func call(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) *mcp.CallToolResult {
	t.Helper()
	r, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s %v: a protocol error: %v", tool, args, err)
	}
	return r
}

func text(r *mcp.CallToolResult) string { return r.Content[0].(*mcp.TextContent).Text }

func tokens(t *testing.T, s string) int {
	t.Helper()
	n, err := codec.NewO200kBase().Count(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func listed(t *testing.T, s *mcp.ClientSession) []*mcp.Tool {
	t.Helper()
	r, err := s.ListTools(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r.Tools
}

// asJSON returns arguments of a raw read, by name and value.
func asJSON(pairs ...any) map[string]any {
	args := map[string]any{"format": "json"}
	for i := 0; i < len(pairs); i += 2 {
		args[pairs[i].(string)] = pairs[i+1]
	}
	return args
}

// TestDefinitionsStayUnderTheirBudget: every session pays for the definitions of its sets, as a model is given them.
func TestDefinitionsStayUnderTheirBudget(t *testing.T) {
	total := map[string]int{}
	for _, tool := range append(listed(t, connect(t, enginetest.New(t, capture.Limits{}))), listed(t, debugger(t))...) {
		definition, err := json.Marshal(map[string]any{"name": tool.Name, "description": tool.Description, "inputSchema": tool.InputSchema})
		if err != nil {
			t.Fatal(err)
		}
		n := tokens(t, string(definition))
		t.Logf("%-22s %4d tokens", tool.Name, n)
		total[engine.FindTool(tool.Name).Set] += n
	}
	t.Logf("by set: %v", total)
	if n := total[tool.Observe] + total[tool.Act]; n > 2600 || n == 0 {
		t.Errorf("the default sets have %d tokens (budget 2,600)", n)
	}
	if n := total[tool.Debug]; n > 1230 || n == 0 {
		t.Errorf("debug has %d tokens (budget 1,230)", n)
	}
}

func TestACleanAnswerStaysUnderAHundredTokens(t *testing.T) {
	s := connect(t, enginetest.New(t, capture.Limits{}))
	answer := text(call(t, s, "get_changes_since", nil))
	if n := tokens(t, answer); n >= 100 {
		t.Errorf("%d tokens: %s", n, answer)
	}
}

func TestEveryToolSaysWhatItDoes(t *testing.T) {
	changes := map[string]bool{"checkpoint_create": true, "checkpoint_delete": true, "configure_noise": true, "browser_tabs": true, "browser_open": true}
	for _, t := range engine.Tools {
		if _, acts := t.Answer.(*act.Answer); acts {
			changes[t.Name] = true
		}
	}
	for _, tool := range listed(t, connect(t, enginetest.New(t, capture.Limits{}))) {
		a := tool.Annotations
		if a == nil || a.Title == "" || a.OpenWorldHint == nil || *a.OpenWorldHint || a.DestructiveHint == nil || a.ReadOnlyHint == changes[tool.Name] || *a.DestructiveHint != changes[tool.Name] {
			t.Errorf("%s: %+v", tool.Name, a)
		}
		_, isText := render.ForAgent(engine.FindTool(tool.Name).Answer)
		if (tool.OutputSchema == nil) != isText || tool.Description == "" {
			t.Errorf("%s has no schema or description", tool.Name)
		}
	}
}

func busy(t *testing.T) *enginetest.World {
	w := enginetest.New(t, capture.Limits{})
	w.Request("GET", "/api/cart", 500, 10)
	for range 3 {
		w.Request("GET", "/api/users", 200, 10)
	}
	w.Element("appeared", 1, ".error", "Before")
	return w
}

func moreOf(w *enginetest.World) {
	w.Log("error", "it <broke> & burned")
	w.Log("warning", "careful")
	w.Request("POST", "/api/users", 0, 1)
	w.Request("GET", "/api/cart", 200, 10)
	w.Request("GET", "/api/users", 200, 900)
	w.Request("GET", "/api/new", 200, 10)
	w.Socket("open", "")
	w.Socket("received", `{"type":"error"}`)
	w.Socket("close", "")
	w.Element("gone", 1, "", "")
	w.Element("appeared", 2, ".toast", "Gone soon")
	w.Element("gone", 2, "", "")
	w.Send("action", `"action":"type","target":"textbox \"Email\"","value":"a@b.c"`)
	w.Send("navigation", `"how":"history","url":"http://localhost:5173/cart"`)
	w.Send("gap", `"from":1769164200000,"to":1769164200500,"reason":"worker_restart"`)
}

// TestAnswersAreTextAndStructureAlike: the text is the structured content, and both fit the schema.
func TestAnswersAreTextAndStructureAlike(t *testing.T) {
	for name, w := range map[string]*enginetest.World{"empty": enginetest.New(t, capture.Limits{}), "full": busy(t)} {
		s := connect(t, w)
		schemas := map[string]*jsonschema.Resolved{}
		for _, tool := range listed(t, s) {
			data, err := json.Marshal(tool.OutputSchema)
			if err != nil {
				t.Fatal(err)
			}
			var schema jsonschema.Schema
			if err := json.Unmarshal(data, &schema); err != nil {
				t.Fatal(err)
			}
			if schemas[tool.Name], err = schema.Resolve(nil); err != nil {
				t.Fatal(err)
			}
		}
		call(t, s, "get_changes_since", nil)
		if name == "full" {
			moreOf(w)
		}
		for _, c := range []struct {
			tool string
			args map[string]any
		}{
			{"get_changes_since", map[string]any{"wait": "none"}},
			{"checkpoint_create", map[string]any{"name": "session_start", "note": "x"}},
			{"checkpoint_create", map[string]any{"name": "session_start"}},
			{"checkpoint_list", nil},
			{"get_changes_since", map[string]any{"checkpoint": "session_start"}},
			{"get_changes_since", map[string]any{"checkpoint": "2026-01-23T10:00:00Z"}},
			{"checkpoint_delete", map[string]any{"name": "session_start"}},
			{"checkpoint_list", nil},
			{"configure_noise", map[string]any{"action": "add", "text": "careful", "expires": "7d"}},
			{"configure_noise", map[string]any{"action": "add", "text": "careful", "expires": "2999-12-31"}},
			{"configure_noise", nil},
			{"configure_noise", map[string]any{"action": "explain", "text": "e"}},
			{"configure_noise", map[string]any{"action": "suggest"}},
			{"configure_noise", map[string]any{"action": "remove", "id": "n1"}},
			{"get_browser_logs", asJSON()},
			{"get_network_requests", asJSON()},
			{"get_network_bodies", asJSON("limit", 1)},
			{"get_network_bodies", asJSON("after", 0, "limit", 1)},
			{"get_websocket_events", asJSON()},
			{"get_enhanced_actions", asJSON()},
		} {
			r := call(t, s, c.tool, c.args)
			structured, err := json.Marshal(r.StructuredContent)
			if err != nil {
				t.Fatal(err)
			}
			var a, b any
			if json.Unmarshal(structured, &a) != nil || json.Unmarshal([]byte(text(r)), &b) != nil || r.IsError {
				t.Errorf("%s, %s: %s", name, c.tool, text(r))
				continue
			}
			one, _ := json.Marshal(a)
			two, _ := json.Marshal(b)
			if string(one) != string(two) {
				t.Errorf("%s, %s: text and structure differ:\n%s\n%s", name, c.tool, one, two)
			}
			if c.args["format"] == "json" { // a raw read has no schema, because its lines have no structure
			} else if err := schemas[c.tool].Validate(b); err != nil {
				t.Errorf("%s, %s: %v in %s", name, c.tool, err, text(r))
			}
			var tight bytes.Buffer
			if err := json.Compact(&tight, []byte(text(r))); err != nil || tight.String() != text(r) || strings.Contains(text(r), "null") || strings.Contains(text(r), `\u003c`) {
				t.Errorf("%s, %s: null, escapes or white space in %s", name, c.tool, text(r))
			}
		}
	}
}

func TestMistakesAreResultsThatSayWhatToDo(t *testing.T) {
	s := connect(t, enginetest.New(t, capture.Limits{}))
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"get_changes_since", map[string]any{"checkpoint": "nope"}, "create one with checkpoint_create"},
		{"get_changes_since", map[string]any{"checkpoint": "2999-01-01"}, "is in the future"},
		{"get_changes_since", map[string]any{"checkpoint": "2026-13-01"}, "not a valid ISO 8601 time"},
		{"get_changes_since", map[string]any{"include": []string{"smell"}}, "sections are console, network, websocket, dom, actions"},
		{"get_changes_since", map[string]any{"include": "console"}, "include must be a list, not a string"},
		{"get_changes_since", map[string]any{"severity": "bad"}, "all, warnings or errors_only"},
		{"get_changes_since", map[string]any{"wait": "long"}, "none, settled or reload"},
		{"get_changes_since", map[string]any{"timeout_ms": -1}, "from 0 to"},
		{"get_changes_since", map[string]any{"tab": 99}, "there is no tab 99; watched tabs: 1 (http://localhost:5173/)"},
		{"get_changes_since", map[string]any{"tab": "one"}, "tab must be a whole number, not a string"},
		{"get_changes_since", map[string]any{"since": "x"}, `has no argument "since"; it takes checkpoint, include, severity, wait, timeout_ms, tab`},
		{"checkpoint_create", nil, "it is empty"},
		{"checkpoint_create", map[string]any{"name": "auto_3"}, "reserved"},
		{"checkpoint_create", map[string]any{"name": "x", "note": strings.Repeat("n", 201)}, "at most 200"},
		{"checkpoint_list", map[string]any{"x": 1}, "it takes none"},
		{"checkpoint_delete", nil, "name is missing"},
		{"checkpoint_delete", map[string]any{"name": "x"}, `no checkpoint "x"`},
		{"get_browser_logs", map[string]any{"level": "loud"}, "debug, log, info, warning or error"},
		{"get_browser_logs", map[string]any{"limit": 1001}, "from 1 to 1000"},
		{"get_browser_logs", map[string]any{"after": 5}, "the newest position is 0"},
		{"get_network_bodies", map[string]any{"status_min": 700}, "from 0 to 599"},
	} {
		r := call(t, s, c.tool, c.args)
		if !r.IsError || !strings.Contains(text(r), c.want) {
			t.Errorf("%s %v: error %v, %q; want %q", c.tool, c.args, r.IsError, text(r), c.want)
		}
	}
}

func TestEachConnectionHasACheckpointOfItsOwn(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	one, two := connect(t, w), connect(t, w)
	w.Log("error", "for both")
	for _, s := range []*mcp.ClientSession{one, two} {
		if answer := text(call(t, s, "get_changes_since", nil)); !strings.Contains(answer, "for both") || !strings.Contains(answer, `"checkpoint":"auto_1"`) {
			t.Errorf("%s", answer)
		}
	}
}

func TestPagesAreReadOnToTheEnd(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	for range 250 {
		w.Log("log", "line")
	}
	s := connect(t, w)
	type page struct {
		Entries []struct{ Position uint64 }
		Next    uint64
		Total   int
		Left    int `json:"left_out"`
	}
	read := func(args map[string]any) (p page) {
		if err := json.Unmarshal([]byte(text(call(t, s, "get_browser_logs", args))), &p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	newest := read(asJSON("max_tokens", 100_000))
	if len(newest.Entries) != 100 || newest.Entries[99].Position != 250 || newest.Next != observe.Older+151 || newest.Total != 250 {
		t.Errorf("the newest: %d entries, next %d, total %d", len(newest.Entries), newest.Next, newest.Total)
	}
	cut := read(asJSON())
	if n := len(cut.Entries); n == 0 || n+cut.Left != 100 || cut.Entries[n-1].Position != 250 || cut.Next != observe.Older+uint64(251-n) {
		t.Errorf("the newest within max_tokens: %d entries, %d left out, next %d", n, cut.Left, cut.Next)
	}
	at, after := uint64(0), uint64(0)
	for {
		p := read(asJSON("after", after))
		for _, e := range p.Entries {
			if at++; e.Position != at {
				t.Fatalf("position %d, want %d", e.Position, at)
			}
		}
		if p.Next == 0 {
			break
		}
		after = p.Next
	}
	if at != 250 {
		t.Errorf("read %d of 250", at)
	}
}

// TestARefusedActionIsAnErrorWithItsCode. Its answer as data is for those that ask for it.
func TestARefusedActionIsAnErrorWithItsCode(t *testing.T) {
	refused := func(options *mcp.ClientOptions) *mcp.CallToolResult {
		w := enginetest.New(t, capture.Limits{})
		w.Do = func(context.Context, protocol.ActParams) (*protocol.ActResult, error) {
			return &protocol.ActResult{Refused: protocol.RefusedDialog, Dialog: &protocol.ActDialog{Kind: "confirm", Message: "Sure?"}}, nil
		}
		client, leave := w.Engine.Clients.Join("", "test", checkpoint.Scope{})
		r := call(t, serveWith(t, w, client, leave, options), "browser_press_key", map[string]any{"key": "a", "tab": 1})
		if !r.IsError || r.Meta["code"] != string(usererr.ActionRefused) || r.Meta["page_text"] != report.Untrusted || !strings.HasPrefix(text(r), `a dialog is open (confirm): "Sure?"`) {
			t.Errorf("%v %v: %s", r.IsError, r.Meta, text(r))
		}
		return r
	}
	if r := refused(nil); r.StructuredContent != nil {
		t.Errorf("an agent pays for data: %v", r.StructuredContent)
	}
	r := refused(&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{Experimental: map[string]any{"tidemark/structured": map[string]any{}}}})
	var answer act.Answer
	data, err := json.Marshal(r.StructuredContent)
	if err != nil || json.Unmarshal(data, &answer) != nil {
		t.Fatalf("%v: %s", err, data)
	}
	if r := answer.Refused; answer.Tab != 1 || answer.PageText != report.Untrusted || r == nil || r.Reason != protocol.RefusedDialog || r.Dialog.Message != "Sure?" || r.Done != 0 || r.Steps != 1 {
		t.Errorf("%s", data)
	}
}

// TestRequestsInFewTokens: four data requests of a page, among the files that it loads, in at most 97 tokens.
func TestRequestsInFewTokens(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	for i, c := range []struct{ method, path, resource, initiator string }{
		{"GET", "/src/main.tsx", "script", "main.tsx:1"},
		{"GET", "/src/App.tsx", "script", "main.tsx:2"},
		{"GET", "/api/session", "fetch", "App.tsx:12"},
		{"GET", "/api/products?page=1", "fetch", "Products.tsx:20"},
		{"POST", "/api/cart", "fetch", "client.ts:8"},
		{"GET", "/api/flags", "fetch", "flags.ts:5"},
	} {
		w.Send("network", fmt.Sprintf(`"id":"%d","method":%q,"url":"http://localhost:5173%s","resource":%q,"status":200,"started":%d,"duration":35,"size":%d,"stack":["load (http://localhost:5173/src/%s:1)"]`,
			i, c.method, c.path, c.resource, w.Now.UnixMilli()+int64(40*i), 190*i, c.initiator))
	}
	answer := text(call(t, connect(t, w), "get_network_requests", nil))
	if n := tokens(t, answer); n > 97 || strings.Count(answer, "\n") != 4 || !strings.HasPrefix(answer, "# 10:30:00Z +start/ms/bytes, 2 files omitted\n") || !strings.Contains(answer, "\n4 GET /api/products?page=1 200 +120/35/570 Products.tsx:20\n") {
		t.Errorf("%d tokens (budget 97): %s", n, answer)
	}
}

//go:build !windows

package daemon

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/mcpserver"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// notOffered are the scenarios of the suite for features that Tidemark does not offer, with the reason.
var notOffered = map[string]string{
	"completion-complete":           "there are no prompts, and the arguments of resources are not completed",
	"tools-call-with-logging":       "Tidemark sends no log messages: the specification deprecates them",
	"tools-call-with-progress":      "no tool reports progress: the longest waits as long as its timeout_ms says",
	"tools-call-sampling":           "Tidemark asks no model: the specification deprecates it",
	"tools-call-elicitation":        "Tidemark asks its users nothing through the agent",
	"elicitation-sep1034-defaults":  "Tidemark asks its users nothing through the agent",
	"elicitation-sep1330-enums":     "Tidemark asks its users nothing through the agent",
	"resources-subscribe":           "what can be followed is Tidemark's own; the suite follows a resource of its own",
	"resources-unsubscribe":         "what can be followed is Tidemark's own; the suite follows a resource of its own",
	"prompts-get-simple":            "there are no prompts",
	"prompts-get-with-args":         "there are no prompts",
	"prompts-get-embedded-resource": "there are no prompts",
	"prompts-get-with-image":        "there are no prompts",
}

// TestThePublicConformanceSuitePasses runs @modelcontextprotocol/conformance against the real server over
// the real transport, with the tools beside that the suite asks for.
func TestThePublicConformanceSuitePasses(t *testing.T) {
	if testing.Short() {
		t.Skip("takes several seconds")
	}
	suite, err := filepath.Abs("../../../node_modules/.bin/conformance")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(suite); err != nil {
		t.Skip("the suite is not installed: npm ci")
	}
	w := enginetest.New(t, capture.Limits{})
	ctx, cancel := context.WithCancel(context.Background())
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	const token = "a token that the suite cannot send"
	checked := own(authorized(mcpserver.HTTP(ctx, w.Engine, "1.2.3", addFixtures), token, nil), port)
	served := make(chan error, 1)
	go func() {
		served <- serve(ctx, l, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			r.Header.Set("Authorization", "Bearer "+token)
			checked.ServeHTTP(rw, r)
		}))
	}()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()

	within, done := context.WithTimeout(t.Context(), 5*time.Minute)
	defer done()
	cmd := exec.CommandContext(within, suite, "server", "--url", fmt.Sprintf("http://localhost:%d/mcp", port), "--suite", "all")
	cmd.Dir = t.TempDir()          // it leaves results where it runs
	out, _ := cmd.CombinedOutput() // an error for what is not offered
	results := regexp.MustCompile(`(?m)^([✓✗]) (\S+): \d+ passed, \d+ failed$`).FindAllSubmatch(out, -1)
	if len(results) < 20 {
		t.Fatalf("the suite has results of %d scenarios: %s", len(results), out)
	}
	known := map[string]bool{}
	for _, r := range results {
		passed, name := string(r[1]) == "✓", string(r[2])
		known[name] = true
		t.Run(name, func(t *testing.T) {
			switch why, not := notOffered[name]; {
			case not && passed:
				t.Errorf("it passes, though it is said that %s", why)
			case !not && !passed:
				t.Errorf("it fails:\n%s", out)
			}
		})
	}
	for name := range notOffered {
		if !known[name] {
			t.Errorf("the suite has no scenario %s", name)
		}
	}
}

// addFixtures adds the tools that the suite's scenarios call, and the resources that they read.
func addFixtures(s *mcp.Server) {
	png, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	if err != nil {
		panic(err)
	}
	wav := append([]byte("RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data"), 0, 0, 0, 0)
	add := func(name string, schema string, result *mcp.CallToolResult) {
		s.AddTool(&mcp.Tool{Name: name, Description: "a fixture of the conformance suite", InputSchema: jsonSchema(schema)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return result, nil })
	}
	read := func(kind string, contents func(uri string) *mcp.ResourceContents) mcp.ResourceHandler {
		return func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			c := contents(r.Params.URI)
			c.URI, c.MIMEType = r.Params.URI, kind
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}, nil
		}
	}
	s.AddResource(&mcp.Resource{URI: "test://static-text", Name: "text"}, read("text/plain", func(string) *mcp.ResourceContents {
		return &mcp.ResourceContents{Text: "This is the content of the static text resource."}
	}))
	s.AddResource(&mcp.Resource{URI: "test://static-binary", Name: "binary"}, read("image/png", func(string) *mcp.ResourceContents { return &mcp.ResourceContents{Blob: png} }))
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template"}, read("application/json", func(uri string) *mcp.ResourceContents {
		id := strings.TrimSuffix(strings.TrimPrefix(uri, "test://template/"), "/data")
		return &mcp.ResourceContents{Text: fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id)}
	}))
	none := `{"type":"object","properties":{}}`
	image := &mcp.ImageContent{Data: png, MIMEType: "image/png"}
	add("test_simple_text", none, &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "This is a simple text response for testing."}}})
	add("test_image_content", none, &mcp.CallToolResult{Content: []mcp.Content{image}})
	add("test_audio_content", none, &mcp.CallToolResult{Content: []mcp.Content{&mcp.AudioContent{Data: wav, MIMEType: "audio/wav"}}})
	add("test_embedded_resource", none, &mcp.CallToolResult{Content: []mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
		URI: "test://embedded-resource", MIMEType: "text/plain", Text: "This is an embedded resource content.",
	}}}})
	add("test_multiple_content_types", none, &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.TextContent{Text: "Multiple content types test:"}, image,
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "test://mixed-content-resource", MIMEType: "application/json", Text: `{"test":"data","value":123}`}},
	}})
	add("test_error_handling", none, &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "This tool intentionally returns an error for testing"}}})
	add("json_schema_2020_12_tool", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
		"$defs":{"address":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
		"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"}},"additionalProperties":false}`,
		&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ok"}}})
}

// jsonSchema is a schema as it is written.
type jsonSchema string

func (s jsonSchema) MarshalJSON() ([]byte, error) { return []byte(s), nil }

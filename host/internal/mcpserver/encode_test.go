package mcpserver

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestAResultIsEncodedAsTheSDKDoes: written in one pass or not, a client reads the same.
func TestAResultIsEncodedAsTheSDKDoes(t *testing.T) {
	text := func(s string) []mcp.Content { return []mcp.Content{&mcp.TextContent{Text: s}} }
	data := json.RawMessage(`{"a":"<b> & \"content\":[] \u2028","n":1}`)
	for name, r := range map[string]*mcp.CallToolResult{
		"text":       {Content: text("a <b>\n\u2028 & \"c\" \xff")},
		"structured": {Content: text(string(data)), StructuredContent: data},
		"with meta":  {Content: text(string(data)), StructuredContent: data, Meta: mcp.Meta{"page_text": "quotes", "x": map[string]any{"y": 1.0}}},
		"failed":     {Content: text("no"), IsError: true},
		"no text":    {Content: []mcp.Content{}, StructuredContent: data},
		"empty data": {Content: text("a"), StructuredContent: json.RawMessage{}},
		"picture":    {Content: append(text("a"), &mcp.ImageContent{Data: []byte("png"), MIMEType: "image/png"}), StructuredContent: data},
		"annotated":  {Content: []mcp.Content{&mcp.TextContent{Text: "a", Annotations: &mcp.Annotations{Priority: 1}}}, StructuredContent: data},
		"as value":   {Content: text("a"), StructuredContent: map[string]any{"a": 1.0}},
	} {
		want, wantErr := json.Marshal(r)
		got, err := json.Marshal(encoded{r})
		if (err == nil) != (wantErr == nil) {
			t.Errorf("%s: %v, want %v", name, err, wantErr)
			continue
		}
		if err != nil {
			continue
		}
		var a, b any
		if err := json.Unmarshal(got, &a); err != nil {
			t.Errorf("%s: %v in %s", name, err, got)
		}
		if err := json.Unmarshal(want, &b); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

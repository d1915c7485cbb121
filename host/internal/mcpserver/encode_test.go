package mcpserver

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestAResultIsEncodedAsTheSDKDoes: written in one pass or not, a client reads the same, and of several in one line too.
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
		if direct, err := json.Marshal(encoded{CallToolResult: r}); err == nil && !json.Valid(direct) {
			t.Errorf("%s: %s", name, direct)
		}
		kept := &answers{}
		got, err := json.Marshal(encoded{r, kept})
		got = kept.fill(got)
		if len(kept.kept) > 0 {
			t.Errorf("%s: %d answers were not written", name, len(kept.kept))
		}
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

func TestAnswersComeToTheirPlaces(t *testing.T) {
	var kept answers
	one, two := string(kept.keep([]byte(`"a":1`))), string(kept.keep([]byte(`"b":`+`"`+placeholder[1:len(placeholder)-1]+`"`)))
	page := placeholder + "AAAAAAAAAAAAAAAAAAAAAAAAAA\""
	line := `[{"x":"` + placeholder + `",` + two + `},{` + one + `},{` + page + `},{` + one + `}]`
	want := `[{"x":"` + placeholder + `","b":"` + placeholder[1:len(placeholder)-1] + `"},{"a":1},{` + page + `},{` + one + `}]`
	if got := string(kept.fill([]byte(line))); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

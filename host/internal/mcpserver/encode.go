package mcpserver

import (
	"bytes"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark.dev/tidemark/host/internal/diff"
)

// encoded is a result whose answer is written into its place. [mcp.CallToolResult] would read the answer's JSON
// through again for each level that it lies in, which takes longer than making it.
type encoded struct{ *mcp.CallToolResult }

// noContent is how a result without content is encoded. Metadata, which stands before it, has no such key.
const noContent = `"content":[]`

// MarshalJSON is what the embedded result encodes as, but for escapes that only HTML needs.
func (r encoded) MarshalJSON() ([]byte, error) {
	text, structured, ok := r.parts()
	if !ok {
		return json.Marshal(r.CallToolResult)
	}
	shell := *r.CallToolResult
	shell.Content, shell.StructuredContent = []mcp.Content{}, nil
	around, err := json.Marshal(&shell)
	if err != nil {
		return nil, err
	}
	quoted, err := diff.Encode(text)
	if err != nil {
		return nil, err
	}
	before, after, _ := bytes.Cut(around, []byte(noContent))
	out := make([]byte, 0, len(around)+len(quoted)+len(structured)+64)
	out = append(out, before...)
	out = append(out, `"content":[{"type":"text","text":`...)
	out = append(out, quoted...)
	out = append(out, `}],"structuredContent":`...)
	out = append(out, structured...)
	return append(out, after...), nil
}

// parts are the answer as text and as data, where it is nothing else.
func (r encoded) parts() (text string, structured json.RawMessage, ok bool) {
	structured, ok = r.StructuredContent.(json.RawMessage)
	if !ok || len(structured) == 0 || len(r.Content) != 1 {
		return "", nil, false
	}
	content, ok := r.Content[0].(*mcp.TextContent)
	if !ok || content.Meta != nil || content.Annotations != nil {
		return "", nil, false
	}
	return content.Text, structured, true
}

package mcpserver

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark.dev/tidemark/host/internal/report"
)

// encoded is a result whose answer is written into its place in the line that goes out. The SDK would read the answer's
// JSON through again for each of the four levels that it lies in, which takes longer than making it.
type encoded struct {
	*mcp.CallToolResult
	answers *answers // nil for a transport of the SDK's
}

// noContent is how a result without content is encoded. Metadata, which stands before it, has no such key.
const noContent = `"content":[]`

// MarshalJSON has a placeholder in place of the answer, which [answers.fill] replaces.
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
	quoted, err := report.Encode(text)
	if err != nil {
		return nil, err
	}
	content := make([]byte, 0, len(quoted)+len(structured)+64)
	content = append(content, `"content":[{"type":"text","text":`...)
	content = append(content, quoted...)
	content = append(content, `}],"structuredContent":`...)
	content = append(content, structured...)
	return bytes.Replace(around, []byte(noContent), r.answers.keep(content), 1), nil
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

// answers are those of one connection that have been encoded and not been written yet, by their placeholders. No page
// knows a placeholder: each is of a random text, and used once.
type answers struct {
	mu   sync.Mutex
	kept map[string][]byte
}

// A placeholder is a pair of JSON: `"answer":"…"`, of placeholderLen bytes.
const (
	placeholder    = `"answer":"`
	placeholderLen = len(placeholder) + 26 + 1
)

// keep returns a placeholder for JSON; where nobody fills it, the JSON itself.
func (a *answers) keep(content []byte) []byte {
	if a == nil {
		return content
	}
	p := placeholder + rand.Text() + `"`
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kept == nil {
		a.kept = map[string][]byte{}
	}
	a.kept[p] = content
	return []byte(p)
}

// fill replaces the placeholders in a line.
func (a *answers) fill(line []byte) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	for from := 0; len(a.kept) > 0; {
		i := bytes.Index(line[from:], []byte(placeholder))
		if i < 0 || from+i+placeholderLen > len(line) {
			break
		}
		from += i
		p := string(line[from : from+placeholderLen])
		content, ok := a.kept[p]
		if !ok {
			from += len(placeholder)
			continue
		}
		delete(a.kept, p)
		filled := make([]byte, 0, len(line)+len(content))
		filled = append(append(append(filled, line[:from]...), content...), line[from+placeholderLen:]...)
		line, from = filled, from+len(content)
	}
	return line
}

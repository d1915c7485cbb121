package conversation_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/redact"
)

// TestNoPictureIsRecorded of those that tools answer with, such as browser_screenshot: rules that mask text do not apply to them.
func TestNoPictureIsRecorded(t *testing.T) {
	pixels := strings.Repeat("\x00\x11\x22\x33pixels\xfe\xff", 25_000)
	for format, start := range map[string]string{"image/png": "\x89PNG\r\n\x1a\n", "image/jpeg": "\xff\xd8\xff\xe0", "image/webp": "RIFF\x00\x00\x00\x00WEBP", "image/gif": "GIF89a", "image/avif": "\x00\x00\x00 ftypavif"} {
		for size, picture := range map[string]string{"small": start + pixels[:9000], "large": start + pixels} {
			data := base64.StdEncoding.EncodeToString([]byte(picture))
			url := "data:" + format + ";base64," + data
			quoted, _ := json.Marshal(`[{"type":"image","mimeType":"` + format + `","data":"` + data + `"}]`)
			for agent, output := range map[string]string{
				"MCP":                   `{"content":[{"type":"text","text":"kept"},{"type":"image","data":"` + data + `","mimeType":"` + format + `"}]}`,
				"Claude Code":           `[{"type":"text","text":"kept"},{"type":"image","source":{"type":"base64","media_type":"` + format + `","data":"` + data + `"}}]`,
				"Claude Code, a file":   `{"type":"image","file":{"base64":"` + data + `","type":"` + format + `","name":"kept"}}`,
				"Codex":                 `{"output":[{"type":"input_text","text":"kept"},{"type":"input_image","image_url":"` + url + `"}]}`,
				"Gemini CLI":            `{"llmContent":[{"inlineData":{"mimeType":"` + format + `","data":"` + data + `"}},{"text":"kept"}]}`,
				"a page":                `"<p>kept</p><img src='` + url + `'><p>kept</p>"`,
				"data in a text":        `["kept",` + string(quoted) + `]`,
				"data that is no JSON":  `kept {"type":"image","mimeType":"` + format + `","data":"` + data + `"`,
				"data with line breaks": `["kept","` + strings.ReplaceAll(url[:200]+"\n"+url[200:], "\n", `\n`) + `"]`,
			} {
				for way, record := range map[string]func(e *conversation.Event){
					"hook":       func(e *conversation.Event) { e.Trim(); e.Clean(redact.Default()) },
					"transcript": func(e *conversation.Event) { e.Clean(redact.Default()) },
				} {
					e := conversation.Event{Kind: conversation.Result, Tool: "mcp__tidemark__browser_screenshot", Output: json.RawMessage(output), Text: url, Input: json.RawMessage(`{"picture":"` + url + `"}`)}
					record(&e)
					all := string(e.Output) + string(e.Input) + e.Text
					for at := len(data) % 7; at+120 < len(data); at += 997 {
						if strings.Contains(all, data[at:at+120]) {
							t.Fatalf("%s, %s, %s, %s: a part of the picture is recorded in %.300s", agent, format, size, way, all)
						}
					}
					if !strings.Contains(string(e.Output), "kept") {
						t.Errorf("%s, %s, %s, %s: more than the picture is missing in %.300s", agent, format, size, way, e.Output)
					}
					if e.Cut < len(data) {
						t.Errorf("%s, %s, %s, %s: %d bytes are said to be left out, of %d", agent, format, size, way, e.Cut, len(data))
					}
				}
			}
		}
	}
}

// TestOtherDataIsNoPicture, though it looks like one at the first sight.
func TestOtherDataIsNoPicture(t *testing.T) {
	long := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("words ", 500)))
	for _, output := range []string{
		`{"name":"logo.png","type":"image/png"}`,
		`{"data":"` + long + `","mimeType":"text/plain"}`,
		`"R0lGOD and UklGR and /9j/ and iVBORw0KGgo are how pictures begin"`,
		`"data:image/png;base64, is how a URL begins"`,
		`{"mimeType":"image/svg+xml","text":"<svg xmlns=\"http://www.w3.org/2000/svg\"><text>` + strings.Repeat("a word ", 60) + `</text></svg>"}`,
	} {
		e := conversation.Event{Kind: conversation.Result, Output: json.RawMessage(output)}
		e.Trim()
		if got := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(e.Output)); got != output || e.Cut != 0 {
			t.Errorf("%s became %s", output, got)
		}
	}
}

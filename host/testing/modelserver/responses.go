package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// responses answers in the form of OpenAI's Responses API.
func responses(w http.ResponseWriter, model string, turn Turn, n int) {
	id := fmt.Sprintf("resp_%04d", n)
	var items []any
	if turn.Text != "" {
		items = append(items, map[string]any{
			"type": "message", "id": fmt.Sprintf("msg_%04d", n), "role": "assistant", "status": "completed",
			"content": []any{map[string]any{"type": "output_text", "text": turn.Text, "annotations": []any{}}},
		})
	}
	for _, c := range turn.Calls {
		if text, ok := c.Input.(string); ok {
			items = append(items, map[string]any{"type": "custom_tool_call", "id": "ctc_" + c.ID, "call_id": c.ID, "name": c.Name, "input": text, "status": "completed"})
			continue
		}
		arguments, _ := json.Marshal(c.Input)
		item := map[string]any{"type": "function_call", "id": "fc_" + c.ID, "call_id": c.ID, "name": c.Name, "arguments": string(arguments), "status": "completed"}
		if space, name, ok := strings.Cut(c.Name, "/"); ok {
			item["namespace"], item["name"] = space, name
		}
		items = append(items, item)
	}
	response := func(status string) map[string]any {
		return map[string]any{
			"id": id, "object": "response", "status": status, "model": model, "output": items,
			"usage": map[string]any{"input_tokens": 100, "input_tokens_details": map[string]any{"cached_tokens": 0}, "output_tokens": 10, "output_tokens_details": map[string]any{"reasoning_tokens": 0}, "total_tokens": 110},
		}
	}
	s := newStream(w)
	s.send("response.created", map[string]any{"response": response("in_progress")})
	for i, item := range items {
		s.send("response.output_item.added", map[string]any{"output_index": i, "item": item})
		s.send("response.output_item.done", map[string]any{"output_index": i, "item": item})
	}
	s.send("response.completed", map[string]any{"response": response("completed")})
}

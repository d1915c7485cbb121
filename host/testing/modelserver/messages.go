package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// messages answers in the form of Anthropic's Messages API.
func messages(w http.ResponseWriter, model string, streamed bool, turn Turn, n int) {
	reason := "end_turn"
	content := []any{map[string]any{"type": "text", "text": turn.Text}}
	for _, c := range turn.Calls {
		reason = "tool_use"
		content = append(content, map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": c.Input})
	}
	if turn.Text == "" {
		content = content[1:]
	}
	usage := map[string]any{"input_tokens": 100, "output_tokens": 10}
	message := map[string]any{
		"id": fmt.Sprintf("msg_%04d", n), "type": "message", "role": "assistant", "model": model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}
	if !streamed {
		message["content"], message["stop_reason"] = content, reason
		object(w, message)
		return
	}
	s := newStream(w)
	s.send("message_start", map[string]any{"message": message})
	for i, block := range content {
		b := block.(map[string]any)
		start, delta := map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": b["text"]}
		if b["type"] == "tool_use" {
			input, _ := json.Marshal(b["input"])
			start = map[string]any{"type": "tool_use", "id": b["id"], "name": b["name"], "input": map[string]any{}}
			delta = map[string]any{"type": "input_json_delta", "partial_json": string(input)}
		}
		s.send("content_block_start", map[string]any{"index": i, "content_block": start})
		s.send("content_block_delta", map[string]any{"index": i, "delta": delta})
		s.send("content_block_stop", map[string]any{"index": i})
	}
	s.send("message_delta", map[string]any{"delta": map[string]any{"stop_reason": reason, "stop_sequence": nil}, "usage": usage})
	s.send("message_stop", map[string]any{})
}

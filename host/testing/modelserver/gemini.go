package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// generate answers in the form of Google's generateContent and streamGenerateContent.
func generate(w http.ResponseWriter, model string, streamed bool, turn Turn) {
	var parts []any
	if turn.Text != "" {
		parts = append(parts, map[string]any{"text": turn.Text})
	}
	for _, c := range turn.Calls {
		parts = append(parts, map[string]any{"functionCall": map[string]any{"id": c.ID, "name": c.Name, "args": c.Input}})
	}
	answer := map[string]any{
		"candidates":    []any{map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": parts}, "finishReason": "STOP"}},
		"usageMetadata": map[string]any{"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110},
		"modelVersion":  model,
	}
	if !streamed {
		object(w, answer)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	data, _ := json.Marshal(answer)
	fmt.Fprintf(w, "data: %s\n\n", data)
}

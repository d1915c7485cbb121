package engine_test

import (
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// TestOpenRequestsAreListed: a request that has not ended is found by get_network_requests, and marked.
func TestOpenRequestsAreListed(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	w.Send("request", `"id":"s","method":"GET","url":"http://localhost:5173/api/ndjson","resource":"fetch"`)
	w.Pass(79 * time.Second)
	text := inLines(t, w, a, "get_network_requests", `{"url":"ndjson"}`)
	if !strings.HasPrefix(text, "# no ended requests\n# open: GET /api/ndjson since ") || !strings.HasSuffix(text, ", 1m19s") {
		t.Error(text)
	}
	if text := inLines(t, w, a, "get_network_requests", `{"url":"other"}`); text != "# no requests" {
		t.Error(text)
	}
	if text := inLines(t, w, w.Scoped("http://localhost:9999"), "get_network_requests", `{}`); strings.Contains(text, "ndjson") {
		t.Error(text)
	}
	w.Send("network", `"id":"s","method":"GET","url":"http://localhost:5173/api/ndjson","resource":"fetch","status":200,"started":1,"duration":79000`)
	if text := inLines(t, w, a, "get_network_requests", `{"url":"ndjson"}`); strings.Contains(text, "open") {
		t.Error(text)
	}
}

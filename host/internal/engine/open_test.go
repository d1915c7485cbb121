package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/tokens"
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

// TestOpenRequestsFitMaxTokens: they need at most half of them, the newest stay, and all are counted.
func TestOpenRequestsFitMaxTokens(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	for i := range 30 {
		sendRequest(w, fmt.Sprint(i), fmt.Sprintf(`"method":"GET","url":"http://localhost:5173/rows/%d","status":200,"started":1769164199000,"duration":10`, i))
		w.Send("request", fmt.Sprintf(`"id":"o%d","method":"GET","url":"http://localhost:5173/api/stream/%d/of/a/long/address?with=%s","resource":"fetch"`, i, i, strings.Repeat("a-value-", 12)))
	}
	for most, open := range map[int]string{100: "# 30 more open", 200: "# 29 more open", 2000: "# 25 more open"} {
		text := inLines(t, w, a, "get_network_requests", fmt.Sprintf(`{"max_tokens":%d}`, most))
		if n := tokens.Estimate(text); n > most {
			t.Errorf("within %d: %d tokens:\n%s", most, n, text)
		}
		if !strings.Contains(text, open) || most > 100 && !strings.Contains(text, "GET /api/stream/29/") {
			t.Errorf("within %d:\n%s", most, text)
		}
		data, err := w.Call(a, "get_network_requests", fmt.Sprintf(`{"max_tokens":%d,"format":"json"}`, 3*most))
		if n := tokens.Estimate(data); err != nil || n > 3*most || !strings.Contains(data, `"open_total":30`) {
			t.Errorf("JSON within %d: %d tokens, %v:\n%s", 3*most, n, err, data)
		}
	}
}

// TestOpenRequestsHaveTheirOperation: several operations at one address are told apart while they last, in the list and in what a
// wait says. An older extension sends no operation.
func TestOpenRequestsHaveTheirOperation(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	a := w.Agent()
	for id, operation := range []string{`,"operation":"Cart"`, `,"operation":"Pay"`, ""} {
		w.Send("request", fmt.Sprintf(`"id":"g%d","method":"POST","url":"http://localhost:5173/graphql","resource":"fetch"%s`, id, operation))
		w.Pass(time.Millisecond)
	}
	text := inLines(t, w, a, "get_network_requests", `{}`)
	for _, want := range []string{"# open: POST /graphql Cart since ", "# open: POST /graphql Pay since ", "# open: POST /graphql since "} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
	data, err := w.Call(a, "get_network_requests", `{"format":"json"}`)
	if err != nil || strings.Count(data, `"operation":"Pay"`) != 1 || strings.Count(data, `"operation"`) != 2 {
		t.Errorf("%s %v", data, err)
	}
}

package engine_test

import (
	"testing"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// TestAnIconOfAPageIsAFile: it is counted, not listed, whatever its name.
func TestAnIconOfAPageIsAFile(t *testing.T) {
	w := enginetest.New(t, capture.Limits{})
	w.Send("network", `"id":"1","method":"GET","url":"http://localhost:5173/favicon.svg","resource":"other","mime":"image/svg+xml","status":200,"started":1769164199500,"duration":4`)
	if got := inLines(t, w, w.Agent(), "get_network_requests", `{}`); got != "# no requests, 1 files omitted" {
		t.Error(got)
	}
}

package effects

import (
	"io"
	"net/http"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestAnAnswerThatNobodyReadsIsNotInFlight: of one that must not be stored, the browser reports no end until its page reads it.
func TestAnAnswerThatNobodyReadsIsNotInFlight(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Unread", "")})
	s.Mux.HandleFunc("/items", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = io.WriteString(w, `[{"name":"pen"}]`)
	})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Changes()
	p.JS(`window.kept = await fetch('/items')`)
	r := a.ChangesWith(map[string]any{"wait": "settled", "timeout_ms": 5000})
	if r.Settled == nil || !*r.Settled {
		t.Errorf("it is not settled: %s", e2etest.Show(r))
	}
}

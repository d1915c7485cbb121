package reports

import (
	"io"
	"net/http"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestAPageWhoseServerTakesItsTimeIsSeen from its first line on. Until it is there the tab answers nothing, for longer than capture
// waits for an answer.
func TestAPageWhoseServerTakesItsTimeIsSeen(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, nil)
	s.Mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(7 * time.Second) // a first compilation
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<!doctype html><title>slow</title><link rel=icon href=data:,><script>console.error('in the first line'); fetch('/first.json')</script>`)
	})
	s.Answer("/first.json", 503)
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	r := a.Changes()
	if len(r.Console.NewErrors) != 1 || len(r.Network.Failures) != 1 || r.Network.Failures[0].Status != 503 || r.Coverage != nil {
		t.Errorf("of the first load: %s", e2etest.Show(r))
	}
	p.JS(`console.error('afterwards')`)
	if r := a.Changes(); len(r.Console.NewErrors) != 1 || r.Console.NewErrors[0].Message != "afterwards" {
		t.Errorf("afterwards: %s", e2etest.Show(r))
	}
}

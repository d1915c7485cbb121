//go:build unix

package install

import (
	"fmt"
	"net/http"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestOpeningAPageReportsWhatBroke: as navigating to it does.
func TestOpeningAPageReportsWhatBroke(t *testing.T) {
	w, _ := alone(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": shop + `<script>fetch('/orders')</script>`})
	s.Mux.HandleFunc("/orders", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no such table: orders", http.StatusInternalServerError)
	})
	s.Mux.HandleFunc("/bad", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "unknown host", http.StatusBadRequest) })
	a := agentOf(t, w)
	defer func() { _ = a.Close() }()
	open := func(path string, parts ...string) {
		t.Helper()
		text, err := a.Text("browser_open", map[string]any{"url": s.URL + path, "headless": true, "profile": "kept"})
		if err != nil {
			t.Fatal(err)
		}
		e2etest.Holds(t, text, append(parts, "Problems:\n- ")...)
	}
	open("/", "from the first line", "GET /orders 500", `button "Buy" [e`)
	open("/bad", `GET /bad 400`)
}

// TestWhatFailsFirstIsReportedInFull: the document, and the first request of its script, in new browsers and in new tabs.
func TestWhatFailsFirstIsReportedInFull(t *testing.T) {
	w, _ := alone(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": `<!doctype html><title>Shop</title><link rel=icon href=data:,><h1>Shop</h1><script>
fetch('/orders')</script>`})
	fails := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = fmt.Fprintf(w, `{"message":"no such table: %s"}`, r.URL.Path[1:])
	}
	s.Mux.HandleFunc("/orders", fails)
	s.Mux.HandleFunc("/report", fails)
	for n := range 4 {
		profile := "fresh"
		if n > 1 {
			profile = "kept" // in tabs of one browser
		}
		for path, want := range map[string]string{
			"/":       `GET /orders 500 "no such table: orders" from (page):2`,
			"/report": `GET /report 500 "no such table: report"`,
		} {
			a := agentOf(t, w) // another one would not be sent the same failure again
			text, err := a.Text("browser_open", map[string]any{"url": fmt.Sprintf("%s%s?%d", s.URL, path, n), "headless": true, "profile": profile})
			if err != nil {
				t.Fatal(err)
			}
			e2etest.Holds(t, text, want)
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

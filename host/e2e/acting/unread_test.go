package acting

import (
	"io"
	"net/http"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestAnActionSaysWhyARequestFailedThatThePageDoesNotRead: a wrapper that throws at a failing status leaves the body alone.
func TestAnActionSaysWhyARequestFailedThatThePageDoesNotRead(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Unread", `<button id="b">Sign up</button><script>
		b.onclick = async () => { const r = await fetch('/api/users'); if (!r.ok) throw new Error('failed'); await r.json(); }</script>`)})
	s.Mux.HandleFunc("/api/users", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(422)
		_, _ = io.WriteString(w, `{"errors":{"password":["is too short"]}}`)
	})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	d := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, a.Look(), `"Sign up"`)})
	e2etest.Holds(t, d.String(), `GET /api/users 422 "password: is too short"`)
}

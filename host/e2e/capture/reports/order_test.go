package reports

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestRequestsAreListedAsTheyWereSent: of requests of the same millisecond, and whichever is answered first.
func TestRequestsAreListedAsTheyWereSent(t *testing.T) {
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage + `<button onclick="for (const n of 'abcde') fetch('/ord/' + n)">Send</button>
<button onclick="for (const n of 'abcde') fetch('/bad/' + n)">Fail</button>`})
	slowFirst := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Duration('f'-r.PathValue("n")[0]) * 30 * time.Millisecond)
			w.WriteHeader(status)
		}
	}
	s.Mux.HandleFunc("/ord/{n}", slowFirst(200))
	s.Mux.HandleFunc("/bad/{n}", slowFirst(500))
	w := e2etest.SharedWorld(t)
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	ordered := func(what, text, path string) {
		t.Helper()
		last := -1
		for _, n := range "abcde" {
			at := strings.Index(text, path+string(n))
			if at <= last {
				t.Errorf("%s: %s%c is missing or out of order:\n%s", what, path, n, text)
				return
			}
			last = at
		}
	}
	look := a.Look()
	ordered("the action", a.Do("browser_click", map[string]any{"ref": e2etest.RefOf(t, look, "Send")}), "/ord/")
	ordered("the action", a.Do("browser_click", map[string]any{"ref": e2etest.RefOf(t, look, "Fail")}), "/bad/")
	ordered("get_network_requests", a.Do("get_network_requests", map[string]any{"url": "/ord/"}), "/ord/")
	ordered("get_network_bodies", a.Do("get_network_bodies", map[string]any{"url": "/ord/"}), "/ord/")
	ordered("the command line", w.Run("network", "--url", "/ord/").Out, "/ord/")
	ordered("get_changes_since", e2etest.Show(a.ChangesWith(map[string]any{"checkpoint": "auto_0"})), "/bad/")
}

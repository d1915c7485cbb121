package reports

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestTheBrowsersErrorPageIsAnErrorUntilAnotherPageIsShown: a script of the page opens it, so that no client knows of the load.
func TestTheBrowsersErrorPageIsAnErrorUntilAnotherPageIsShown(t *testing.T) {
	w := e2etest.SharedWorld(t)
	var up atomic.Bool
	s := testbed.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/cart" && !up.Load() {
			panic(http.ErrAbortHandler) // it hangs up
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!doctype html><title>shop ` + r.URL.Path + `</title><link rel="icon" href="data:,">`))
	}))
	t.Cleanup(s.Close)
	a := w.NewAgent(t, "--origin", s.URL)
	page := w.Open(t, s.URL)
	page.WaitForTitle("shop /")
	a.Changes()
	page.JS(`location.href = '/cart'`)
	if r := a.ChangesWith(map[string]any{"wait": "reload"}); r.Severity != report.Error || r.Network == nil || len(r.Network.Failures) != 1 {
		t.Errorf("%s", e2etest.Show(r))
	}
	for range 2 {
		if r := a.Changes(); r.Severity != report.Error || len(r.Repeated) != 1 || !strings.Contains(r.Repeated[0].Message, "GET /cart net::ERR_EMPTY_RESPONSE") {
			t.Errorf("the error page is shown: %s", e2etest.Show(r))
		}
	}
	up.Store(true)
	page.Reload()
	page.WaitForTitle("shop /cart")
	for range 2 {
		if r := a.ChangesWith(map[string]any{"wait": "settled"}); r.Severity != report.Clean {
			t.Errorf("another page is shown: %s", e2etest.Show(r))
		}
	}
}

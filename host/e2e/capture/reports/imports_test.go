package reports

import (
	"net/http"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestAFailedImportBlamesNoSheetOfTheRightType: Chromium reports an error at the link of a sheet that came as it should.
func TestAFailedImportBlamesNoSheetOfTheRightType(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := testbed.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sheets := map[string]string{"/imp1.css": `@import url("http://nohost.invalid/x.css");`, "/imp2.css": `@import "/missing.css";`}
		switch sheet, ok := sheets[r.URL.Path]; {
		case ok:
			w.Header().Set("Content-Type", "text/css")
			_, _ = w.Write([]byte(sheet))
		case r.URL.Path == "/":
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(`<!doctype html><title>sheets</title><link rel="icon" href="data:,"><script>let n = 0; function failed() { if (++n === 2) document.title = 'failed'; }</script><link rel="stylesheet" href="/imp1.css" onerror="failed()"><link rel="stylesheet" href="/imp2.css" onerror="failed()">`))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(s.Close)
	a := w.NewAgent(t, "--origin", s.URL)
	w.Open(t, s.URL).WaitForTitle("failed")
	r := a.Changes()
	if shown := e2etest.Show(r); strings.Contains(shown, "MIME") || !strings.Contains(shown, "/missing.css") || r.Console != nil && len(r.Console.NewErrors) > 1 {
		t.Error(shown)
	}
}

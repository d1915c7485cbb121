package reports

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestAPageThatWasRequestedBeforeTheEditIsNotItsReload: a server that compiles a page first may still be at it when a file is
// edited, and show the page as it was.
func TestAPageThatWasRequestedBeforeTheEditIsNotItsReload(t *testing.T) {
	w := e2etest.SharedWorld(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "page.txt")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	if r := w.RunIn(dir, "project", "allow", dir); r.Code != 0 {
		t.Fatal(r.Err)
	}
	asked, compiled := make(chan struct{}), make(chan struct{})
	s := testbed.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		}
		if r.URL.RawQuery == "slow" && string(text) == "one" {
			close(asked)
			<-compiled
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!doctype html><title>` + r.URL.RawQuery + string(text) + `</title><link rel="icon" href="data:,">`))
	}))
	t.Cleanup(s.Close)
	a := w.NewAgent(t, "--origin", s.URL, "--workspace", dir)
	page := w.Open(t, s.URL)
	page.WaitForTitle("one")
	a.Changes()
	page.Start(`location.href = '/?slow'`)
	<-asked
	a.Changes()
	write("two")
	close(compiled)
	page.WaitForTitle("slowone")
	if r := a.ChangesWith(map[string]any{"wait": "reload", "timeout_ms": 400}); *r.Settled || !strings.Contains(r.Summary, "the page was loaded, but requested before the last edit") {
		t.Errorf("%s", e2etest.Show(r))
	}
	page.Reload()
	page.WaitForTitle("slowtwo")
	if r := a.ChangesWith(map[string]any{"wait": "reload"}); !*r.Settled {
		t.Errorf("%s", e2etest.Show(r))
	}
}

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

// TestAPageWhoseModulesDidNotLoadIsBrokenUntilItIsLoadedAgain: the file is there again, another script shows something, and the
// page's own code has not run all the same.
func TestAPageWhoseModulesDidNotLoadIsBrokenUntilItIsLoadedAgain(t *testing.T) {
	w := e2etest.SharedWorld(t)
	var there atomic.Bool
	s := testbed.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		scripts := map[string]string{
			"/main.js":  `import { name } from './cart.js'; document.getElementById('app').textContent = name; document.title = 'shown'`,
			"/cart.js":  `export { name } from './util.js'`,
			"/util.js":  `export const name = 'Cart'`,
			"/tools.js": `document.body.append('Tools')`,
		}
		switch script, ok := scripts[r.URL.Path]; {
		case r.URL.Path == "/util.js" && !there.Load():
			w.WriteHeader(http.StatusNotFound)
		case ok:
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = w.Write([]byte(script))
		case r.URL.Path == "/":
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(`<!doctype html><title>cart</title><link rel="icon" href="data:,"><script type="module" src="/tools.js"></script><div id="app"></div><script type="module" src="/main.js" onerror="document.title = 'failed'"></script>`))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(s.Close)
	a := w.NewAgent(t, "--origin", s.URL)
	page := w.Open(t, s.URL)
	page.WaitForTitle("failed")
	if r := a.Changes(); r.Severity != report.Error || r.Network == nil || len(r.Network.Failures) != 1 || r.Console != nil && len(r.Console.NewErrors) > 0 {
		t.Errorf("%s", e2etest.Show(r))
	}
	there.Store(true)
	for range 2 {
		if r := a.Changes(); r.Severity != report.Error || len(r.Repeated) != 1 || !strings.Contains(r.Repeated[0].Message, "the module script /main.js did not load") {
			t.Errorf("the file is there again: %s", e2etest.Show(r))
		}
	}
	page.Reload()
	page.WaitForTitle("shown")
	for range 2 {
		if r := a.Changes(); r.Severity != report.Clean {
			t.Errorf("loaded again: %s", e2etest.Show(r))
		}
	}
}

// TestAModuleIsNotBlamedForAnImportOfTheWrongType: development servers answer with their page for a file that is missing.
func TestAModuleIsNotBlamedForAnImportOfTheWrongType(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := testbed.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/main.js" {
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = w.Write([]byte(`import './cart.js'`))
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!doctype html><title>cart</title><link rel="icon" href="data:,"><script type="module" src="/main.js" onerror="document.title = 'failed'"></script>`))
	}))
	t.Cleanup(s.Close)
	a := w.NewAgent(t, "--origin", s.URL)
	w.Open(t, s.URL).WaitForTitle("failed")
	r := a.ChangesWith(map[string]any{"wait": "settled"})
	shown := e2etest.Show(r)
	if r.Severity != report.Error || r.Console == nil || len(r.Console.NewErrors) != 1 || strings.Contains(shown, "text/javascript") {
		t.Fatal(shown)
	}
	want := `the server responded with a MIME type of "text/html"`
	if w.Way == "quiet" {
		want = "/main.js: a module that it imports did not load"
	}
	if !strings.Contains(r.Console.NewErrors[0].Message, want) {
		t.Error(shown)
	}
}

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

// TestAnInlineModuleWhoseImportDidNotLoadIsBrokenUntilThePageIsLoadedAgain: whether the import is static, or dynamic and unhandled.
// What a page imports later is not of the document: its code may import it again.
func TestAnInlineModuleWhoseImportDidNotLoadIsBrokenUntilThePageIsLoadedAgain(t *testing.T) {
	w := e2etest.SharedWorld(t)
	for name, c := range map[string]struct{ script, stands string }{
		"static":         {`import '/cart.js'; document.title = 'shown'`, "an inline module script did not load"},
		"dynamic":        {`import('/cart.js').then(() => { document.title = 'shown' })`, "the module /cart.js did not load"},
		"awaited":        {`await import('/cart.js'); document.title = 'shown'`, "the module /cart.js did not load"},
		"of an import":   {`await import('/shop.js'); document.title = 'shown'`, "the module /shop.js did not load"},
		"handled":        {`import('/cart.js').catch(() => { document.title = 'failed' })`, ""},
		"after the load": {`addEventListener('load', () => setTimeout(() => import('/cart.js').then(() => { document.title = 'shown' })))`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var there atomic.Bool
			s := testbed.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Cache-Control", "no-store")
				switch {
				case r.URL.Path == "/shop.js":
					w.Header().Set("Content-Type", "text/javascript")
					_, _ = w.Write([]byte(`import './cart.js'`))
				case r.URL.Path == "/cart.js" && there.Load():
					w.Header().Set("Content-Type", "text/javascript")
				case r.URL.Path == "/":
					w.Header().Set("Content-Type", "text/html")
					_, _ = w.Write([]byte(`<!doctype html><title>cart</title><link rel="icon" href="data:,"><p>Cart<script>addEventListener('unhandledrejection', () => { document.title = 'failed' }); addEventListener('error', () => { document.title = 'failed' }, true)</script><script type="module">` + c.script + `</script>`))
				default:
					w.WriteHeader(http.StatusNotFound)
				}
			}))
			t.Cleanup(s.Close)
			a := w.NewAgent(t, "--origin", s.URL)
			page := w.Open(t, s.URL)
			page.WaitForTitle("failed")
			if r := a.ChangesWith(map[string]any{"wait": "settled"}); r.Severity != report.Error || r.Network == nil || len(r.Network.Failures) != 1 {
				t.Errorf("%s", e2etest.Show(r))
			}
			there.Store(true)
			for range 2 {
				r := a.Changes()
				stands := len(r.Repeated) == 1 && strings.Contains(r.Repeated[0].Message, c.stands)
				if c.stands == "" && r.Severity != report.Clean || c.stands != "" && (r.Severity != report.Error || !stands) {
					t.Errorf("the file is there: %s", e2etest.Show(r))
				}
			}
			if name == "handled" {
				return
			}
			page.Reload()
			page.WaitForTitle("shown")
			for range 2 {
				if r := a.Changes(); r.Severity != report.Clean {
					t.Errorf("loaded again: %s", e2etest.Show(r))
				}
			}
		})
	}
}

package effects

import (
	"fmt"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/tokens"
	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestTheListingBesideAnErrorIsShort, and what it leaves out is in the next snapshot.
func TestTheListingBesideAnErrorIsShort(t *testing.T) {
	w := e2etest.SharedWorld(t)
	var buttons strings.Builder
	for i := range 80 {
		fmt.Fprintf(&buttons, "<button>Buy item number %d</button>", i)
	}
	page := func(script string) string {
		return e2etest.StorePage("Shop", buttons.String()+`<script src="/app.js"></script><script>`+script+`</script>`)
	}
	s := e2etest.NewSite(t, map[string]string{"/{$}": page(""), "/broken": page("total()"), "/app.js": "function total() {\n  throw new Error('no cart')\n}"})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	open := func(path string) string { return a.Do("browser_navigate", map[string]any{"url": s.URL + path}) }
	if text := open("/"); tokens.Estimate(text) < 800 {
		t.Errorf("the page is too small for this test: %s", text)
	}
	text := open("/broken")
	e2etest.Holds(t, text, `error: "Error: no cart" (app.js:2)`)
	if n := tokens.Estimate(text); n > 400 {
		t.Errorf("%s\nhas %d tokens", text, n)
	}
	e2etest.Lacks(t, text, "number 79")
	e2etest.Holds(t, a.Look(), "number 0", "number 79")
	// The same error is no news, and the page is listed.
	if text := open("/broken"); tokens.Estimate(text) < 800 {
		t.Errorf("%s\nwas listed as beside a new error", text)
	}
}

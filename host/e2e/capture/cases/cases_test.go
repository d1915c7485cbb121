package cases

import (
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/cases"
	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestEveryCase lets each case happen, sources and regressions and what is healthy.
func TestEveryCase(t *testing.T) {
	w := e2etest.SharedWorld(t)
	for _, c := range cases.All() {
		t.Run(c.Name, func(t *testing.T) {
			o, err := c.Run(w.World)
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range c.Problems(o) {
				t.Error(problem)
			}
			if t.Failed() {
				t.Logf("%s\n%s", o.Before, o.After)
			}
		})
	}
}

// TestTheFirstLoadIsFullyObserved: errors, requests and elements of a page's very first moments. (A
// socket that is opened before capture began is told, but its first frames may be missed, and then a
// gap says so.)
func TestTheFirstLoadIsFullyObserved(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{
		"/{$}": `<!doctype html><title>first</title><script>console.error('in the first line'); fetch('/first.json')</script><script src="/gone.js"></script><div class="error">Shown from the start</div>`,
	})
	s.Answer("/first.json", 503)
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	r := a.Changes()
	text := e2etest.Show(r)
	for _, part := range []string{"in the first line", `"/first.json"`, `"/gone.js"`, "Shown from the start", `"url": "/",`} {
		if !strings.Contains(text, part) {
			t.Errorf("%s is missing", part)
		}
	}
	if r.Coverage != nil || t.Failed() {
		t.Errorf("%s", text)
	}
}

// TestAPageThatIsLeftAtOnceIsObserved leaves pages before the extension's worker has answered their content
// scripts.
func TestAPageThatIsLeftAtOnceIsObserved(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{
		"/{$}": `<!doctype html><title>left</title><link rel=icon href=data:,><script>
const n = Number(location.search.slice(1)); console.warn('page', n); if (n > 0) location.replace('/?' + (n - 1))</script>`,
	})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL+"/?8")
	p.WaitUntil(`location.search === '?0'`)
	r := a.ChangesWith(map[string]any{"checkpoint": "2020-01-01", "wait": "settled"})
	if r.Console.TotalNewEntries != 9 && !strings.Contains(e2etest.Show(r), "late_attach") {
		t.Errorf("9 pages logged a warning: %s", e2etest.Show(r))
	}
}

package hooks

import (
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestAnEmptyReactPageIsBrokenUntilAnEditFillsIt: an error while React renders leaves nothing of the page. No other edit is said to
// have broken it, and a session that starts on the repaired page is told of the same error.
func TestAnEmptyReactPageIsBrokenUntilAnEditFillsIt(t *testing.T) {
	const (
		from, to = "useReducer(add, empty);", "useReducer(add, empty); let none; none.bar;"
		message  = "reading 'bar'"
		empty    = "- the page is empty"
	)
	w := e2etest.SharedWorld(t)
	app := startDevServer(t, "vite", nil)
	s := &session{t: t, w: w, id: "emptied-" + app.URL, dir: app.Dir}
	p := app.opens(s)
	broke := func(s *session) {
		t.Helper()
		app.Edit("src/App.jsx", from, to)
		if said := s.edited("src/App.jsx"); !strings.Contains(said, "the page broke after this edit") || !strings.Contains(said, message) || !strings.Contains(said, empty) {
			t.Errorf("the edit that broke the page: %q", said)
		}
	}
	fixed := func(s *session) {
		t.Helper()
		app.Edit("src/App.jsx", to, from)
		if said := s.edited("src/App.jsx") + s.stops(); said != "" {
			t.Errorf("the edit that fixed the page, and the stop: %q", said)
		}
		app.shows(p)
	}
	stillBroken := func(when, said string) {
		t.Helper()
		if !strings.Contains(said, "still broken") || !strings.Contains(said, message) || !strings.Contains(said, empty) {
			t.Errorf("%s: %q", when, said)
		}
	}
	broke(s)
	fixed(s)
	next := &session{t: t, w: w, id: "emptied-next-" + app.URL, dir: app.Dir}
	if said := next.starts(); said != "" {
		t.Errorf("a session that starts on the repaired page: %q", said)
	}
	broke(next)
	for _, e := range []struct{ file, from, to string }{
		{"src/App.jsx", "<h1>Items</h1>", "<h1>Things</h1>"}, {"src/app.css", "body {", "body  {"}, {"src/App.jsx", "<h1>Things</h1>", "<h1>Items</h1>"},
	} {
		app.Edit(e.file, e.from, e.to)
		stillBroken(e.file, next.edited(e.file))
	}
	stillBroken("as the agent stops", next.stops())
	late := &session{t: t, w: w, id: "emptied-late-" + app.URL, dir: app.Dir}
	if said := late.starts(); !strings.Contains(said, "already broken") || !strings.Contains(said, message) {
		t.Errorf("a session that starts on the empty page: %q", said)
	}
	fixed(next)
	if said := s.stops(); said != "" {
		t.Errorf("the first session, as it stops: %q", said)
	}
}

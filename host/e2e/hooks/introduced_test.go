package hooks

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestAnErrorNamesTheEditThatIntroducedIt: each break of a Vite application is reported with its file, and no repair is.
func TestAnErrorNamesTheEditThatIntroducedIt(t *testing.T) {
	w := e2etest.SharedWorld(t)
	app := startVite(t)
	s := &session{t, w, "introduced-" + app.url, app.dir}
	s.records()
	p := w.Open(t, app.url)
	p.JS(`while (!document.querySelector('li')) await new Promise((done) => setTimeout(done, 20))`)
	s.starts()
	for _, e := range []struct {
		file, from, to string
		line           int
		evidence       string
	}{
		{"src/App.jsx", "<ul>", "<ul class='items'>", 0, ""},
		{"src/price.js", "(cents / 100)", "cents.value", 1, "stack"},
		{"src/App.jsx", "</ul>", "</ol>", 0, "hot_update"},
		{"src/api.js", "/api/items", "/api/goods", 2, "stack"},
		{"src/App.jsx", "./price.js", "./prices.js", 3, "stack"},
		{"src/app.css", "body {", "@import './fonts.css'; body {", 0, "hot_update"},
		{"src/price.js", "export const price", "export const cost", 1, "hot_update"},
		{"src/App.jsx", "items().then", "items().them", 8, "stack"},
	} {
		since := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
		app.edit(e.file, e.from, e.to)
		said := s.edited(e.file)
		t.Logf("%s: %s", e.file, said)
		found := introduced(t, w.RunIn(app.dir, "changes", "--since", since, "--json").Out)
		for _, by := range found {
			t.Logf("%+v", by)
		}
		if e.evidence == "" {
			if said != "" || len(found) > 0 {
				t.Errorf("nothing broke: %s", said)
			}
			continue
		}
		if !strings.Contains(said, "after "+e.file) {
			t.Errorf("%s is not named: %s", e.file, said)
		}
		if !slices.ContainsFunc(found, func(by diff.Introduced) bool { return slices.Contains(by.Evidence, e.evidence) }) {
			t.Errorf("no %s for %s: %+v", e.evidence, e.file, found)
		}
		for _, by := range found {
			if by.Path != e.file || !strings.HasPrefix(by.Moment, "m") {
				t.Errorf("%s is said to be introduced by %+v", e.file, by)
			}
		}
		app.edit(e.file, e.to, e.from)
		if said := s.edited(e.file); said != "" {
			t.Errorf("%s is repaired: %s", e.file, said)
		}
	}
}

// records has the files of the session's project recorded until the test ends.
func (s *session) records() {
	s.t.Helper()
	run := func(args ...string) {
		s.t.Helper()
		if r := s.w.RunIn(s.dir, args...); r.Code != 0 {
			s.t.Fatalf("%q exits with %d: %s", args, r.Code, r.Err)
		}
	}
	run("project", "allow", s.dir)
	run("session", "start")
	s.t.Cleanup(func() {
		run("session", "end")
		run("project", "forget", s.dir)
	})
}

// introduced returns the changes that a report names.
func introduced(t *testing.T, report string) (found []diff.Introduced) {
	t.Helper()
	var r diff.Report
	if err := json.Unmarshal([]byte(report), &r); err != nil {
		t.Fatalf("%v: %s", err, report)
	}
	add := func(by *diff.Introduced) {
		if by != nil {
			found = append(found, *by)
		}
	}
	if r.Console != nil {
		for _, e := range r.Console.NewErrors {
			add(e.IntroducedBy)
		}
	}
	if r.Network != nil {
		for _, e := range r.Network.Failures {
			add(e.IntroducedBy)
		}
	}
	if r.DOM != nil {
		for _, e := range r.DOM.NewErrorElements {
			add(e.IntroducedBy)
		}
	}
	return found
}

package hooks

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestAnErrorThatComesBackNamesTheEditThatBroughtItBack: an edit breaks a page, another one repairs it, and a third one breaks it
// in the same way. Where the error only occurs again, and where an attempt does not repair it, it is repeated and names nothing.
func TestAnErrorThatComesBackNamesTheEditThatBroughtItBack(t *testing.T) {
	w := e2etest.SharedWorld(t)
	app := startVite(t)
	s := &session{t: t, w: w, id: "returned-" + app.URL, dir: app.Dir}
	s.records()
	p := w.Open(t, app.URL)
	p.JS(`while (!document.querySelector('li')) await new Promise((done) => setTimeout(done, 20))`)
	s.starts()
	last := func() string {
		t.Helper()
		var list struct{ Moments []struct{ ID, Kind string } }
		if err := json.Unmarshal([]byte(w.RunIn(app.Dir, "timeline", "list", "--kind", "edit", "--json").Out), &list); err != nil || len(list.Moments) == 0 {
			t.Fatal(err, list)
		}
		return list.Moments[len(list.Moments)-1].ID
	}
	changes := func() (r report.Report, named []report.Introduced) {
		t.Helper()
		out := w.RunIn(app.Dir, "changes", "--wait", "settled", "--json").Out
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err, out)
		}
		return r, introduced(t, out)
	}
	breaks := func(file, from, to, error string) {
		t.Helper()
		app.Edit(file, from, to)
		said := s.edited(file)
		if by := fmt.Sprintf("after %s:1 (%s)", file, last()); !strings.Contains(said, error) || !strings.Contains(said, by) {
			t.Errorf("%s is not reported %q: %s", error, by, said)
		}
		r, named := changes()
		if len(named) == 0 || len(r.Repeated) > 0 {
			t.Errorf("nothing is named: %+v, %+v", named, r.Repeated)
		}
		for _, by := range named {
			if by.Path != file || by.Moment != last() {
				t.Errorf("%s of %s is said to be introduced by %+v", file, last(), by)
			}
		}
	}
	repairs := func(file, from, to string) {
		t.Helper()
		app.Edit(file, from, to)
		if said := s.edited(file); said != "" {
			t.Errorf("%s is repaired: %s", file, said)
		}
		if r, _ := changes(); r.Severity != report.Clean {
			t.Errorf("%s is repaired: %+v", file, r)
		}
	}
	repeats := func(why string) {
		t.Helper()
		r, named := changes()
		if len(r.Repeated) == 0 || !strings.Contains(r.Summary, "repeated error") || strings.Contains(r.Summary, "console") || len(named) > 0 {
			t.Errorf("%s: %s, %+v, %+v", why, r.Summary, r.Repeated, named)
		}
	}
	changes()
	breaks("src/price.js", "(cents / 100)", "cents.value", "TypeError")
	p.Reload()
	repeats("a reload")
	app.Edit("src/price.js", "cents.value", "cents.valve")
	s.edited("src/price.js")
	repeats("an attempt that repairs nothing")
	repairs("src/price.js", "cents.valve", "(cents / 100)")
	app.Edit("src/app.css", "body {", "html {")
	s.edited("src/app.css")
	changes()
	breaks("src/price.js", "(cents / 100)", "cents.value", "TypeError")
	p.Reload()
	repeats("a reload of what came back")
	app.Edit("src/app.css", "html {", "body {")
	s.edited("src/app.css")
	p.Reload()
	repeats("another file")
	repairs("src/price.js", "cents.value", "(cents / 100)")
	breaks("src/price.js", "(cents / 100)", "cents.worth", "TypeError")
}

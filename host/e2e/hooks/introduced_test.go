package hooks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/devserver"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestAnErrorNamesTheEditThatIntroducedIt: each break of a Vite application is reported with its file, and no repair is.
func TestAnErrorNamesTheEditThatIntroducedIt(t *testing.T) {
	w := e2etest.SharedWorld(t)
	app := startVite(t)
	s := &session{t: t, w: w, id: "introduced-" + app.URL, dir: app.Dir}
	s.records()
	p := w.Open(t, app.URL)
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
		app.Edit(e.file, e.from, e.to)
		said := s.edited(e.file)
		t.Logf("%s: %s", e.file, said)
		found := introduced(t, w.RunIn(app.Dir, "changes", "--since", since, "--json").Out)
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
		if !slices.ContainsFunc(found, func(by report.Introduced) bool { return slices.Contains(by.Evidence, e.evidence) }) {
			t.Errorf("no %s for %s: %+v", e.evidence, e.file, found)
		}
		for _, by := range found {
			if by.Path != e.file || !strings.HasPrefix(by.Moment, "m") {
				t.Errorf("%s is said to be introduced by %+v", e.file, by)
			}
		}
		app.Edit(e.file, e.to, e.from)
		if said := s.edited(e.file); said != "" {
			t.Errorf("%s is repaired: %s", e.file, said)
		}
	}
}

// TestAnErrorNamesNoEditThatHadRun: of pages without a development server, whose code fails in a line that was changed and ran
// before another file was changed, and whose server then fails for a reason outside of the project.
func TestAnErrorNamesNoEditThatHadRun(t *testing.T) {
	w := e2etest.SharedWorld(t)
	app := &devApp{&devserver.App{TB: t, Dir: t.TempDir()}, t}
	var down atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if rw.Header().Set("Cache-Control", "no-store"); down.Load() {
			http.Error(rw, "Error: connect ECONNREFUSED db:5432", http.StatusInternalServerError)
			return
		}
		http.FileServer(http.Dir(app.Dir)).ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	app.URL = server.URL
	app.Write(".tidemark.toml", fmt.Sprintf("origins = [%q]\n", app.URL))
	app.Write("index.html", "<title>Shop</title><link rel=icon href='data:,'><button id=total>Total</button><script src=/util.js></script><script src=/main.js></script>\n")
	app.Write("util.js", "const money = {\n  euro: (n) => n.toFixed(2) + ' EUR',\n};\n")
	app.Write("main.js", "document.getElementById('total').onclick = () => {\n  const sum = 12;\n  document.title = 'Total ' + money.euro(sum);\n};\n")
	app.Write("notes.md", "None.\n")
	s := &session{t: t, w: w, id: "ran-" + app.URL, dir: app.Dir}
	s.records()
	p := w.Open(t, app.URL)
	s.starts()
	click := func(since, has string) (found []report.Introduced) {
		t.Helper()
		p.Do(chromedp.Click("#total"))
		if err := testbed.Eventually(t.Context(), func() (bool, error) {
			answer := w.RunIn(app.Dir, "changes", "--since", since, "--wait", "settled", "--json").Out
			found = introduced(t, answer)
			return strings.Contains(answer, has), nil
		}); err != nil {
			t.Fatalf("%s is not reported: %v", has, err)
		}
		return found
	}
	now := func() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

	app.Edit("main.js", "'Total '", "'Sum '")
	s.edited("main.js")
	p.Reload()
	if found := click(now(), `"type":"click"`); len(found) > 0 {
		t.Errorf("nothing broke: %+v", found)
	}
	app.Edit("util.js", "euro:", "eur:")
	s.edited("util.js")
	p.Reload()
	for _, by := range click(now(), "money.euro is not a function") {
		if by.Path != "util.js" {
			t.Errorf("the line had run, and is said to be introduced by %+v", by)
		}
	}
	app.Edit("util.js", "eur:", "euro:")
	s.edited("util.js")
	p.Reload()
	click(now(), `"type":"click"`)
	app.Edit("notes.md", "None", "Some")
	s.edited("notes.md")
	since := now()
	down.Store(true)
	p.Reload()
	answer := ""
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		answer = w.RunIn(app.Dir, "changes", "--since", since, "--wait", "settled", "--json").Out
		return strings.Contains(answer, "ECONNREFUSED"), nil
	}); err != nil {
		t.Fatal(err, answer)
	}
	if found := introduced(t, answer); len(found) > 0 {
		t.Errorf("the database went down, and it is said to be introduced by %+v", found)
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
func introduced(t *testing.T, answer string) (found []report.Introduced) {
	t.Helper()
	var r report.Report
	if err := json.Unmarshal([]byte(answer), &r); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	add := func(by *report.Introduced) {
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

package frameworks

import (
	"errors"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/npm"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// buildReporters builds the applications of testdata/reporters with the real libraries, and returns where.
func buildReporters(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("packages are installed from npm: not with -short")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip(err)
	}
	const from = "testdata/reporters"
	dir := e2etest.Repository(filepath.Join(".cache", "reporters"))
	if err := errors.Join(npm.Install(from, dir), npm.Overlay(dir, from), npm.Run(dir, "node", "build.mjs")); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "dist")
}

// serveReporter serves one build of an application at every path.
func serveReporter(t *testing.T, dist, app, mode string) *e2etest.Site {
	t.Helper()
	s := e2etest.NewSite(t, map[string]string{"/": `<!doctype html><title>` + app + `</title><link rel=icon href=data:,><div id=app><main></main></div><script src="/dist/` + app + `.js"></script>`})
	s.Mux.Handle("/dist/", http.StripPrefix("/dist/", http.FileServer(http.Dir(filepath.Join(dist, mode)))))
	return s
}

// TestErrorsThatFrameworksReportAreWhereTheyWereThrown: the libraries catch an error of the application and log it, some of
// them several times. It is one error, at the line that threw it.
func TestErrorsThatFrameworksReportAreWhereTheyWereThrown(t *testing.T) {
	w := e2etest.SharedWorld(t)
	dist := buildReporters(t)
	for _, c := range []struct{ app, click string }{
		{"vue", `button "Pay"`},       // in a handler
		{"vue", `button "Pay later"`}, // in an asynchronous one
		{"vue", `button "Show"`},      // while it renders
		{"angular", `button "Pay"`},   // ErrorHandler
		{"router", `link "Sum"`},      // while React renders: the default error boundary
		{"router", `link "Paid"`},     // in a loader
	} {
		for _, mode := range []string{"development", "production"} {
			t.Run(strings.Join([]string{c.app, c.click, mode}, " "), func(t *testing.T) {
				s := serveReporter(t, dist, c.app, mode)
				a := w.AgentOf(t, s)
				w.Open(t, s.URL)
				done := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, a.Look(), c.click)})
				t.Logf("\n%s", done)
				if said := e2etest.Said(done.Broke); strings.Count(said, "(reading 'reduce')") != 1 {
					t.Errorf("not one error: %s", said)
				}
				var r *report.Report
				if err := testbed.Eventually(t.Context(), func() (bool, error) { // an answer does not wait long for a source map
					r = a.ChangesWith(map[string]any{"checkpoint": "auto_0", "wait": "settled"})
					return len(r.Console.NewErrors) > 0 && !r.Console.NewErrors[0].Generated, nil
				}); err != nil {
					t.Error(err)
				}
				errs := r.Console.NewErrors
				if len(errs) != 1 || len(r.Console.NewWarnings) > 0 || errs[0].Source != "cart.js:3" || errs[0].LoggedAt != "" || !strings.Contains(errs[0].Message, "(reading 'reduce')") {
					t.Errorf("%s", e2etest.Show(r))
				}
			})
		}
	}
}

// TestARouteOfARouterShowsOnlyWhatIsNew: the shell around the routes is not repeated, neither by the click nor by a snapshot
// after it.
func TestARouteOfARouterShowsOnlyWhatIsNew(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := serveReporter(t, buildReporters(t), "router", "production")
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	e2etest.Holds(t, first, `link "Section 29"`, `button "Footer 19"`, `heading "Welcome"`)
	for _, step := range []struct{ link, path, shown, gone string }{
		{"Orders", "/orders", `button "Export orders"`, `Welcome`},
		{"Order 7", "/orders/7", `textbox "Note"`, `Export orders`},
		{"Home", "/", `heading "Welcome"`, `Note`},
	} {
		done := a.Do("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `link "`+step.link+`"`)})
		t.Logf("\n%s", done)
		e2etest.Holds(t, done, "[URL: "+s.URL+step.path+"]", step.shown)
		e2etest.Lacks(t, done, `link "Section`, `button "Footer`, `"Stationery"`)
		after := a.Look()
		t.Logf("\n%s", after)
		e2etest.Holds(t, after, "nchanged")
		e2etest.Lacks(t, after, `link "Section`, `button "Footer`, `"Stationery"`, step.shown)
		if len(after) > len(first)/4 {
			t.Errorf("%d bytes after a first look of %d", len(after), len(first))
		}
	}
}

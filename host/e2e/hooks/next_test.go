package hooks

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestNextNamesTheApplicationsCode: of a development server that compiles all anew, what the application logs and requests is
// placed in its files on the first load, and after a hot update in the module that it evaluated. Next.js wraps both.
func TestNextNamesTheApplicationsCode(t *testing.T) {
	needDevServer(t, "next")
	for _, way := range []string{"", "quiet"} {
		t.Run(fmt.Sprintf("way %q", way), func(t *testing.T) {
			w := e2etest.WorldIn(t, way)
			app := startDevServer(t, "next", func(a *devApp) {
				if err := os.RemoveAll(filepath.Join(a.Dir, ".next")); err != nil {
					t.Fatal(err)
				}
				a.Edit("src/Item.jsx", "onClick={onAdd}", "onClick={pick}")
				a.Edit("src/Item.jsx", "  return (", "  const pick = () => {\n    console.error('picked');\n    fetch('/api/none');\n    onAdd();\n  };\n  return (")
			})
			if r, err := http.Get(app.URL); err != nil { // a page that a busy machine compiles opens too slowly
				t.Fatal(err)
			} else if err := r.Body.Close(); err != nil {
				t.Fatal(err)
			}
			p := w.Open(t, app.URL)
			app.shows(p)
			click := func(wants ...*regexp.Regexp) {
				t.Helper()
				since := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
				p.Do(chromedp.Click("li button"))
				var report string
				if err := testbed.Eventually(t.Context(), func() (bool, error) {
					report = w.RunIn(app.Dir, "changes", "--since", since, "--json").Out + w.RunIn(app.Dir, "network").Out
					for _, want := range wants {
						if !want.MatchString(report) {
							return false, nil
						}
					}
					return true, nil
				}); err != nil {
					t.Fatalf("%v; not %q in %s", err, wants, report)
				}
			}
			click(regexp.MustCompile(`"source":"Item\.jsx:5","count"`), regexp.MustCompile(`Item\.jsx:6`))
			app.Edit("src/Item.jsx", "{price(", "!{price(")
			if err := testbed.Eventually(t.Context(), func() (bool, error) {
				return p.Tab.JS(`if (!document.querySelector('li').textContent.includes('!')) throw new Error('not yet')`) == nil, nil
			}); err != nil {
				t.Fatal(err)
			}
			// Next.js draws an overlay that has the place, if it had none that stays.
			click(regexp.MustCompile(`"source":"Item\.jsx \[evaluated\]:14","generated":true|"text":"Console Error – picked","file":"src/Item\.jsx","line":5`))
		})
	}
}

package acting

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestAnAgentOfOneOriginSeesNothingOfAnother: by a link, a redirect, going back and a new tab.
func TestAnAgentOfOneOriginSeesNothingOfAnother(t *testing.T) {
	w := e2etest.SharedWorld(t)
	other := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Secret", `<button>Secret button</button><script>console.error('secret error'); fetch('/secret.json')</script>`)})
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Mine", `<a href="`+other.URL+`/">Away</a> <a href="`+other.URL+`/" target="_blank">New tab</a>`), "/second": e2etest.StorePage("Second", `<a href="`+other.URL+`/">Away</a>`)})
	s.Mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL+"/", http.StatusFound) })
	a := w.AgentOf(t, s)
	left := "left this client's origins (" + s.URL + ")"
	foreign := strings.TrimPrefix(other.URL, "http://")
	leaves := func(text string) {
		t.Helper()
		e2etest.Holds(t, text, left)
		e2etest.Lacks(t, text, "ecret", foreign, "No problems")
	}
	p := w.Open(t, s.URL)
	leaves(a.Do("browser_click", map[string]any{"ref": e2etest.RefOf(t, a.Look(), `"Away"`)}))
	a.Cannot("browser_snapshot", nil, usererr.NotWatched, left)
	p.Do(chromedp.Navigate(s.URL))
	a.Look()
	leaves(a.Do("browser_navigate", map[string]any{"url": s.URL + "/redirect"}))
	p.Do(chromedp.Navigate(s.URL + "/second"))
	e2etest.Holds(t, a.Look(), `link "Away"`)
	leaves(a.Do("browser_navigate", map[string]any{"url": "back"}))
	a.Cannot("browser_tabs", map[string]any{"action": "new", "url": other.URL + "/"}, usererr.InvalidArgument, "this client sees only "+s.URL)
	a.Cannot("browser_tabs", map[string]any{"action": "new", "url": s.URL + "/redirect"}, usererr.NotWatched, left)
	p.Do(chromedp.Navigate(s.URL + "/second"))
	a.Cannot("browser_navigate", map[string]any{"url": other.URL + "/"}, usererr.InvalidArgument, "this client sees only "+s.URL)
	opened := a.Do("browser_tabs", map[string]any{"action": "new", "url": s.URL + "/"})
	e2etest.Lacks(t, opened, foreign)
	text := a.Do("browser_click", map[string]any{"ref": e2etest.RefOf(t, a.Look(), `"New tab"`)})
	e2etest.Holds(t, text, "Opened a tab outside of this client's origins.")
	e2etest.Lacks(t, text, foreign, "ecret")
}

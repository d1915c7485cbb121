package effects

import (
	"io"
	"net/http"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestBrokenMediaAreInTheAnswerOfTheirClick: what arrived and cannot be shown is reported by the action that inserted it.
func TestBrokenMediaAreInTheAnswerOfTheirClick(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{
		"/{$}": e2etest.StorePage("Media", `<button onclick="put('img', 'src', '/html/pic.png')">Image</button>
		<button onclick="put('audio', 'src', '/html/sound.ogg')">Sound</button>
		<button onclick="place.innerHTML = '<svg><image href=/html/drawn.png /></svg>'">Drawing</button><button onclick="place.innerHTML = '<object type=image/png data=/broken.png></object>'">Object</button><div id="place"></div>
		<script>const put = (tag, key, url) => { const e = document.createElement(tag); e[key] = url; place.append(e) }</script>`),
		"/html/": `<!doctype html><title>Sign in</title><p>Please sign in.</p>`,
	})
	s.Mux.HandleFunc("/broken.png", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		_, _ = io.WriteString(w, "<p>Please sign in.</p>")
	})
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	page := a.Everything()
	for _, c := range []struct{ button, path string }{{"Image", "/html/pic.png"}, {"Sound", "/html/sound.ogg"}, {"Drawing", "/html/drawn.png"}, {"Object", "/broken.png"}} {
		t.Run(c.button, func(t *testing.T) {
			d := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, page, `"`+c.button+`"`)})
			e2etest.Holds(t, d.String(), c.path)
			e2etest.Lacks(t, d.String(), "No problems")
		})
	}
}

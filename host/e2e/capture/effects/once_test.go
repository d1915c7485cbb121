package effects

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestAFailureIsSaidOnce in an action's answer and in get_changes_since, and what else says it is mentioned there.
func TestAFailureIsSaidOnce(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{
		"/{$}": e2etest.StorePage("Once", `<div id="out"></div><button onclick="load('logged')">Logged</button><button onclick="load('prefixed')">Prefixed</button>
			<button onclick="load('thrown')">Thrown</button><button onclick="live()">Live</button><button onclick="empty()">Empty</button><script src="/app.js"></script>`),
		"/app.js": `async function load(how) {
  const answer = await fetch('/api/articles?' + how);
  const err = new Error((await answer.json()).message);
  if (how === 'logged') console.error(err);
  if (how === 'prefixed') console.error('Cannot load the articles:', err);
  if (how === 'thrown') {
    out.innerHTML = '<div role="alert" class="error">' + err.message + '</div>';
    err.name = '_HttpError';
    throw err;
  }
}
function live() {
  new WebSocket('ws://' + location.host + '/nosocket').onerror = (e) => console.error('live failed', e);
}
function empty() {
  console.error('no price');
  document.body.innerHTML = '';
  throw new Error('no price');
}
`,
	})
	s.Mux.HandleFunc("/api/articles", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"message":"no such table: `+r.URL.RawQuery+`"}`)
	})
	acting, looking := w.AgentOf(t, s), w.AgentOf(t, s)
	w.Open(t, s.URL)
	for _, c := range []struct{ button, also string }{
		{"Logged", `, also logged at app.js:4`},
		{"Prefixed", `, also logged at app.js:5 ("Cannot load the articles")`},
		{"Thrown", `, also thrown at app.js:3, shown in .error`},
		{"Live", `, also logged at app.js:13 ("live failed")`},
		{"Empty", `, also logged at app.js:16`},
	} {
		looking.Changes()
		d := acting.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, acting.Whole(), `"`+c.button+`"`)})
		t.Logf("%s\n%s", c.button, d)
		e2etest.Holds(t, strings.ReplaceAll(d.String(), `\"`, `"`), c.also)
		if len(d.Broke) != 1 && c.button != "Empty" {
			t.Errorf("%s: %s", c.button, e2etest.Said(d.Broke))
		}
		r := looking.Changes()
		entries := len(r.Console.NewErrors) + len(r.Network.Failures) + len(r.WebSocket.ErrorMessages) + len(r.DOM.NewErrorElements)
		_, also, _ := strings.Cut(c.also, ", also ")
		if text := strings.ReplaceAll(e2etest.Show(r), `\"`, `"`); entries != 1 || !strings.Contains(text, `"also": "`+also+`"`) || r.Severity != "error" {
			t.Errorf("%s: %s", c.button, text)
		}
		if c.button != "Empty" {
			continue
		}
		if r := acting.Changes(); r.DOM.PageEmptySince == nil || strings.Contains(r.Summary, "1 empty page") {
			t.Errorf("told again as new: %s", e2etest.Show(r))
		}
	}
}

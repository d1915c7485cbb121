package reports

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestAHelperIsNoInitiatorButAFunctionWithSeveralCallersIs: requests of a helper are named by the code that calls it. A function
// that loads several things for each of its callers is that code.
func TestAHelperIsNoInitiatorButAFunctionWithSeveralCallersIs(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{
		"/{$}": e2etest.StorePage("Callers", `<button onclick="first()">First</button><button onclick="second()">Second</button><script type="module" src="/callers.js"></script>`),
		"/http.js": `export async function send(path) {
  const answer = await fetch('/api/' + path);
  return answer.status;
}
`,
		"/cart.js": `import { send } from './http.js';
export async function refresh() {
  for (const path of ['cart', 'stock', 'price'])
    await send(path);
}
`,
		"/direct.js": `export async function reload() {
  for (const path of ['news', 'mail'])
    await fetch('/api/' + path);
}
`,
		"/callers.js": `import { send } from './http.js';
import { refresh } from './cart.js';
import { reload } from './direct.js';
window.first = async () => {
  await refresh();
  await reload();
  await send('first');
  window.done = 1;
};
window.second = async () => {
  await refresh();
  await reload();
  await send('second');
  window.done = 2;
};
`,
	})
	s.Mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	for i, button := range []string{"First", "Second", "First"} {
		p.JS(`window.done = 0`)
		p.Press(button)
		p.WaitUntil(`window.done`)
		a.ChangesWith(map[string]any{"wait": "settled"})
		if i == 0 {
			continue // nothing is known of the helper yet
		}
		text := a.Do("get_network_requests", map[string]any{"url": "/api/"})
		t.Logf("\n%s", text)
		for path, line := range map[string]string{"cart": "cart.js:4", "stock": "cart.js:4", "price": "cart.js:4", "news": "direct.js:3", "mail": "direct.js:3", "first": "callers.js:7", "second": "callers.js:13"} {
			for l := range strings.SplitSeq(text, "\n") {
				if strings.Contains(l, "/api/"+path+" ") && !strings.HasSuffix(l, line) {
					t.Errorf("after %d: %s is not from %s", i+1, l, line)
				}
			}
		}
	}
}

// TestCallsOfAHelperInOneLine are several: the requests are named by that line, not by the helper's.
func TestCallsOfAHelperInOneLine(t *testing.T) {
	w := e2etest.SharedWorld(t)
	for name, c := range map[string]struct {
		call string
		want []string // what both lines are
	}{
		"at once":             {`await Promise.all([get('/api/a'), get('/api/b')]);`, []string{"page.js:4", "page.js:4"}},
		"one after the other": {`const a = await get('/api/a'), b = await get('/api/b');`, []string{"page.js:4", "page.js:4"}},
		"one call of several": {`await several(['/api/a', '/api/b']);`, []string{"http.js:6", "http.js:6"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := e2etest.NewSite(t, map[string]string{
				"/{$}": e2etest.StorePage("Line", `<button onclick="load()">Load</button><script type="module" src="/page.js"></script>`),
				"/http.js": `export async function get(path) {
  const answer = await fetch(path);
  return answer.status;
}
export async function several(paths) {
  for (const path of paths) await fetch(path);
}
`,
				"/page.js": `import { get, several } from './http.js';
window.used = [get, several];
window.load = async () => {
  ` + c.call + `
  window.done = true;
};
`,
			})
			s.Mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
			a := w.AgentOf(t, s)
			p := w.Open(t, s.URL)
			a.Changes()
			p.Press("Load")
			p.WaitUntil(`window.done`)
			r := a.ChangesWith(map[string]any{"wait": "settled"})
			var got []string
			for _, f := range r.Network.Failures {
				got = append(got, f.Initiator)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, not %q\n%s\n%s", got, c.want, e2etest.Show(r), a.Do("get_network_bodies", map[string]any{"url": "/api/"}))
			}
		})
	}
}

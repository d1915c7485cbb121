package reports

import (
	"net/http"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestTheCallerOfADeepLibraryIsTheInitiator: Angular's HttpClient has 42 frames above the component that calls it. Where
// frames of libraries fill the stack, it is what scheduled them.
func TestTheCallerOfADeepLibraryIsTheInitiator(t *testing.T) {
	s := e2etest.NewSite(t, map[string]string{
		"/node_modules/deep.js": `const get = (name) => fetch('/deep/' + name);
const send = (name) => { const x = new XMLHttpRequest(); x.open('GET', '/deep/' + name); x.send(); };
export const call = (n, name) => n > 0 ? call(n - 1, name) : name === 'xhr' ? send(name) : get(name);
`,
		"/main.js": `import { start } from '/app.js';
Promise.resolve().then(() => start());
`,
		"/app.js": `import { call } from '/node_modules/deep.js';
const ask = (n, name) => call(n, name);
export const start = async () => {
  await null;
  ask(5, 'five'), ask(40, 'forty'), ask(100, 'hundred');
  call(60, 'xhr');
  call(200, 'deep');
  call(300, 'cut');
};
`,
		"/{$}": e2etest.BlankPage + `<script type=module src=/main.js></script>`,
	})
	for _, path := range []string{"five", "forty", "hundred", "xhr", "deep", "cut"} {
		s.Answer("/deep/"+path, 500)
	}
	w := e2etest.SharedWorld(t)
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	a.ChangesWith(map[string]any{"checkpoint": "auto_0", "wait": "settled"})
	got := map[string]string{}
	for _, f := range a.ChangesWith(map[string]any{"checkpoint": "auto_0"}).Network.Failures {
		got[f.URL] = f.Initiator
	}
	cut := "main.js:2"
	if w.Way == "quiet" { // it follows no promises
		cut = "node_modules/deep.js:1"
	}
	for path, want := range map[string]string{"five": "app.js:5", "forty": "app.js:5", "hundred": "app.js:5", "xhr": "app.js:6", "deep": "app.js:7", "cut": cut} {
		if got["/deep/"+path] != want {
			t.Errorf("%s: %s, not %s", path, got["/deep/"+path], want)
		}
	}
}

// TestAnEventStreamIsWhereItWasOpened: of one that the server refuses, of one that breaks, and of one that no server answers.
// The debugger sees no code behind one, because the browser connects it later.
func TestAnEventStreamIsWhereItWasOpened(t *testing.T) {
	s := e2etest.NewSite(t, map[string]string{
		"/live.js": `const listen = (url, done) => {
  const source = new EventSource(url);
  source.onerror = () => { source.close(); done(); };
};
export const start = async () => {
  await new Promise((done) => listen('/refused', done));
  await new Promise((done) => listen('/broken', done));
  await new Promise((done) => listen('http://127.0.0.1:1/absent', done));
  document.title = 'over';
};
`,
		"/{$}": e2etest.BlankPage + `<script type=module>import { start } from '/live.js'; start()</script>`,
	})
	s.Answer("/refused", 500)
	s.Mux.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("data: 1\n\n"))
	})
	w := e2etest.SharedWorld(t)
	a := w.AgentOf(t, s)
	w.Open(t, s.URL).WaitForTitle("over")
	got := map[string]string{}
	for _, f := range a.ChangesWith(map[string]any{"checkpoint": "auto_0", "wait": "settled"}).Network.Failures {
		got[f.URL] = f.Initiator
	}
	for path, line := range map[string]string{"/refused": "live.js:6", "/broken": "live.js:7", "http://127.0.0.1:1/absent": "live.js:8"} {
		if w.Way != "quiet" {
			line = ""
		}
		if initiator, ok := got[path]; !ok || initiator != line {
			t.Errorf("%s: %q, not %q, in %v", path, initiator, line, got)
		}
	}
}

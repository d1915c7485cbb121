package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"tidemark.dev/tidemark/host/internal/diff"
)

// source is one thing that a page can do, and what is told of it.
type source struct {
	name string
	// page is the HTML at /; script is run in it once the agent has looked.
	page, script string
	// serve adds routes; other is a site of another origin, told to the page as OTHER.
	serve func(*http.ServeMux)
	// want are parts of the answer's JSON that must be there, wrong parts that must not.
	want, wrong []string
	severity    diff.Severity
}

const clean, warning, failed = diff.Clean, diff.Warning, diff.Error

// sources are the capture sources, one a row.
var sources = []source{
	{
		name: "console levels", severity: failed,
		script: `console.error('it is %s', 'broken', {a: 1}); console.warn('careful'); console.log('fine'); console.debug('deep')`,
		want:   []string{`"message":"it is broken {a: 1}"`, `"message":"careful"`, `"total_new_entries":4`}, wrong: []string{"fine", "deep"},
	},
	{
		name: "uncaught error", severity: failed,
		page:   `<script src="app.js"></script>`,
		serve:  serveScript("/app.js", "function go() {\n  null.id\n}\n"),
		script: `setTimeout(go)`,
		want:   []string{`"message":"TypeError: Cannot read properties of null (reading 'id')","source":"app.js:2","count":1`},
	},
	{name: "unhandled rejection", severity: failed, script: `Promise.reject(new Error('nobody cares'))`, want: []string{`"message":"Error: nobody cares"`}},
	{name: "rejection with no error", severity: failed, script: `Promise.reject({code: 7})`, want: []string{`code: 7`}},
	{
		name: "fetch answered 500", severity: failed,
		serve:  status("/api/users/17", 500),
		script: `await fetch('/api/users/17?page=2', {method: 'POST', body: '{}'})`,
		want:   []string{`"method":"POST","url":"/api/users/17","status":500`}, wrong: []string{"new_errors", "page=2"},
	},
	{
		name: "XHR answered 404", severity: failed, serve: status("/x", 404),
		script: `await new Promise((done) => { const x = new XMLHttpRequest(); x.open('GET', '/x'); x.onloadend = done; x.send(); })`,
		want:   []string{`"method":"GET","url":"/x","status":404`}, wrong: []string{"new_errors"},
	},
	{
		name: "image 404", severity: failed, serve: status("/a.png", 404),
		script: `await new Promise((done) => { const i = new Image(); i.onerror = done; i.src = '/a.png'; })`,
		want:   []string{`"url":"/a.png","status":404`}, wrong: []string{"new_errors"},
	},
	{
		name: "script 404", severity: failed, serve: status("/a.js", 404),
		script: `await new Promise((done) => { const s = document.createElement('script'); s.onerror = done; s.src = '/a.js'; document.body.append(s); })`,
		want:   []string{`"url":"/a.js","status":404`}, wrong: []string{"new_errors", "ERR_ABORTED"},
	},
	{
		name: "connection refused", severity: failed,
		script: `await fetch('http://127.0.0.1:1234567'.replace('1234567', REFUSED)).catch(() => {})`,
		want:   []string{`"status":0,"error":"net::ERR_CONNECTION_REFUSED"`}, wrong: []string{"new_errors"},
	},
	{
		name: "blocked by CORS", severity: failed,
		script: `await fetch(OTHER + '/closed').catch(() => {})`,
		want:   []string{`/closed","status":0,"error":"CORS: No 'Access-Control-Allow-Origin'`}, wrong: []string{"new_errors"},
	},
	{
		name: "a request given up", severity: clean, serve: hang("/slow"),
		script: `const a = new AbortController(); const f = fetch('/slow', {signal: a.signal}).catch(() => {}); setTimeout(() => a.abort(), 30); await f`,
		wrong:  []string{"failures", "new_errors"},
	},
	{name: "missing favicon", severity: clean, script: `const l = document.createElement('link'); l.rel = 'icon'; l.href = '/favicon.ico'; document.head.append(l)`, wrong: []string{"failures", "new_errors"}},
	{
		name: "WebSocket", severity: warning, serve: serveSocket,
		script: `const s = new WebSocket(location.origin.replace('http', 'ws') + '/live'); await new Promise((done) => { s.onclose = done; s.onopen = () => s.send('{"ask":1}'); })`,
		want:   []string{`"disconnections":[{"url":"/live"`, `"new_connections":[{"url":"/live"`, `"error_messages":[{"url":"/live","message":"{\"type\":\"error\",\"text\":\"no stock\"}"`, `"total_new_messages":2`},
	},
	{
		name: "WebSocket refused", severity: warning,
		script: `const s = new WebSocket('ws://127.0.0.1:' + REFUSED + '/'); await new Promise((done) => { s.onclose = done; })`,
		want:   []string{`"error_messages":[{"url":"ws://127.0.0.1:`}, wrong: []string{"new_errors", "disconnections"},
	},
	{
		name: "a toast that vanishes", severity: warning,
		script: `const d = document.createElement('div'); d.className = 'toast toast-error'; d.textContent = 'Saving failed'; document.body.append(d); await new Promise((done) => setTimeout(done, 120)); d.remove()`,
		want:   []string{`"text":"Saving failed"`, `"gone_at":`},
	},
	{
		name: "an alert's text changes", severity: warning,
		page:   `<div role="alert">First</div>`,
		script: `document.querySelector('[role=alert]').textContent = 'Second'`,
		want:   []string{`"text":"Second"`, `"disappeared_elements":[{"selector":"[role=alert]","text":"First"`},
	},
	{
		name: "Vite's error overlay", severity: warning,
		script: `customElements.define('vite-error-overlay', class extends HTMLElement { constructor() { super(); this.attachShadow({mode: 'open'}).innerHTML = '<pre class="message">Failed to resolve import</pre>'; } }); document.body.append(document.createElement('vite-error-overlay'))`,
		want:   []string{`"selector":"vite-error-overlay"`, `Failed to resolve import`},
	},
	{
		name: "a worker that throws", severity: failed, serve: serveScript("/w.js", "onmessage = () => {\n  undefined.thing\n}"),
		script: `const w = new Worker('/w.js'); w.onerror = () => {}; w.postMessage(1)`,
		want:   []string{`"message":"TypeError: Cannot read properties of undefined (reading 'thing')","source":"w.js:2","count":1`},
	},
	{
		name: "a worker that throws at once", severity: failed, serve: serveScript("/w2.js", "throw new Error('first line')"),
		script: `new Worker('/w2.js')`,
		want:   []string{`"message":"Error: first line","source":"w2.js:1","count":1`},
	},
	{
		name: "a cross-origin iframe", severity: failed,
		script: `const f = document.createElement('iframe'); f.src = OTHER + '/frame'; document.body.append(f); await new Promise((done) => { f.onload = done; })`,
		want:   []string{`"message":"Error: inside the frame"`, `/inner","status":500`},
	},
	{
		name: "a service worker that throws", severity: failed,
		serve:  serveScript("/sw.js", "self.addEventListener('message', () => { throw new Error('in the service worker') })"),
		script: `await navigator.serviceWorker.register('/sw.js'); const r = await navigator.serviceWorker.ready; r.active.postMessage(1)`,
		want:   []string{`"message":"Error: in the service worker"`},
	},
	{name: "pushState", severity: clean, script: `history.pushState({}, '', '/cart')`, want: []string{`"url_changed":{"from":"`, `/cart"}`, `"type":"navigate"`}},
	{
		name: "Content Security Policy", severity: failed,
		page:   `<meta http-equiv="Content-Security-Policy" content="connect-src 'none'">`,
		script: `await fetch('/x').catch(() => {})`,
		want:   []string{`Content Security Policy`},
	},
	{
		name: "an event stream is no request in flight", severity: clean, serve: eventStream,
		script: `const e = new EventSource('/events'); await new Promise((done) => { e.onmessage = done; })`,
		want:   []string{`"settled":true`, `"url":"/events","status":200`},
	},
	{
		name: "secrets", severity: failed, serve: status("/login", 401),
		script: `console.error('password=hunter2'); await fetch('/login?token=abc', {method: 'POST', headers: {Authorization: 'Bearer abcdefghijklmnop'}, body: JSON.stringify({password: 'hunter2'})})`,
		want:   []string{`password=[masked]`}, wrong: []string{"hunter2", "abcdefgh"},
	},
}

func serveScript(path, body string) func(*http.ServeMux) {
	return func(mux *http.ServeMux) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = io.WriteString(w, body)
		})
	}
}

func status(path string, code int) func(*http.ServeMux) {
	return func(mux *http.ServeMux) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code) // not http.Error, whose nosniff adds a complaint of the browser's own
			_, _ = io.WriteString(w, "no")
		})
	}
}

func hang(path string) func(*http.ServeMux) {
	return func(mux *http.ServeMux) {
		mux.HandleFunc(path, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	}
}

func eventStream(mux *http.ServeMux) {
	mux.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
}

func serveSocket(mux *http.ServeMux) {
	mux.HandleFunc("/live", func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		if _, _, err := c.Read(r.Context()); err == nil {
			_ = c.Write(r.Context(), websocket.MessageText, []byte(`{"type":"error","text":"no stock"}`))
		}
		_ = c.Close(websocket.StatusInternalError, "broken")
	})
}

// other is a second origin: a frame that throws, an API without CORS.
func other(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("/closed", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	mux.HandleFunc("/inner", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", 500) })
	mux.HandleFunc("/frame", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<script>fetch('/inner'); setTimeout(() => { throw new Error('inside the frame') })</script>`)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// refused is a port at which nobody listens.
func refused(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return port
}

func TestEveryCaptureSource(t *testing.T) {
	w := shared.get(t)
	for _, c := range sources {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, map[string]string{"/{$}": "<!doctype html><title>page</title><link rel=icon href=data:,>" + c.page})
			if c.serve != nil {
				c.serve(s.mux)
			}
			second := strings.Replace(other(t).URL, "127.0.0.1", "localhost", 1) // another site, so another process
			a := w.of(t, s)
			p := w.open(t, s.URL)
			if r := a.changes(); r.Severity != clean && c.page == "" || r.Coverage != nil {
				t.Fatalf("the page is not clean before: %s", show(r))
			}
			p.js(fmt.Sprintf("const OTHER = %q, REFUSED = %q; ", second, refused(t)) + c.script)
			text, err := a.Text("get_changes_since", map[string]any{"wait": "settled"})
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range c.want {
				if !strings.Contains(text, part) {
					t.Errorf("%s is missing in\n%s", part, text)
				}
			}
			for _, part := range c.wrong {
				if strings.Contains(text, part) {
					t.Errorf("%s should not be in\n%s", part, text)
				}
			}
			if !strings.Contains(text, fmt.Sprintf(`"severity":%q`, c.severity)) {
				t.Errorf("severity is not %s in\n%s", c.severity, text)
			}
			if strings.Contains(text, `"coverage"`) {
				t.Errorf("it was not fully observed: %s", text)
			}
			if again := a.changesWith(map[string]any{"wait": "settled", "timeout_ms": 5000}); again.Severity != clean {
				t.Errorf("told twice: %s", show(again))
			}
		})
	}
}

// TestTheFirstLoadIsFullyObserved: errors, requests and elements of a page's very first moments. (A
// socket that is opened before capture began is told, but its first frames may be missed, and then a
// gap says so.)
func TestTheFirstLoadIsFullyObserved(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{
		"/{$}": `<!doctype html><title>first</title><script>console.error('in the first line'); fetch('/first.json')</script><script src="/gone.js"></script><div class="error">Shown from the start</div>`,
	})
	status("/first.json", 503)(s.mux)
	a := w.of(t, s)
	w.open(t, s.URL)
	r := a.changes()
	text := show(r)
	for _, part := range []string{"in the first line", `"/first.json"`, `"/gone.js"`, "Shown from the start", `"url": "/",`} {
		if !strings.Contains(text, part) {
			t.Errorf("%s is missing", part)
		}
	}
	if r.Coverage != nil || t.Failed() {
		t.Errorf("%s", text)
	}
}

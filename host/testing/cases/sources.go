package cases

import (
	"io"
	"net/http"

	"github.com/coder/websocket"

	"tidemark.dev/tidemark/host/internal/report"
)

const clean, warning, failed = report.Clean, report.Warning, report.Error

// sources covers the capture sources, one per row, including healthy ones.
var sources = []Case{
	{
		Name: "console levels", Severity: failed,
		Script: `console.error('it is %s', 'broken', {a: 1}); console.warn('careful'); console.log('fine'); console.debug('deep')`,
		Want:   []string{`"message":"it is broken {a: 1}"`, `"message":"careful"`, `"total_new_entries":4`}, Wrong: []string{"fine", "deep"},
	},
	{
		Name: "uncaught error", Severity: failed,
		Page:   `<script src="app.js"></script>`,
		Serve:  serveScript("/app.js", "function go() {\n  null.id\n}\n"),
		Script: `setTimeout(go)`,
		Want:   []string{`"message":"TypeError: Cannot read properties of null (reading 'id')","source":"app.js:2","count":1`},
	},
	{Name: "unhandled rejection", Severity: failed, Script: `Promise.reject(new Error('nobody cares'))`, Want: []string{`"message":"Error: nobody cares"`}},
	{Name: "rejection without an error", Severity: failed, Script: `Promise.reject({code: 7})`, Want: []string{`code: 7`}},
	{
		Name: "fetch returns 500", Severity: failed,
		Serve:  status("/api/users/17", 500),
		Script: `await fetch('/api/users/17?page=2', {method: 'POST', body: '{}'})`,
		Want:   []string{`"method":"POST","url":"/api/users/17","status":500`}, Wrong: []string{"new_errors", "page=2"},
	},
	{
		Name: "XHR returns 404", Severity: failed, Serve: status("/x", 404),
		Script: `await new Promise((done) => { const x = new XMLHttpRequest(); x.open('GET', '/x'); x.onloadend = done; x.send(); })`,
		Want:   []string{`"method":"GET","url":"/x","status":404`}, Wrong: []string{"new_errors"},
	},
	{
		Name: "image 404", Severity: failed, Serve: status("/a.png", 404),
		Script: `await new Promise((done) => { const i = new Image(); i.onerror = done; i.src = '/a.png'; })`,
		Want:   []string{`"url":"/a.png","status":404`}, Wrong: []string{"new_errors"},
	},
	{
		Name: "script 404", Severity: failed, Serve: status("/a.js", 404),
		Script: `await new Promise((done) => { const s = document.createElement('script'); s.onerror = done; s.src = '/a.js'; document.body.append(s); })`,
		Want:   []string{`"url":"/a.js","status":404`}, Wrong: []string{"new_errors", "ERR_ABORTED"},
	},
	{
		Name: "connection refused", Severity: failed,
		Script: `await fetch('http://127.0.0.1:1234567'.replace('1234567', REFUSED)).catch(() => {})`,
		Want:   []string{`"status":0,"error":"net::ERR_CONNECTION_REFUSED"`}, Wrong: []string{"new_errors"},
	},
	{
		Quiet: []string{`/closed","status":0,"error":"CORS: blocked`}, Name: "blocked by CORS", Severity: failed,
		Script: `await fetch(OTHER + '/closed').catch(() => {})`,
		Want:   []string{`/closed","status":0,"error":"CORS: No 'Access-Control-Allow-Origin'`}, Wrong: []string{"new_errors"},
	},
	{
		Name: "an aborted request", Severity: clean, Serve: hang("/slow"),
		Script: `const a = new AbortController(); const f = fetch('/slow', {signal: a.signal}).catch(() => {}); setTimeout(() => a.abort(), 30); await f`,
		Wrong:  []string{"failures", "new_errors"},
	},
	{Name: "missing favicon", Severity: clean, Script: `const l = document.createElement('link'); l.rel = 'icon'; l.href = '/favicon.ico'; document.head.append(l)`, Wrong: []string{"failures", "new_errors"}},
	{
		Name: "WebSocket", Severity: warning, Serve: serveSocket,
		Script: `const s = new WebSocket(location.origin.replace('http', 'ws') + '/live'); await new Promise((done) => { s.onclose = done; s.onopen = () => s.send('{"ask":1}'); })`,
		Want:   []string{`"disconnections":[{"url":"/live"`, `"new_connections":[{"url":"/live"`, `"error_messages":[{"url":"/live","message":"{\"type\":\"error\",\"text\":\"no stock\"}"`, `"total_new_messages":2`},
	},
	{
		Name: "WebSocket refused", Severity: warning,
		Script: `const s = new WebSocket('ws://127.0.0.1:' + REFUSED + '/'); await new Promise((done) => { s.onclose = done; })`,
		Want:   []string{`"error_messages":[{"url":"ws://127.0.0.1:`}, Wrong: []string{"new_errors", "disconnections"},
	},
	{
		Name: "a toast that vanishes", Severity: warning,
		Script: `const d = document.createElement('div'); d.className = 'toast toast-error'; d.textContent = 'Saving failed'; document.body.append(d); await new Promise((done) => setTimeout(done, 120)); d.remove()`,
		Want:   []string{`"text":"Saving failed"`, `"gone_at":`},
	},
	{
		Name: "an alert's text changes", Severity: warning,
		Page:   `<div role="alert">First</div>`,
		Script: `document.querySelector('[role=alert]').textContent = 'Second'`,
		Want:   []string{`"text":"Second"`, `"disappeared_elements":[{"selector":"[role=alert]","text":"First"`},
	},
	{
		Name: "Vite's error overlay", Severity: failed, Stands: true,
		Script: `customElements.define('vite-error-overlay', class extends HTMLElement { constructor() { super(); this.attachShadow({mode: 'open'}).innerHTML = '<pre class="message">Failed to resolve import</pre>'; } }); document.body.append(document.createElement('vite-error-overlay'))`,
		Want:   []string{`"selector":"vite-error-overlay"`, `Failed to resolve import`},
	},
	{
		Name: "a worker that throws", Severity: failed, Serve: serveScript("/w.js", "onmessage = () => {\n  undefined.thing\n}"),
		Script: `const w = new Worker('/w.js'); w.onerror = () => {}; w.postMessage(1)`,
		Want:   []string{`"message":"TypeError: Cannot read properties of undefined (reading 'thing')","source":"w.js:2","count":1`},
	},
	{
		Name: "a worker that throws at once", Severity: failed, Serve: serveScript("/w2.js", "throw new Error('first line')"),
		Script: `new Worker('/w2.js')`,
		Want:   []string{`"message":"Error: first line","source":"w2.js:1","count":1`},
	},
	{
		Name: "a cross-origin iframe", Severity: failed,
		Script: `const f = document.createElement('iframe'); f.src = OTHER + '/frame'; document.body.append(f); await new Promise((done) => { f.onload = done; })`,
		Want:   []string{`"message":"Error: inside the frame"`, `/inner","status":500`},
	},
	{
		QuietUntold: "the page cannot observe its service worker, as coverage states", Name: "a service worker that throws", Severity: failed,
		Serve:  serveScript("/sw.js", "self.addEventListener('message', () => { throw new Error('in the service worker') })"),
		Script: `await navigator.serviceWorker.register('/sw.js'); const r = await navigator.serviceWorker.ready; r.active.postMessage(1)`,
		Want:   []string{`"message":"Error: in the service worker"`},
	},
	{Name: "pushState", Severity: clean, Script: `history.pushState({}, '', '/cart')`, Want: []string{`"url_changed":{"from":"`, `/cart"}`, `"type":"navigate"`}},
	{
		Name: "Content Security Policy", Severity: failed,
		Page:   `<meta http-equiv="Content-Security-Policy" content="connect-src 'none'">`,
		Script: `await fetch('/x').catch(() => {})`,
		Want:   []string{`Content Security Policy`},
	},
	{
		Name: "an event stream does not count as in flight", Severity: clean, Serve: eventStream,
		Script: `const e = new EventSource('/events'); await new Promise((done) => { e.onmessage = done; })`,
		Want:   []string{`"settled":true`, `"url":"/events","status":200`},
	},
	{
		Name: "secrets", Severity: failed, Serve: status("/login", 401),
		Script: `console.error('password=hunter2'); await fetch('/login?token=abc', {method: 'POST', headers: {Authorization: 'Bearer abcdefghijklmnop'}, body: JSON.stringify({password: 'hunter2'})})`,
		Want:   []string{`password=[masked]`}, Wrong: []string{"hunter2", "abcdefgh"},
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
			w.WriteHeader(code) // http.Error sets nosniff, which makes the browser log an extra error
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

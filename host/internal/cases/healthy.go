package cases

import (
	"io"
	"net/http"

	"github.com/coder/websocket"
)

// talkingSocket sends one frame on /talk and stays open.
func talkingSocket(frame string) func(*http.ServeMux) {
	return func(mux *http.ServeMux) {
		mux.HandleFunc("/talk", func(w http.ResponseWriter, r *http.Request) {
			c, err := websocket.Accept(w, r, nil)
			if err != nil {
				return
			}
			_ = c.Write(r.Context(), websocket.MessageText, []byte(frame))
			_, _, _ = c.Read(r.Context())
			_ = c.CloseNow()
		})
	}
}

const socketScript = `const s = new WebSocket(location.origin.replace('http', 'ws') + '/talk'); await new Promise((done) => { s.onmessage = done })`

// answers serves a status and a body.
func answers(path string, code int, body string) func(*http.ServeMux) {
	return func(mux *http.ServeMux) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		})
	}
}

// healthy are edits and visits that break nothing.
var healthy = []Case{
	{Name: "nothing at all", Severity: clean, Script: ``},
	{Name: "a new endpoint", Severity: clean, Serve: answers("/api/new", 200, "{}"), Script: `await fetch('/api/new')`, Want: []string{`"new_endpoints":[{"method":"GET","url":"/api/new"`}},
	{Name: "created", Severity: clean, Serve: answers("/api/items", 201, "{}"), Script: `await fetch('/api/items', {method: 'POST'})`},
	{Name: "no content", Severity: clean, Serve: answers("/api/items", 204, ""), Script: `await fetch('/api/items', {method: 'DELETE'})`},
	{Name: "redirected", Severity: clean, Serve: func(mux *http.ServeMux) {
		mux.Handle("/old", http.RedirectHandler("/new", http.StatusFound))
		answers("/new", 200, "{}")(mux)
	}, Script: `await fetch('/old')`},
	{Name: "not modified", Severity: clean, Serve: func(mux *http.ServeMux) {
		mux.HandleFunc("/tagged", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("Cache-Control", "no-cache")
			if r.Header.Get("If-None-Match") != "" {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			_, _ = io.WriteString(w, "{}")
		})
	}, Script: `await (await fetch('/tagged')).text(); await (await fetch('/tagged')).text()`},
	{Name: "log, info and debug", Severity: clean, Script: `console.log('a'); console.info('b'); console.debug('c'); console.table([1]); console.group('g'); console.groupEnd(); console.count(); console.time('t'); console.timeEnd('t')`},
	{Name: "Vite's chatter", Severity: clean, Script: `console.debug('[vite] connecting...'); console.debug('[vite] connected.'); console.debug('[vite] hot updated: /src/App.tsx'); console.warn('[vite] server connection lost. Polling for restart...')`},
	{Name: "webpack's chatter", Severity: clean, Script: `console.log('[HMR] Waiting for update signal from WDS...'); console.info('[webpack-dev-server] Hot Module Replacement enabled.'); console.warn('[HMR] Nothing hot updated.')`},
	{Name: "Next's chatter", Severity: clean, Script: `console.log('[Fast Refresh] rebuilding'); console.log('[Fast Refresh] done in 120ms')`},
	{Name: "React's advice", Severity: clean, Script: `console.info('Download the React DevTools for a better development experience: https://react.dev/link/react-devtools')`},
	{Name: "an error that is caught", Severity: clean, Script: `try { null.x } catch {}`},
	{Name: "a rejection that is handled", Severity: clean, Script: `await Promise.reject(new Error('expected')).catch(() => {})`},
	{Name: "slow, but always so", Severity: clean, Serve: slowAfter("/api/report", 0), Page: `<script>(async () => { for (let i = 0; i < 3; i++) await fetch('/api/report') })()</script>`, Script: `await fetch('/api/report')`},
	{Name: "slow at the first time", Severity: clean, Serve: slowAfter("/api/first", 0), Script: `await fetch('/api/first')`},
	{Name: "a little slower", Severity: clean, Serve: answers("/api/quick", 200, "{}"), Page: `<script>(async () => { for (let i = 0; i < 4; i++) await fetch('/api/quick') })()</script>`, Script: `await fetch('/api/quick')`},
	{Name: "an XHR given up", Severity: clean, Serve: hang("/slow"), Script: `const x = new XMLHttpRequest(); x.open('GET', '/slow'); x.send(); await new Promise((done) => setTimeout(done, 50)); x.abort()`},
	{Name: "left while loading", Severity: clean, Serve: func(mux *http.ServeMux) {
		hang("/slow")(mux)
		serveAs("/next", "text/html", "<title>next</title><link rel=icon href=data:,>next")(mux)
	}, Script: `fetch('/slow').catch(() => {}); setTimeout(() => { location.href = '/next' }, 50)`},
	{Name: "reloaded", Severity: clean, Reload: true},
	{Name: "reloaded with a socket open", Severity: clean, Reload: true, Page: `<script>const s = new WebSocket(location.origin.replace('http', 'ws') + '/talk')</script>`, Serve: talkingSocket(`{"hello":1}`)},
	{Name: "a socket that talks", Severity: clean, Serve: talkingSocket(`{"type":"stock","n":1}`), Script: socketScript, Want: []string{`"new_connections":[{"url":"/talk"`}},
	{Name: "a frame with no error in it", Severity: clean, Serve: talkingSocket(`{"type":"result","error":null,"errors":[]}`), Script: socketScript},
	{Name: "a toast of success", Severity: clean, Script: inserted(`<div class="toast toast-success">Saved</div>`)},
	{Name: "a success alert", Severity: clean, Script: inserted(`<div class="alert alert-success">Your order is placed</div>`)},
	{Name: "an info alert", Severity: clean, Script: inserted(`<div class="alert alert-info">New version available</div>`)},
	{Name: "a status line", Severity: clean, Script: inserted(`<div role=status>3 results</div>`)},
	{Name: "an error that stays hidden", Severity: clean, Script: inserted(`<div class="error" style="display:none">Required</div>`)},
	{Name: "an empty live region", Severity: clean, Script: inserted(`<div role=alert></div>`)},
	{Name: "an error goes away", Severity: clean, Page: `<div class="error">Offline</div>`, Script: `document.querySelector('.error').remove()`, Want: []string{`"disappeared_elements":[{"selector":".error","text":"Offline"`}},
	{Name: "text that speaks of errors", Severity: clean, Script: inserted(`<p>How to handle an error: read the message.</p>`)},
	{Name: "replaceState", Severity: clean, Script: `history.replaceState({}, '', '/?filter=new')`},
	{Name: "a hash", Severity: clean, Script: `location.hash = 'section'`},
	{Name: "a title", Severity: clean, Script: `document.title = 'Another'`},
	{Name: "storage", Severity: clean, Script: `localStorage.setItem('a', '1'); sessionStorage.setItem('b', '2'); document.cookie = 'c=3'`},
	{Name: "a data image", Severity: clean, Script: `await new Promise((done) => { const i = new Image(); i.onload = done; i.src = 'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>' })`},
	{Name: "a blob", Severity: clean, Script: `const u = URL.createObjectURL(new Blob(['{}'])); await (await fetch(u)).text(); URL.revokeObjectURL(u)`},
	{Name: "a cross-origin iframe that is fine", Severity: clean, Script: `const f = document.createElement('iframe'); f.src = OTHER + '/fine'; document.body.append(f); await new Promise((done) => { f.onload = done; })`},
	{Name: "a cross-origin request that is allowed", Severity: clean, Script: `await fetch(OTHER + '/open')`},
	{Name: "a worker that works", Severity: clean, Serve: serveScript("/ok.js", "onmessage = (e) => postMessage(e.data * 2)"), Script: `await new Promise((done) => { const w = new Worker('/ok.js'); w.onmessage = done; w.postMessage(1) })`},
	{Name: "a service worker that works", Severity: clean, Serve: serveScript("/sw.js", "self.addEventListener('install', () => self.skipWaiting())"), Script: `await navigator.serviceWorker.register('/sw.js'); await navigator.serviceWorker.ready`},
	{Name: "a lazy module", Severity: clean, Serve: serveScript("/lazy.js", "export default 1"), Script: `await import('/lazy.js')`},
	{Name: "a dialog", Severity: clean, Page: `<dialog>Really?</dialog>`, Script: `document.querySelector('dialog').showModal(); document.querySelector('dialog').close()`},
	{Name: "a thousand nodes", Severity: clean, Script: `for (let i = 0; i < 1000; i++) { const d = document.createElement('div'); d.textContent = 'row ' + i; document.body.append(d) }`},
	{Name: "the same request often", Severity: clean, Serve: answers("/api/poll", 200, "{}"), Script: `for (let i = 0; i < 10; i++) await fetch('/api/poll?i=' + i)`, Want: []string{`"total_new_requests":10`}},
}

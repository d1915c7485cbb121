package cases

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/coder/websocket"
)

// both combines several routes.
func both(serve ...func(*http.ServeMux)) func(*http.ServeMux) {
	return func(mux *http.ServeMux) {
		for _, s := range serve {
			s(mux)
		}
	}
}

// turns responds with each status in turn, and then always with the last one.
func turns(path string, codes ...int) func(*http.ServeMux) {
	return func(mux *http.ServeMux) {
		var seen atomic.Int32
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			n := min(int(seen.Add(1)), len(codes))
			w.WriteHeader(codes[n-1])
			_, _ = io.WriteString(w, "{}")
		})
	}
}

// serveWith serves a body with headers, given as name and value in turn.
func serveWith(path, body string, headers ...string) func(*http.ServeMux) {
	return func(mux *http.ServeMux) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			_, _ = io.WriteString(w, body)
		})
	}
}

// cutOff announces a longer body than it sends.
func cutOff(path string) func(*http.ServeMux) {
	return func(mux *http.ServeMux) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"items":[`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		})
	}
}

// circle redirects endlessly.
func circle(path string) func(*http.ServeMux) {
	return func(mux *http.ServeMux) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, path, http.StatusFound) })
	}
}

// droppingSocket drops the connection after the first frame, without a close frame.
func droppingSocket(path string) func(*http.ServeMux) {
	return func(mux *http.ServeMux) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			c, err := websocket.Accept(w, r, nil)
			if err != nil {
				return
			}
			_, _, _ = c.Read(r.Context())
			_ = c.CloseNow()
		})
	}
}

// socketTo returns a script that opens a socket, sends a message and waits for the close.
func socketTo(path string) string {
	return fmt.Sprintf("const s = new WebSocket(location.origin.replace('http', 'ws') + %q); s.onopen = () => s.send('hello'); await new Promise((done) => { s.onclose = done })", path)
}

// framed returns a script that adds a frame to the page and waits until it has loaded.
func framed(attribute, value, more string) string {
	return fmt.Sprintf("await new Promise((done) => { const f = document.createElement('iframe'); f.onload = done; f.%s = %q; %s; document.body.append(f); })", attribute, value, pick(more != "", more, "0"))
}

// loading are resources and requests that fail.
var loading = []Case{
	{Name: "an endpoint that worked fails", Severity: failed, Serve: turns("/api/cart", 200, 500), Page: `<script>fetch('/api/cart')</script>`, Script: `await fetch('/api/cart')`, Want: []string{`"url":"/api/cart","status":500,"previous_status":200`}},
	{Name: "an endpoint that worked refuses a user", Severity: failed, Serve: turns("/api/me", 200, 401), Page: `<script>fetch('/api/me')</script>`, Script: `await fetch('/api/me')`, Want: []string{`"url":"/api/me","status":401,"previous_status":200`}},
	{Name: "one item among many fails", Severity: failed, Serve: both(answers("/api/items/{id}", 200, "{}"), answers("/api/items/7/price", 500, "")), Script: `for (let i = 0; i < 20; i++) await fetch('/api/items/' + i); await fetch('/api/items/7/price')`, Want: []string{`"url":"/api/items/7/price","status":500`}},
	{Name: "an event stream is refused", Severity: failed, Serve: status("/events", 500), Script: `const e = new EventSource('/events'); await new Promise((done) => { e.onerror = done })`, Want: []string{`"url":"/events","status":500`}},
	{Name: "a beacon is refused", Severity: failed, Serve: status("/collect", 500), Script: `navigator.sendBeacon('/collect', '{}'); await new Promise((done) => setTimeout(done, 100))`, Want: []string{`"method":"POST","url":"/collect","status":500`}},
	{Name: "a form submission returns 500", Severity: failed, Page: `<form method=post action=/save><input name=a></form>`, Serve: status("/save", 500), Script: `document.querySelector('form').submit()`, Want: []string{`"method":"POST","url":"/save","status":500`}},
	{Name: "a script returns 500", Severity: failed, Reload: true, Broken: `<script src="/app.js"></script>`, Serve: status("/app.js", 500), Want: []string{`"url":"/app.js","status":500`}},
	{Name: "an image in a stylesheet 404", Severity: failed, Reload: true, Broken: `<link rel=stylesheet href="/a.css"><p class=card>card`, Serve: both(serveAs("/a.css", "text/css", ".card{background:url(/card.png)}"), status("/card.png", 404)), Want: []string{`"url":"/card.png","status":404`}},
	{Name: "an imported stylesheet 404", Severity: failed, Reload: true, Broken: `<link rel=stylesheet href="/a.css">`, Serve: both(serveAs("/a.css", "text/css", "@import '/theme.css';"), status("/theme.css", 404)), Want: []string{`"url":"/theme.css","status":404`}},
	{Name: "a video 404", Severity: failed, Serve: status("/a.mp4", 404), Script: `await new Promise((done) => { const v = document.createElement('video'); v.onerror = done; v.src = '/a.mp4'; document.body.append(v) })`, Want: []string{`"url":"/a.mp4","status":404`}},
	{Name: "a missing worker", Severity: failed, Serve: status("/gone.js", 404), Script: `const w = new Worker('/gone.js'); await new Promise((done) => { w.onerror = done })`, Want: []string{`"url":"/gone.js","status":404`}},
	{Name: "a missing lazy chunk", Severity: failed, Serve: status("/Cart-3f9a2b.js", 404), Script: `import('/Cart-3f9a2b.js')`, Want: []string{`"status":404`}, Wrong: []string{"new_errors"}},
	{Quiet: []string{"Failed to load <link>", "MIME type 'text/html'"}, Name: "a stylesheet of the wrong type", Severity: failed, Reload: true, Broken: `<link rel=stylesheet href="/a.css">`, Serve: serveWith("/a.css", "<!doctype html>", "Content-Type", "text/html", "X-Content-Type-Options", "nosniff"), Want: []string{"MIME type ('text/html') is not a supported stylesheet MIME type"}},
	{Quiet: []string{"Failed to load <script>", "MIME type 'text/html'"}, Name: "a script that is HTML", Severity: failed, Reload: true, Broken: `<script src="/app.js"></script>`, Serve: serveWith("/app.js", "<!doctype html>", "Content-Type", "text/html", "X-Content-Type-Options", "nosniff"), Want: []string{"MIME type ('text/html') is not executable"}},
	{Name: "a script with the wrong hash", Severity: failed, Reload: true, Broken: `<script src="/app.js" integrity="sha256-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="></script>`, Serve: serveScript("/app.js", "1"), Want: []string{"integrity"}},
	{Name: "an image that is HTML", Severity: failed, Reload: true, Broken: `<img src="/logo.png">`, Serve: serveAs("/logo.png", "text/html", "<!doctype html><title>app</title>"), Want: []string{"/logo.png"}},
	{Name: "an image that is broken", Severity: failed, Reload: true, Broken: `<img src="/logo.png">`, Serve: serveAs("/logo.png", "image/png", "\x89PNG\r\n\x1a\nbroken"), Want: []string{"/logo.png"}},
	{QuietUntold: "only the console reports it", Name: "a font that is HTML", Severity: warning, Reload: true, Broken: `<style>@font-face{font-family:x;src:url(/x.woff2)} body{font-family:x}</style>text`, Serve: serveAs("/x.woff2", "text/html", "<!doctype html><title>app</title>"), Want: []string{"Failed to decode downloaded font"}},
	{Name: "a video that is HTML", Severity: failed, Reload: true, Broken: `<video src="/a.mp4"></video>`, Serve: serveAs("/a.mp4", "text/html", "<!doctype html><title>app</title>"), Want: []string{"/a.mp4"}},
	{Name: "a sound that is HTML", Severity: failed, Script: `await new Promise((done) => { const a = document.createElement('audio'); a.onerror = done; a.src = '/a.ogg'; document.body.append(a) })`, Serve: serveAs("/a.ogg", "text/html", "<!doctype html><title>app</title>"), Want: []string{"/a.ogg"}},
	{Name: "a responsive image that is HTML", Severity: failed, Reload: true, Broken: `<img srcset="/large.png 1x">`, Serve: serveAs("/large.png", "text/html", "<!doctype html><title>app</title>"), Want: []string{"Failed to load <img>", "/large.png"}},
	{Name: "an image and a video in a shadow root that are HTML", Severity: failed, Reload: true, Broken: `<x-card></x-card><script>customElements.define('x-card', class extends HTMLElement { connectedCallback() { this.attachShadow({mode: 'open'}).innerHTML = '<img src="/pic.png"><x-film></x-film>' } }); customElements.define('x-film', class extends HTMLElement { connectedCallback() { this.attachShadow({mode: 'open'}).innerHTML = '<video src="/film.mp4"></video>' } })</script>`, Serve: both(serveAs("/pic.png", "text/html", "<!doctype html><title>app</title>"), serveAs("/film.mp4", "text/html", "<!doctype html><title>app</title>")), Want: []string{"Failed to load <img>", "/pic.png", "Failed to load <video>", "/film.mp4"}},
	{Name: "a video without a valid source", Severity: failed, Reload: true, Broken: `<video><source src="/b.mp4" type="video/mp4"></video>`, Serve: serveAs("/b.mp4", "text/html", "<!doctype html><title>app</title>"), Want: []string{"Failed to load <source>", "/b.mp4"}},
	{Name: "an image 404 is reported once", Severity: failed, Reload: true, Broken: `<img src="/none.png">`, Serve: status("/none.png", 404), Want: []string{`"url":"/none.png","status":404`}, Wrong: []string{"new_errors"}},
	{Name: "a missing service worker", Severity: failed, Serve: status("/nosw.js", 404), Script: `navigator.serviceWorker.register('/nosw.js'); await new Promise((done) => setTimeout(done, 200))`, Want: []string{"Failed to register a ServiceWorker"}},
	{Name: "a service worker responds with an error", Severity: failed, Serve: serveScript("/sw.js", "self.addEventListener('install', () => self.skipWaiting()); self.addEventListener('activate', (e) => e.waitUntil(clients.claim())); self.addEventListener('fetch', (e) => { if (e.request.url.endsWith('/api/offline')) e.respondWith(Promise.reject(new Error('no cache'))) })"), Script: `await navigator.serviceWorker.register('/sw.js'); if (!navigator.serviceWorker.controller) await new Promise((done) => { navigator.serviceWorker.oncontrollerchange = done }); await fetch('/api/offline').catch(() => {})`, Want: []string{`"url":"/api/offline","status":0`}},
	{Name: "a missing script in a worker", Severity: failed, Serve: both(serveScript("/w.js", "importScripts('/part.js')"), status("/part.js", 404)), Script: `const w = new Worker('/w.js'); await new Promise((done) => { w.onerror = done })`, Want: []string{`"url":"/part.js","status":404`}},
	{Name: "a redirect loop", Severity: failed, Serve: circle("/around"), Script: `await fetch('/around').catch(() => {})`, Want: []string{`"url":"/around"`, `ERR_TOO_MANY_REDIRECTS`}},
	{Name: "a response cut off in the middle", Severity: failed, Serve: cutOff("/api/list"), Script: `await fetch('/api/list').then((r) => r.text()).catch(() => {})`, Want: []string{`"url":"/api/list"`, `net::ERR_`}},
	{Name: "a preflight is refused", Severity: failed, Script: `await fetch(OTHER + '/closed', {method: 'PUT'}).catch(() => {})`, Want: []string{`/closed","status":0,"error":"CORS: `}},
	{Name: "a CORS image without CORS headers", Severity: failed, Script: `await new Promise((done) => { const i = new Image(); i.crossOrigin = 'anonymous'; i.onerror = done; i.src = OTHER + '/closed' })`, Want: []string{`/closed","status":0,"error":"CORS: `}},
	{QuietUntold: "only the console reports it", Name: "a frame that forbids framing", Severity: failed, Serve: serveWith("/frame", "<p>no", "Content-Type", "text/html", "X-Frame-Options", "DENY"), Script: framed("src", "/frame", ""), Want: []string{"X-Frame-Options"}},
	{Name: "a page whose server hangs up", Severity: failed, Stands: true, Serve: hangUp("/dead"), Script: `location.href = '/dead'`, Want: []string{`"url":"/dead","status":0,"error":"net::ERR_EMPTY_RESPONSE"`}},
	{Name: "navigation to a missing server", Severity: failed, Leaves: true, Script: `location.href = 'http://127.0.0.1:' + REFUSED + '/'`, Want: []string{"ERR_CONNECTION_REFUSED"}},
	{Name: "the server drops a socket", Severity: warning, Serve: droppingSocket("/drop"), Script: socketTo("/drop"), Want: []string{`"disconnections":[{"url":"/drop"`}},
	{
		Name: "the page closes a socket before it opens", Severity: warning, Serve: talkingSocket("{}"), Script: `const s = new WebSocket(location.origin.replace('http', 'ws') + '/talk'); const ended = new Promise((done) => { s.onclose = done }); s.close(); await ended`,
		Want: []string{`"error_messages":[{"url":"/talk"`}, Wrong: []string{"new_warnings", "disconnections"},
	},
	{Name: "a socket gets 404", Severity: warning, Serve: status("/nosocket", 404), Script: socketTo("/nosocket"), Want: []string{`"error_messages":[{"url":"/nosocket"`}},
}

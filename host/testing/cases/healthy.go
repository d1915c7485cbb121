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
	{Name: "always slow", Severity: clean, Serve: slowAfter("/api/report", 0), Page: `<script>(async () => { for (let i = 0; i < 3; i++) await fetch('/api/report') })()</script>`, Script: `await fetch('/api/report')`},
	{Name: "slow on the first request", Severity: clean, Serve: slowAfter("/api/first", 0), Script: `await fetch('/api/first')`},
	{Name: "a little slower", Severity: clean, Serve: answers("/api/quick", 200, "{}"), Page: `<script>(async () => { for (let i = 0; i < 4; i++) await fetch('/api/quick') })()</script>`, Script: `await fetch('/api/quick')`},
	{Name: "an aborted XHR", Severity: clean, Serve: hang("/slow"), Script: `const x = new XMLHttpRequest(); x.open('GET', '/slow'); x.send(); await new Promise((done) => setTimeout(done, 50)); x.abort()`},
	{Name: "left while loading", Severity: clean, Serve: func(mux *http.ServeMux) {
		hang("/slow")(mux)
		serveAs("/next", "text/html", "<title>next</title><link rel=icon href=data:,>next")(mux)
	}, Script: `fetch('/slow').catch(() => {}); setTimeout(() => { location.href = '/next' }, 50)`},
	{Name: "reloaded", Severity: clean, Reload: true},
	{Name: "reloaded with a socket open", Severity: clean, Reload: true, Page: `<script>const s = new WebSocket(location.origin.replace('http', 'ws') + '/talk')</script>`, Serve: talkingSocket(`{"hello":1}`)},
	{Name: "a socket that receives a message", Severity: clean, Serve: talkingSocket(`{"type":"stock","n":1}`), Script: socketScript, Want: []string{`"new_connections":[{"url":"/talk"`}},
	{Name: "a message without an error", Severity: clean, Serve: talkingSocket(`{"type":"result","error":null,"errors":[]}`), Script: socketScript},
	{Name: "a success toast", Severity: clean, Script: inserted(`<div class="toast toast-success">Saved</div>`)},
	{Name: "a success alert", Severity: clean, Script: inserted(`<div class="alert alert-success">Your order is placed</div>`)},
	{Name: "an info alert", Severity: clean, Script: inserted(`<div class="alert alert-info">New version available</div>`)},
	{Name: "a status line", Severity: clean, Script: inserted(`<div role=status>3 results</div>`)},
	{Name: "an error that stays hidden", Severity: clean, Script: inserted(`<div class="error" style="display:none">Required</div>`)},
	{Name: "an empty live region", Severity: clean, Script: inserted(`<div role=alert></div>`)},
	{Name: "an error goes away", Severity: clean, Page: `<div class="error">Offline</div>`, Script: `document.querySelector('.error').remove()`, Want: []string{`"disappeared_elements":[{"selector":".error","text":"Offline"`}},
	{Name: "text about errors", Severity: clean, Script: inserted(`<p>How to handle an error: read the message.</p>`)},
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
	{Name: "the same request many times", Severity: clean, Serve: answers("/api/poll", 200, "{}"), Script: `for (let i = 0; i < 10; i++) await fetch('/api/poll?i=' + i)`, Want: []string{`"total_new_requests":10`}},
	{Name: "a fixed failure", Severity: clean, Serve: turns("/api/flags", 500, 200), Page: `<script>fetch('/api/flags')</script>`, Script: `await fetch('/api/flags')`, Want: []string{`"recovered":[{"method":"GET","url":"/api/flags","status":200,"previous_status":500`}},
	{Name: "another item of a known endpoint", Severity: clean, Serve: answers("/api/items/{id}", 200, "{}"), Page: `<script>fetch('/api/items/1')</script>`, Script: `await fetch('/api/items/2?fields=all')`, Wrong: []string{"new_endpoints"}},
	{Name: "analytics that are blocked", Severity: clean, Blocked: []string{"*://*.google-analytics.com/*", "*://*.googletagmanager.com/*"}, Script: `await fetch('https://www.google-analytics.com/g/collect?v=2', {method: 'POST', mode: 'no-cors', body: 'x'}).catch(() => {}); await new Promise((done) => { const s = document.createElement('script'); s.onerror = done; s.src = 'https://www.googletagmanager.com/gtag/js?id=G-1'; document.head.append(s) })`, Wrong: []string{"failures", "new_errors"}},
	{Name: "an extension that fails", Severity: clean, Script: `setTimeout(() => { (0, eval)("console.error('Could not establish connection. Receiving end does not exist.'); throw new Error('of an extension')\n//# sourceURL=chrome-extension://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/content.js") })`},
	{Name: "the development server stops", Severity: clean, Serve: droppingSocket("/_next/webpack-hmr"), Script: socketTo("/_next/webpack-hmr"), Wrong: []string{"disconnections", "error_messages"}},
	{Name: "the development server is still down", Severity: clean, Script: `console.log('[vite] server connection lost. Polling for restart...'); const s = new WebSocket('ws://127.0.0.1:' + REFUSED + '/?token=AbCdEf_gh-12', 'vite-ping'); await new Promise((done) => { s.onclose = done })`},
	{Name: "a hot update of a module", Severity: clean, Serve: serveScript("/src/Cart.js", "export const on = true"), Page: `<script type="module">import '/src/Cart.js'</script>`, Script: `await import('/src/Cart.js?t=1700000000000'); console.debug('[vite] hot updated: /src/Cart.js')`},
	{Name: "a hot update of a style sheet", Severity: clean, Serve: serveAs("/a.css", "text/css", "body{margin:0}"), Page: `<link rel=stylesheet href="/a.css">`, Script: `const old = document.querySelector('[rel=stylesheet]'), e = old.cloneNode(); e.href = '/a.css?t=2'; await new Promise((done) => { e.onload = done; old.after(e) }); old.remove(); console.debug('[vite] css hot updated: /a.css')`},
	{Name: "an allowed preflight", Severity: clean, Script: `await fetch(OTHER + '/open', {method: 'PUT'})`},
	{Name: "a HEAD request", Severity: clean, Serve: answers("/file", 200, ""), Script: `await fetch('/file', {method: 'HEAD'})`},
	{Name: "a range request", Severity: clean, Serve: answers("/file", 206, "abc"), Script: `await (await fetch('/file', {headers: {Range: 'bytes=0-2'}})).text()`},
	{Name: "a beacon while leaving", Severity: clean, Serve: both(answers("/bye", 204, ""), serveAs("/next", "text/html", "<title>next</title><link rel=icon href=data:,>next")), Script: `addEventListener('pagehide', () => { navigator.sendBeacon('/bye', '{}'); fetch('/bye', {method: 'POST', keepalive: true}) }); location.href = '/next'`},
	{Name: "a submitted form", Severity: clean, Page: `<form method=post action=/done><input name=a></form>`, Serve: serveAs("/done", "text/html", "<title>done</title><link rel=icon href=data:,>done"), Script: `document.querySelector('form').requestSubmit()`},
	{Name: "a link within the page", Severity: clean, Serve: answers("/nothing", 204, ""), Script: `location.href = '/nothing'; await new Promise((done) => setTimeout(done, 150))`},
	{Name: "a download", Severity: clean, Serve: serveWith("/report.csv", "a,b", "Content-Type", "text/csv", "Content-Disposition", "attachment"), Script: `location.href = '/report.csv'; await new Promise((done) => setTimeout(done, 150))`},
	{Name: "forward and back", Severity: clean, Script: `history.pushState({}, '', '/cart'); history.back(); await new Promise((done) => { onpopstate = done })`},
	{Name: "a prefetched page", Severity: clean, Serve: serveAs("/next", "text/html", "next"), Script: loaded("link", "href", "/next", "e.rel = 'prefetch'")},
	{Name: "an event stream that ends", Severity: clean, Serve: serveWith("/events", "retry: 60000\ndata: 1\n\n", "Content-Type", "text/event-stream"), Script: `const e = new EventSource('/events'); await new Promise((done) => { e.onerror = done })`},
	{Name: "a body that is not read to the end", Severity: clean, Serve: eventStream, Script: `const r = await fetch('/events'); const reader = r.body.getReader(); await reader.read(); await reader.cancel()`},
	{Name: "a frame removed while loading", Severity: clean, Serve: hang("/slow"), Script: `const f = document.createElement('iframe'); f.src = '/slow'; document.body.append(f); await new Promise((done) => setTimeout(done, 50)); f.remove()`},
	{Name: "an image replaced while loading", Severity: clean, Serve: hang("/slow.png"), Script: `const i = new Image(); i.src = '/slow.png'; document.body.append(i); await new Promise((done) => setTimeout(done, 50)); i.src = 'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg"/>'`},
	{Name: "a search aborted for the next", Severity: clean, Serve: both(hang("/api/search"), answers("/api/found", 200, "{}")), Script: `for (let i = 0; i < 3; i++) { const a = new AbortController(); const f = fetch('/api/search?q=' + i, {signal: a.signal}).catch(() => {}); setTimeout(() => a.abort('newer'), 20); await f } await fetch('/api/found')`},
	{Name: "a missing source map", Severity: clean, Serve: both(serveScript("/min.js", "1\n//# sourceMappingURL=min.js.map"), status("/min.js.map", 404)), Script: loaded("script", "src", "/min.js", "")},
	{Name: "a long task", Severity: clean, Script: `const end = performance.now() + 250; while (performance.now() < end);`},
	{Name: "a sign-in form", Severity: clean, Reload: true, Broken: `<form><input name=user><input type=password name=pass><button>Sign in</button></form>`},
	{Name: "classes that only resemble error classes", Severity: clean, Script: inserted(`<div class="no-error">All is well</div><span class="error-count">0</span><button class="btn btn-danger">Delete</button><p class="text-danger-zone">Settings</p>`)},
	{Name: "a valid field", Severity: clean, Page: `<input id=email aria-invalid=false>`, Script: `document.getElementById('email').setAttribute('aria-invalid', 'false'); document.getElementById('email').required = true`},
	{Name: "a page that announces itself", Severity: clean, Script: inserted(`<next-route-announcer><p role="alert" aria-live="assertive">Cart</p></next-route-announcer>`)},
	{Name: "databases and caches", Severity: clean, Serve: answers("/cached", 200, "{}"), Script: `await new Promise((done, fail) => { const q = indexedDB.open('shop'); q.onsuccess = done; q.onerror = fail }); const c = await caches.open('v1'); await c.add('/cached'); await (await c.match('/cached')).text()`},
	{Name: "unknown styles", Severity: clean, Script: `document.body.style.cssText = 'colour: red; -webkit-nonsense: 1'; const s = document.createElement('style'); s.textContent = 'p{nonsense:1} @unknown {}'; document.head.append(s)`},
	{Name: "a manifest", Severity: clean, Reload: true, Broken: `<link rel=manifest href="/site.webmanifest">`, Serve: serveAs("/site.webmanifest", "application/manifest+json", `{"name":"shop"}`)},
	{Name: "typed, scrolled and clicked", Severity: clean, Page: `<input id=q><div style="height:3000px"></div><button>More</button>`, Script: `document.getElementById('q').value = 'error'; document.getElementById('q').dispatchEvent(new Event('input', {bubbles: true})); scrollTo(0, 1000); document.querySelector('button').click()`},
	{Name: "a tracking pixel", Severity: clean, Serve: both(answers("/pixel.gif", 204, ""), serveAs("/pixel", "text/html", "")), Script: `for (const url of ['/pixel.gif', '/pixel']) await new Promise((done) => { const i = new Image(); i.onload = i.onerror = done; i.src = url })`},
	{Name: "messages of other frameworks", Severity: clean, Script: `console.log('Angular is running in development mode.'); console.info('You are running a development build of Vue.'); console.log('%cApollo DevTools', 'color: blue'); console.info('[PWA] ready')`},
}

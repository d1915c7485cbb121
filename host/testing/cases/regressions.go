package cases

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// inserted returns a script that adds an element to the page.
func inserted(html string) string {
	return fmt.Sprintf("document.body.insertAdjacentHTML('beforeend', %q)", html)
}

// loaded returns a script that adds an element to the page and waits until it has loaded or failed.
func loaded(tag, attribute, url, more string) string {
	return fmt.Sprintf("await new Promise((done) => { const e = document.createElement(%q); %s; e.onload = e.onerror = done; e.%s = %q; document.head.append(e); })", tag, pick(more != "", more, "0"), attribute, url)
}

func pick(cond bool, a, b string) string {
	if cond {
		return a
	}
	return b
}

// slowAfter responds immediately to the first n requests, and takes 400 ms for each later one.
func slowAfter(path string, n int32) func(*http.ServeMux) {
	return func(mux *http.ServeMux) {
		var seen atomic.Int32
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if seen.Add(1) > n {
				select {
				case <-time.After(400 * time.Millisecond):
				case <-r.Context().Done():
				}
			}
			_, _ = io.WriteString(w, "{}")
		})
	}
}

// serveAs serves a body with a content type.
func serveAs(path, kind, body string) func(*http.ServeMux) {
	return func(mux *http.ServeMux) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, body)
		})
	}
}

// hangUp closes the connection without a response.
func hangUp(path string) func(*http.ServeMux) {
	return func(mux *http.ServeMux) {
		mux.HandleFunc(path, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	}
}

// regressions are further ways in which an edit breaks a page.
var regressions = []Case{
	{Name: "a known failure", Severity: failed, Serve: status("/api/flags", 500), Page: `<script>fetch('/api/flags')</script>`, Script: `await fetch('/api/flags')`, Want: []string{`"repeated":[{"message":"GET /api/flags 500`, `"still_failing":1`}},
	{Name: "throws in a timer", Severity: failed, Script: `setTimeout(() => { undefinedFunction() })`, Want: []string{"ReferenceError: undefinedFunction is not defined"}},
	{Name: "throws in a click handler", Severity: failed, Page: `<button>Go</button>`, Script: `const b = document.querySelector('button'); b.onclick = () => { null.go() }; b.click()`, Want: []string{"TypeError: Cannot read properties of null (reading 'go')"}},
	{Name: "throws in then", Severity: failed, Script: `Promise.resolve().then(() => { throw new RangeError('too far') })`, Want: []string{"RangeError: too far"}},
	{Name: "throws in an async handler", Severity: failed, Script: `addEventListener('x', async () => { await 0; throw new Error('after await') }); dispatchEvent(new Event('x'))`, Want: []string{"Error: after await"}},
	{Name: "throws in a custom element", Severity: failed, Script: `customElements.define('x-bad', class extends HTMLElement { connectedCallback() { throw new Error('connected badly') } }); document.body.append(document.createElement('x-bad'))`, Want: []string{"Error: connected badly"}},
	{Name: "throws a string", Severity: failed, Script: `setTimeout(() => { throw 'just a string' })`, Want: []string{"just a string"}},
	{Name: "rejects with undefined", Severity: failed, Script: `Promise.reject()`, Want: []string{`"message":"undefined"`}},
	{QuietSeverity: warning, Name: "JSON that is HTML", Severity: failed, Serve: serveAs("/api", "text/html", "<!doctype html>"), Script: `fetch('/api').then((r) => r.json())`, Want: []string{"SyntaxError: Unexpected token '<'"}},
	{Name: "console.assert", Severity: failed, Script: `console.assert(false, 'does not hold')`, Want: []string{"does not hold"}},
	{Name: "console.error of an Error", Severity: failed, Script: `console.error(new Error('reported'))`, Want: []string{"Error: reported"}},
	{Name: "React's boundary", Severity: failed, Script: `console.error('The above error occurred in the <Cart> component:\n    at Cart')`, Want: []string{"The above error occurred in the <Cart> component"}},
	{Name: "deprecation warning", Severity: warning, Script: `console.warn('componentWillMount has been renamed')`, Want: []string{`"new_warnings":[{"message":"componentWillMount has been renamed"`}},
	{Name: "fifty equal warnings", Severity: warning, Script: `for (let i = 0; i < 50; i++) console.warn('row ' + (1000 + i) + ' has no key')`, Want: []string{`"count":50`}},
	{Name: "quota exceeded", Severity: failed, Script: `setTimeout(() => { localStorage.setItem('x', 'x'.repeat(6 << 20)) })`, Want: []string{"QuotaExceededError"}},
	{Name: "a syntax error after an edit", Severity: failed, Reload: true, Broken: `<script src="/edited.js"></script>`, Serve: serveScript("/edited.js", "const x = ;"), Want: []string{"SyntaxError: Unexpected token ';'", "edited.js:1"}},
	{Name: "a missing module", Severity: failed, Stands: true, Reload: true, Broken: `<script type="module">import '/gone.mjs'</script>`, Serve: status("/gone.mjs", 404), Want: []string{`"url":"/gone.mjs","status":404`}},
	{Name: "a missing export", Severity: failed, Reload: true, Broken: `<script type="module">import {gone} from '/lib.js'</script>`, Serve: serveScript("/lib.js", "export const here = 1"), Want: []string{"does not provide an export named 'gone'"}},
	{Quiet: []string{"Failed to load <script>", "MIME type 'text/plain'"}, Name: "a module of the wrong type", Severity: failed, Stands: true, Reload: true, Broken: `<script type="module" src="/m.txt"></script>`, Serve: serveAs("/m.txt", "text/plain", "1"), Want: []string{"MIME type"}},
	{Name: "an error banner after an edit", Severity: warning, Reload: true, Broken: `<div class="error-banner">Something went wrong</div>`, Want: []string{`"text":"Something went wrong"`}},
	{Name: "the page itself returns 500", Severity: failed, Serve: status("/checkout", 500), Script: `location.href = '/checkout'`, Want: []string{`"url":"/checkout","status":500`}},
	{Name: "stylesheet 404", Severity: failed, Serve: status("/a.css", 404), Script: loaded("link", "href", "/a.css", "e.rel = 'stylesheet'"), Want: []string{`"url":"/a.css","status":404`}},
	{Name: "font 404", Severity: failed, Serve: status("/a.woff2", 404), Script: `await new FontFace('x', 'url(/a.woff2)').load().catch(() => {})`, Want: []string{`"url":"/a.woff2","status":404`}},
	{Name: "iframe returns 503", Severity: failed, Serve: status("/frame", 503), Script: `await new Promise((done) => { const f = document.createElement('iframe'); f.onload = done; f.src = '/frame'; document.body.append(f); })`, Want: []string{`"url":"/frame","status":503`}},
	{Name: "a same-origin iframe throws", Severity: failed, Serve: serveAs("/frame", "text/html", "<script>setTimeout(() => { throw new Error('in the inner page') })</script>"), Script: `await new Promise((done) => { const f = document.createElement('iframe'); f.onload = done; f.src = '/frame'; document.body.append(f); })`, Want: []string{"Error: in the inner page"}},
	{Name: "POST returns 403", Severity: failed, Serve: status("/api/orders", 403), Script: `await fetch('/api/orders', {method: 'POST'})`, Want: []string{`"method":"POST","url":"/api/orders","status":403`}},
	{Name: "DELETE returns 409", Severity: failed, Serve: status("/api/orders/7", 409), Script: `await fetch('/api/orders/7', {method: 'DELETE'})`, Want: []string{`"method":"DELETE","url":"/api/orders/7","status":409`}},
	{Name: "rate limited", Severity: failed, Serve: status("/api", 429), Script: `await fetch('/api')`, Want: []string{`"url":"/api","status":429`}},
	{Name: "a redirect to nowhere", Severity: failed, Serve: func(mux *http.ServeMux) {
		mux.Handle("/old", http.RedirectHandler("/new", http.StatusFound))
		status("/new", 404)(mux)
	}, Script: `await fetch('/old')`, Want: []string{`"url":"/new","status":404`}},
	{Name: "the server hangs up", Severity: failed, Serve: hangUp("/api"), Script: `await fetch('/api').catch(() => {})`, Want: []string{`"url":"/api","status":0,"error":"net::ERR_EMPTY_RESPONSE"`}},
	{Name: "an endpoint becomes slow", Severity: warning, Page: `<script>(async () => { for (let i = 0; i < 4; i++) await fetch('/api/search?q=' + i) })()</script>`, Serve: slowAfter("/api/search", 4), Script: `await fetch('/api/search?q=9')`, Want: []string{`"degraded":[{"method":"GET","url":"/api/search"`}},
	{Name: "a request in a worker fails", Severity: failed, Serve: func(mux *http.ServeMux) {
		serveScript("/fetch.js", "onmessage = async () => { await fetch('/from-worker'); postMessage(1) }")(mux)
		status("/from-worker", 500)(mux)
	}, Script: `await new Promise((done) => { const w = new Worker('/fetch.js'); w.onmessage = done; w.postMessage(1) })`, Want: []string{`"url":"/from-worker","status":500`}},
	{Name: "an alert appears", Severity: warning, Script: inserted(`<div role=alert>Payment failed</div>`), Want: []string{`"text":"Payment failed"`}},
	{Name: "a field becomes invalid", Severity: warning, Page: `<label>Email <input id=email aria-describedby=why></label><p id=why>`, Script: `document.getElementById('why').textContent = 'Not an address'; document.getElementById('email').setAttribute('aria-invalid', 'true')`, Want: []string{`Not an address`}},
	{Name: "an error that was hidden is shown", Severity: warning, Page: `<div class="error" hidden>Out of stock</div>`, Script: `document.querySelector('.error').hidden = false`, Want: []string{`"text":"Out of stock"`}},
	{Name: "webpack's overlay", Severity: failed, Stands: true, Script: `const f = document.createElement('iframe'); f.id = 'webpack-dev-server-client-overlay'; document.body.append(f); f.contentDocument.body.innerHTML = '<div>Compiled with problems: ERROR in ./src/App.js</div>'`, Want: []string{`webpack-dev-server-client-overlay`}},
	{Name: "an error in a shadow root", Severity: warning, Script: `const h = document.createElement('div'); document.body.append(h); h.attachShadow({mode: 'open'}).innerHTML = '<p class="error">Inside the shadow</p>'`, Want: []string{`Inside the shadow`}},
	{Name: "a failed hot update", Severity: failed, Script: `console.error('[vite] Failed to reload /src/App.tsx. This could be due to syntax errors')`, Want: []string{`[vite] Failed to reload`}},
	{Name: "a socket reports an error", Severity: warning, Serve: talkingSocket(`{"error":{"code":7,"message":"no such room"}}`), Script: socketScript, Want: []string{`no such room`}},
}

package ways

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// probes are what a page can ask of the functions in whose place the hooks of quiet capture stand. Each is
// evaluated in a page with and in one without them; the answers must be the same.
var probes = []string{
	// each function: source, name, length, own properties, attributes, and what is none of it
	`functions.map(([owner, name]) => { const f = owner[name], d = Object.getOwnPropertyDescriptor(owner, name)
		return [name, String(f), f.toString(), Function.prototype.toString.call(f), f.name, f.length, Reflect.ownKeys(f).map(String).sort(), 'prototype' in f,
			d.writable, d.enumerable, d.configurable, typeof f, Object.prototype.toString.call(f), Object.getPrototypeOf(f) === Function.prototype, f === owner[name], Object.isExtensible(f)] })`,
	// as another realm sees them
	`(() => { const i = document.createElement('iframe'); document.body.append(i); const other = i.contentWindow.Function.prototype.toString
		const all = functions.map(([owner, name]) => other.call(owner[name]).includes('[native code]')); const own = String(i.contentWindow.fetch); i.remove(); return [all, own] })()`,
	`[String(Function.prototype.toString), Function.prototype.toString.name, Function.prototype.toString.toString(), typeof Function.prototype.toString.prototype]`,
	`attempt(() => Function.prototype.toString.call({}))`,
	`attempt(() => Function.prototype.toString.call(null))`,
	`attempt(() => new Function.prototype.toString())`,
	`attempt(() => new fetch())`, `attempt(() => new console.log())`, `attempt(() => new XMLHttpRequest.prototype.send())`,
	`attempt(() => fetch.call({}, '/'))`, `attempt(() => XMLHttpRequest.prototype.send.call({}))`, `attempt(() => XMLHttpRequest.prototype.open.call({}, 'GET', '/'))`,
	`attempt(() => WebSocket.prototype.send.call({}, 'x'))`, `attempt(() => WebSocket.prototype.send('x'))`,
	`attempt(() => WebSocket('ws://127.0.0.1/'))`, `attempt(() => new WebSocket())`, `attempt(() => new WebSocket('no such scheme:'))`, `attempt(() => new WebSocket('ws://x/', ['a', 'a']))`,
	`attempt(() => Worker('/x'))`, `attempt(() => new Worker())`, `attempt(() => new Worker('http://other.test/x.js'))`, `attempt(() => new SharedWorker())`,
	`attempt(() => Reflect.construct(WebSocket, ['::'], Array))`,
	`attempt(() => new XMLHttpRequest().send())`, `attempt(() => new XMLHttpRequest().open('BAD METHOD', '/'))`, `attempt(() => new XMLHttpRequest().open())`,
	// constructors
	`[WebSocket, EventSource, Worker, SharedWorker].map((C) => [C.name, C.length, String(C), C.prototype.constructor === C, Object.getPrototypeOf(C) === EventTarget, Reflect.ownKeys(C).map(String).sort(),
		...[[C, 'prototype'], [C.prototype, 'constructor'], [window, C.name]].map(([o, n]) => { const d = Object.getOwnPropertyDescriptor(o, n); return [d.writable, d.enumerable, d.configurable, 'get' in d] })])`,
	`[WebSocket.CONNECTING, WebSocket.OPEN, WebSocket.CLOSING, WebSocket.CLOSED]`,
	`(() => { const s = new WebSocket(location.origin.replace('http', 'ws') + '/none'); return [s instanceof WebSocket, s.constructor === WebSocket, Object.prototype.toString.call(s), Reflect.ownKeys(s), Object.getPrototypeOf(s) === WebSocket.prototype, s.url.endsWith('/none'), s.readyState] })()`,
	`(() => { class Mine extends WebSocket { constructor(u) { super(u); this.mine = new.target.name } hello() { return 'hello' } }
		const s = new Mine(location.origin.replace('http', 'ws') + '/none'); return [s instanceof Mine, s instanceof WebSocket, s.mine, s.hello(), s.constructor.name, Object.getPrototypeOf(Mine) === WebSocket] })()`,
	`(() => { function Old(u) { return Reflect.construct(WebSocket, [u], new.target) } Old.prototype = Object.create(WebSocket.prototype); const s = new Old(location.origin.replace('http', 'ws') + '/none'); return [s instanceof Old, s instanceof WebSocket] })()`,
	`(() => { class X extends XMLHttpRequest { send(...a) { this.sent = true; return super.send(...a) } } const x = new X(); x.open('GET', '/json'); x.send(); return [x.sent, x.readyState] })()`,
	// what comes back
	`(async () => { const p = fetch('/json'); const r = await p; const a = r.clone(); return [p instanceof Promise, Object.getPrototypeOf(p) === Promise.prototype, Reflect.ownKeys(p), r.bodyUsed, await r.json(), r.bodyUsed, await a.text(), r.type, r.redirected] })()`,
	`(async () => { const r = await fetch('/json'); const b = r.body, reader = b.getReader(); let n = 0; for (;;) { const { done, value } = await reader.read(); if (done) break; n += value.length } return [b === r.body, n, r.bodyUsed] })()`,
	`(async () => { const r = await fetch('/html'); try { await r.json(); return 'no' } catch (e) { return [e.name, e.message, stack(e), e instanceof SyntaxError] } })()`,
	`(async () => { const c = new AbortController(); const p = fetch('/json', { signal: c.signal }); c.abort(); try { await p; return 'no' } catch (e) { return [e.name, e.message, stack(e), e instanceof DOMException] } })()`,
	`(async () => { const c = new AbortController(); c.abort('my reason'); try { await fetch('/json', { signal: c.signal }) } catch (e) { return e } })()`,
	`(async () => { try { await fetch('http://127.0.0.1:1/') } catch (e) { return [e.name, e.message, stack(e), e instanceof TypeError] } })()`,
	`(async () => { try { await fetch('http://user:pw@host/') } catch (e) { return [e.name, e.message, stack(e)] } })()`,
	`(async () => { function named() { return fetch(':::bad', { method: 'GET', mode: 'navigate' }) } try { await named() } catch (e) { return [e.name, e.message, stack(e)] } })()`,
	`(async () => { const seen = []; const input = { toString() { seen.push(stack(new Error('in toString'))); return '/json' } }; await fetch(input); return [seen.length] })()`,
	`(async () => { const seen = []; const init = { get method() { seen.push('method'); return 'GET' }, get headers() { seen.push('headers') } }; await fetch('/json', init); return seen })()`,
	`(async () => { const x = new XMLHttpRequest(); x.open('GET', '/json'); const order = []; for (const t of ['loadstart', 'load', 'loadend', 'readystatechange']) x['on' + t] = () => order.push(t); x.send(); await new Promise((done) => x.addEventListener('loadend', done)); return [order, x.responseText, x.status] })()`,
	`(async () => { const x = new XMLHttpRequest(); x.open('GET', '/json'); x.responseType = 'arraybuffer'; x.send(); await new Promise((done) => { x.onload = done }); return [x.response.byteLength, x.response instanceof ArrayBuffer] })()`,
	// rejections that nobody handles, and those that somebody does
	`(async () => { const seen = []; const on = (e) => { seen.push(String(e.reason), e.promise instanceof Promise); e.preventDefault() }; addEventListener('unhandledrejection', on)
		fetch('http://127.0.0.1:1/'); fetch('http://127.0.0.1:1/').catch(() => {}); await pause(300); removeEventListener('unhandledrejection', on); return seen })()`,
	`(async () => { const seen = []; window.onerror = (...a) => { seen.push(a[0], a[2], a[3], a[4].message); return true }; setTimeout(() => { throw new Error('mine') }); await pause(50); window.onerror = null; return seen })()`,
	// the console's own ways
	`(() => { const seen = []; const o = { get x() { seen.push('x'); return 1 }, toString() { seen.push('toString') }, toJSON() { seen.push('toJSON') }, [Symbol.toPrimitive]() { seen.push('toPrimitive') } }
		console.log(o, [o], new Map([[o, o]]), new Set([o])); console.error('x', o); console.assert(false, o); console.table([o]); return seen.filter((s) => s !== 'x') })()`,
	`(() => { const { log, error } = console; log('detached'); error.call(undefined, 'detached'); return [Object.keys(console).length, JSON.stringify(Object.keys(console)), Object.prototype.toString.call(console)] })()`,
	`[1, 2, 3].map(console.debug)`,
	`(() => { const e = new Error('kept'); const before = e.stack; console.error(e); return [e.stack === before, Object.getOwnPropertyNames(e).sort()] })()`,
	`(() => { const old = Object.getOwnPropertyDescriptor(Error, 'prepareStackTrace'); let n = 0; Error.prepareStackTrace = (e, sites) => { n++; return sites.length }; console.error('with a format'); const s = new Error().stack; delete Error.prepareStackTrace; return [n, typeof s, old === undefined, Error.stackTraceLimit] })()`,
	`(() => { const p = new Proxy({}, { get() { throw new Error('trapped') }, ownKeys() { throw new Error('trapped') }, getPrototypeOf() { throw new Error('trapped') } }); return attempt(() => console.error(p, { p })) })()`,
	// the page's own hooks, frozen and replaced globals
	`(() => { const seen = []; const real = console.warn; console.warn = function (...a) { seen.push(a.length); return real.apply(this, a) }; console.warn('a', 'b'); const mine = String(console.warn); console.warn = real; return [seen, mine.includes('seen.push'), console.warn === real] })()`,
	`attempt(() => { Object.freeze(console); console.log('frozen'); console.error('frozen'); return [Object.isFrozen(console)] })`,
	`attempt(() => { Object.freeze(WebSocket.prototype); Object.freeze(XMLHttpRequest.prototype); Object.freeze(Response.prototype); const x = new XMLHttpRequest(); x.open('GET', '/json'); x.send(); return 'works' })`,
	`attempt(() => { for (const m of ['push', 'join', 'map', 'slice', 'indexOf', Symbol.iterator]) Array.prototype[m] = () => { throw new Error('mine') }; Object.defineProperty(Object.prototype, '0', { set() { throw new Error('mine') }, configurable: true }); console.error('after all', { a: 1 }, 'x'); delete Object.prototype[0]; return 'works' })`,
	`attempt(() => HTMLElement.prototype.attachInternals.call({}))`, `attempt(() => document.body.attachInternals())`, `attempt(() => new HTMLElement.prototype.attachInternals())`,
	`(() => { customElements.define('x-a', class extends HTMLElement { constructor() { super(); this.i = this.attachInternals() } }); const x = document.createElement('x-a')
		return [x.i instanceof ElementInternals, Reflect.ownKeys(x).map(String), attempt(() => x.attachInternals()), x.i.role, Reflect.ownKeys(x.i)] })()`,
	// nothing new in sight
	`[Reflect.ownKeys(window).filter((k) => typeof k === 'symbol' || /tidemark/i.test(k)).length, document.documentElement.outerHTML.includes('tidemark'), document.querySelectorAll('*').length, performance.getEntriesByType('resource').filter((e) => e.name.startsWith('chrome-extension')).length]`,
}

const probed = `<!doctype html><title>probed</title><link rel=icon href=data:,><body><script nonce=probed>
const functions = [...['log', 'info', 'debug', 'warn', 'error', 'assert', 'trace', 'dir', 'dirxml', 'table', 'group', 'groupCollapsed'].map((n) => [console, n]),
  [window, 'fetch'], [XMLHttpRequest.prototype, 'open'], [XMLHttpRequest.prototype, 'send'], [WebSocket.prototype, 'send'], [Response.prototype, 'json'],
  [ServiceWorkerContainer.prototype, 'register'], [window, 'WebSocket'], [window, 'EventSource'], [window, 'Worker'], [window, 'SharedWorker'], [Function.prototype, 'toString'], [HTMLElement.prototype, 'attachInternals']]
const pause = (ms) => new Promise((done) => setTimeout(done, ms))
// Lines and columns differ by nothing but the probe.
const stack = (e) => typeof e.stack === 'string' ? e.stack.replaceAll(location.origin, '') : e.stack
function attempt(f) { try { return ['returned', f()] } catch (e) { return [e.name, e.message, stack(e)] } }
</script>`

// TestThePageCannotTellThatItIsCapturedQuietly asks the same of a page with hooks and of one without, under a
// strict Content Security Policy too.
func TestThePageCannotTellThatItIsCapturedQuietly(t *testing.T) {
	quiet, plain := e2etest.WorldIn(t, "quiet"), e2etest.WorldIn(t, "debugger")
	s := e2etest.NewSite(t, map[string]string{"/{$}": probed, "/json": `{"a":1}`, "/html": "<!doctype html>"})
	if quiet.Way != "quiet" {
		t.Fatal(quiet.Way)
	}
	s.Mux.HandleFunc("/strict", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'nonce-probed'; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'")
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, probed)
	})
	for _, path := range []string{"/", "/strict"} {
		var tabs [2]*testbed.Tab
		for i, w := range []*e2etest.World{quiet, plain} {
			var err error
			if tabs[i], err = w.World.Open(s.URL + path); err != nil {
				t.Fatal(err)
			}
		}
		for _, probe := range probes {
			var answers [2]string
			for i, tab := range tabs {
				if err := tab.Do(chromedp.Navigate(s.URL + path)); err != nil { // a fresh page for each: some of them break their page
					t.Fatal(err)
				}
				got, err := chromedp.Run(tab.Ctx, chromedp.Evaluate[json.RawMessage]("Promise.resolve("+probe+").then((v) => JSON.stringify(v))", chromedp.EvalAwaitPromise))
				answers[i] = string(got)
				if err != nil {
					answers[i] += err.Error()
				}
			}
			if answers[0] != answers[1] {
				t.Errorf("%s: %s\n  with hooks %s\n  without    %s", path, probe, answers[0], answers[1])
			}
		}
		for _, tab := range tabs {
			tab.Close()
		}
	}
}

// TestThePageCannotTellThatAWitnessIsThere: what stands before one of its functions is as the function was.
func TestThePageCannotTellThatAWitnessIsThere(t *testing.T) {
	w := e2etest.WorldIn(t, "debugger")
	s := e2etest.NewSite(t, map[string]string{"/{$}": probed})
	p := w.Open(t, s.URL)
	p.WaitUntil(`document.body`)
	const probe = `(() => {
		const f = HTMLElement.prototype.attachInternals, text = Function.prototype.toString;
		const error = attempt(() => document.body.attachInternals()), frames = String(error[2]).split('\n').filter((line) => line.includes(' at '));
		return [String(f), f.name, f.length, String(text), text.name, error[0], frames.some((line) => !line.includes('attempt') && !line.includes('<anonymous>') && !line.includes('eval')), Reflect.ownKeys(f).map(String).sort().join()].join('|');
	})()`
	const want = `function attachInternals() { [native code] }|attachInternals|0|function toString() { [native code] }|toString|NotSupportedError|false|length,name`
	if got := p.Text(probe); got != want {
		t.Errorf("%s\n not %s", got, want)
	}
}

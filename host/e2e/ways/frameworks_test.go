package ways

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// frameworks are pages that use a framework, or a library that replaces or wraps what the hooks of quiet
// capture stand before. What such a page finds must be the same with hooks and without.
var frameworks = []struct {
	name    string
	scripts []string // of node_modules
	// page ends with what it found, a value of JSON. log is what it writes with console.error last.
	page string
}{
	{"React, which silences the console for its second rendering", []string{"react/umd/react.development.js", "react-dom/umd/react-dom.development.js"}, `
		const e = React.createElement, seen = []
		const List = ({ items }) => e('ul', null, items.map((x) => e('li', null, x))) // without keys: a warning
		class Fence extends React.Component { state = {}; static getDerivedStateFromError(error) { return { error: error.message } } render() { return this.state.error ?? this.props.children } }
		const Broken = () => { throw new Error('broken') }
		const real = console.error; console.error = function (...a) { seen.push(String(a[0]).slice(0, 30)); return real.apply(this, a) }
		const root = ReactDOM.createRoot(document.querySelector('main'))
		root.render(e(React.StrictMode, null, e(List, { items: ['a', 'b'] }), e(Fence, null, e(Broken))))
		await pause(200); console.error = real
		return [document.querySelector('main').innerHTML, seen, Object.getOwnPropertyDescriptor(console, 'log').writable]`},
	{"Vue", []string{"vue/dist/vue.global.js"}, `
		const seen = [], app = Vue.createApp({ data: () => ({ n: 1 }), template: '<p>{{ n }}</p><no-such-tag/><button @click="n++">+</button>', errorCaptured: (error) => { seen.push(error.message) } })
		app.config.warnHandler = (text) => seen.push(text); app.mount('main')
		document.querySelector('button').click(); await Vue.nextTick()
		return [document.querySelector('main').innerHTML, seen]`},
	{"Zone.js, which Angular wraps all asynchronous work in", []string{"zone.js/bundles/zone.umd.js"}, `
		const seen = []
		const zone = Zone.current.fork({ name: 'mine', onScheduleTask: (d, c, t, task) => { seen.push(task.source); return d.scheduleTask(t, task) }, onHandleError: (d, c, t, error) => { seen.push(error.message); return false } })
		await zone.run(async () => { await (await fetch('/json')).text() })
		await zone.run(() => new Promise((done) => { const x = new XMLHttpRequest(); x.open('GET', '/json'); x.onload = () => { seen.push(Zone.current.name, x.responseText); done() }; x.send() }))
		zone.run(() => { setTimeout(() => { throw new Error('in the zone') }, 1) })
		const s = zone.run(() => new WebSocket(location.origin.replace('http', 'ws') + '/none'))
		await new Promise((done) => s.addEventListener('error', () => { seen.push(Zone.current.name); done() }))
		await pause(50)
		return [seen, String(fetch).slice(0, 40), fetch.name, Zone.__symbol__('fetch') in window || 'none']`},
	{"core-js, which tests every feature and replaces those that it finds wanting", []string{"core-js-bundle/index.js"}, `
		const native = (f) => /\[native code]/.test(Function.prototype.toString.call(f))
		return [native(fetch), native(Promise), native(console.log), native(WebSocket), native(Function.prototype.toString), Reflect.ownKeys(Array.prototype).length, Reflect.ownKeys(Function.prototype).length,
			(await Promise.allSettled([fetch('/json').then((r) => r.json())])).map((r) => r.value)]`},
	{"jQuery", []string{"jquery/dist/jquery.js"}, `
		const seen = [], deferred = (d) => new Promise((done) => d.always((...a) => done(a.map((x) => x.status ?? x))))
		$(document).on('ajaxSend ajaxError ajaxSuccess', (e, x) => seen.push(e.type, x.status))
		seen.push(await deferred($.getJSON('/json')), await deferred($.get('/missing')), await deferred($.ajax({ url: '/html', dataType: 'json' })))
		$('main').html('<p class="x">y</p><script>window.ran = 1<' + '/script>')
		return [seen, $('main .x').text(), window.ran]`},
	{"axios", []string{"axios/dist/axios.js"}, `
		const tell = (p) => p.then((r) => [r.status, r.data], (error) => [error.name, error.code, error.message, error.response?.status])
		const c = new AbortController(), aborted = tell(axios.get('/json', { signal: c.signal })); c.abort()
		return [await tell(axios.get('/json')), await tell(axios.get('/missing')), await tell(axios.post('/json', { a: 1 }, { adapter: 'fetch' })), await aborted, await tell(axios.get('http://127.0.0.1:1/'))]`},
	{"a crash reporter, which wraps console, fetch and XMLHttpRequest", []string{"@bugsnag/browser/dist/bugsnag.js"}, `
		const seen = []
		Bugsnag.start({ apiKey: '0'.repeat(32), autoTrackSessions: false, logger: null, onError: (event) => { seen.push(event.errors[0].errorMessage, event.errors[0].stacktrace[0]?.method, event.breadcrumbs.map((b) => b.type + ' ' + b.message)); return false } })
		await new Promise((shown) => addEventListener('pageshow', shown)) // its crumbs come in one order only
		await (await fetch('/json')).text(); await fetch('/missing'); console.log('a crumb')
		await new Promise((done) => { const x = new XMLHttpRequest(); x.open('GET', '/json'); x.onloadend = done; x.send() })
		setTimeout(function thrower() { throw new Error('thrown') }); Promise.reject(new Error('rejected')); await pause(200)
		return seen`},
	{"RxJS", []string{"rxjs/dist/bundles/rxjs.umd.js"}, `
		const { ajax } = rxjs.ajax, seen = []
		const last = (o) => rxjs.lastValueFrom(o.pipe(rxjs.catchError((error) => rxjs.of([error.name, error.status]))))
		seen.push((await last(ajax('/json'))).response, await last(ajax('/missing')), await last(rxjs.fetch.fromFetch('/json', { selector: (r) => r.text() })))
		await new Promise((done) => rxjs.webSocket.webSocket(location.origin.replace('http', 'ws') + '/none').subscribe({ error: (e) => { seen.push(e.type); done() } }))
		return seen`},
	{"a socket that connects again", []string{"reconnecting-websocket/dist/reconnecting-websocket-iife.js"}, `
		const seen = [], s = new ReconnectingWebSocket(location.origin.replace('http', 'ws') + '/none', [], { maxRetries: 1, minReconnectionDelay: 1, maxReconnectionDelay: 2 })
		s.onerror = (e) => seen.push(e.type); s.onclose = (e) => seen.push(e.code); await pause(500); s.close()
		return [seen, s.readyState, s instanceof WebSocket]`},
	{"a polyfill of fetch that uses XMLHttpRequest", []string{"whatwg-fetch/dist/fetch.umd.js"}, `
		const r = await WHATWGFetch.fetch('/json'); const c = new AbortController(); c.abort()
		return [r.status, await r.json(), r.url === location.origin + '/json', await WHATWGFetch.fetch('/json', { signal: c.signal }).catch((error) => error.name), await WHATWGFetch.fetch('http://127.0.0.1:1/').catch((error) => [error.name, error.message])]`},
	{"Comlink, over a worker", []string{"comlink/dist/umd/comlink.js"}, `
		const source = 'importScripts("' + location.origin + '/modules/comlink/dist/umd/comlink.js"); Comlink.expose({ add: (a, b) => a + b, fail() { throw new TypeError("no") } })'
		const worker = new Worker(URL.createObjectURL(new Blob([source]))), far = Comlink.wrap(worker)
		return [await far.add(1, 2), await far.fail().catch((error) => [error.name, error.message]), worker instanceof Worker, Object.prototype.toString.call(worker)]`},
	{"a library that replaces XMLHttpRequest and fetch as a whole", []string{"xhook/dist/xhook.js"}, `
		const seen = []; xhook.before((r) => { seen.push(r.method, r.url.replace(location.origin, '')) }); xhook.after((r, a) => { seen.push(a.status); if (r.url.includes('json')) a.text = a.data = '{"mine":1}' })
		const x = new XMLHttpRequest(); x.open('GET', '/json'); await new Promise((done) => { x.onload = done; x.send() }); seen.push(x.responseText)
		seen.push((await fetch('/missing')).status); xhook.disable(); seen.push(await (await fetch('/json')).text())
		return seen`},
	{"a test framework's stubs and fake clock", []string{"sinon/pkg/sinon.js"}, `
		const seen = [], before = [console.log, window.fetch, window.WebSocket]
		const log = sinon.stub(console, 'log'); console.log('stubbed'); seen.push(log.calledWith('stubbed'), log.callCount); log.restore()
		const f = sinon.stub(window, 'fetch').resolves(new Response('mine')); seen.push(await (await fetch('/x')).text(), f.callCount); f.restore()
		const spy = sinon.spy(console, 'warn'); console.warn('spied'); seen.push(spy.firstCall.args, String(spy.wrappedMethod ?? '').length); spy.restore()
		const clock = sinon.useFakeTimers(); let n = 0; setTimeout(() => n++, 1000); console.error('under a fake clock'); clock.tick(1000); seen.push(n, Date.now()); clock.restore()
		return [seen, before[0] === console.log, before[1] === window.fetch, before[2] === window.WebSocket]`},
}

const frameworkPage = `<!doctype html><title>framework</title><link rel=icon href=data:,><main></main>
<script>
const pause = (ms) => new Promise((done) => setTimeout(done, ms))
window.thrown = []
addEventListener('error', (e) => thrown.push(e.message))
</script>
SCRIPTS
<script>
window.found = (async () => { PAGE })().then((v) => v, (error) => ['failed', String(error)]).then(async (v) => { await pause(50); return JSON.stringify([v, thrown]) })
window.found.then(() => console.error('the page has ended'))
</script>`

// TestFrameworksWorkAsWithoutHooks runs pages of frameworks with hooks and without.
func TestFrameworksWorkAsWithoutHooks(t *testing.T) {
	modules := e2etest.Repository("node_modules")
	if _, err := os.Stat(modules); err != nil {
		t.Skip("npm packages are not installed: make node_modules/.ready")
	}
	quiet, plain := e2etest.WorldIn(t, "quiet"), e2etest.WorldIn(t, "debugger")
	for _, f := range frameworks {
		t.Run(f.name, func(t *testing.T) {
			var scripts strings.Builder
			for _, path := range f.scripts {
				scripts.WriteString(`<script src="/modules/` + path + `"></script>`)
			}
			s := e2etest.NewSite(t, map[string]string{
				"/{$}": strings.NewReplacer("SCRIPTS", scripts.String(), "PAGE", f.page).Replace(frameworkPage), "/json": `{"a":1}`, "/html": "<!doctype html>",
			})
			s.Mux.Handle("/modules/", http.StripPrefix("/modules/", http.FileServer(http.Dir(modules))))
			var found [2]string
			for i, w := range []*e2etest.World{quiet, plain} {
				a := w.AgentOf(t, s)
				p := w.Open(t, s.URL)
				got, err := chromedp.Run(p.Ctx, chromedp.Evaluate[json.RawMessage](`window.found`, chromedp.EvalAwaitPromise))
				if err != nil {
					t.Fatal(err)
				}
				found[i] = strings.ReplaceAll(string(got), s.URL, "")
				if strings.HasPrefix(found[i], `"[[\"failed\"`) {
					t.Errorf("%s", found[i])
				}
				if text := e2etest.Show(a.Changes()); !strings.Contains(text, "the page has ended") {
					t.Errorf("nothing was captured: %s", text)
				}
			}
			if found[0] != found[1] {
				t.Errorf("with hooks %s\n  without    %s", found[0], found[1])
			}
		})
	}
}

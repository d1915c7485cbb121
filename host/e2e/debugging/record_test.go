package debugging

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"tidemark.dev/tidemark/host/internal/debugger"
	"tidemark.dev/tidemark/host/testing/e2etest"
)

// recorder has the extension's worker keep what the browser reports to it of tabs, what it asks of the debugger and
// of content scripts when it acts, and what is answered.
const recorder = `(() => {
	const log = globalThis.recorded = [];
	const { debugger: api, scripting } = chrome;
	const note = (call, promise) => {
		log.push(call);
		promise.then((result) => log.push({ answer: call.n, result }), (error) => log.push({ answer: call.n, error: error.message }));
		return promise;
	};
	let n = 0;
	const send = api.sendCommand.bind(api);
	api.sendCommand = (to, method, params) =>
		note({ n: ++n, tab: to.tabId, ...(to.sessionId && { session: to.sessionId }), method }, send(to, method, params));
	const execute = scripting.executeScript.bind(scripting);
	scripting.executeScript = (options) => {
		let ask;
		try { ask = JSON.parse(options.args[0]).do } catch { ask = undefined }
		const promise = execute(options);
		return ask ? note({ n: ++n, tab: options.target.tabId, ask }, promise) : promise;
	};
	const hear = (name, event, tab, ...more) =>
		event.addListener((...args) => { log.push({ event: name, tab: tab(args), args: structuredClone(args) }) }, ...more);
	for (const name of ['onEvent', 'onDetach']) hear('debugger.' + name, api[name], ([from]) => from.tabId);
	for (const name of ['onBeforeNavigate', 'onCommitted', 'onCompleted', 'onErrorOccurred', 'onHistoryStateUpdated', 'onReferenceFragmentUpdated'])
		hear('webNavigation.' + name, chrome.webNavigation[name], ([details]) => details.tabId);
	const all = { urls: ['<all_urls>', 'ws://*/*', 'wss://*/*'] };
	const extra = { onSendHeaders: ['requestHeaders'], onResponseStarted: ['responseHeaders'], onBeforeRedirect: ['responseHeaders'] };
	for (const name of ['onBeforeRequest', 'onSendHeaders', 'onResponseStarted', 'onBeforeRedirect', 'onCompleted', 'onErrorOccurred'])
		hear('webRequest.' + name, chrome.webRequest[name], ([details]) => details.tabId, all, ...(extra[name] ? [extra[name]] : []));
	chrome.runtime.onConnect.addListener((port) => {
		const { tab, frameId, documentId } = port.sender;
		if (port.name !== 'content' || !tab) return;
		const of = { tab: tab.id, frame: frameId, document: documentId };
		log.push({ content: 'connect', ...of });
		port.onMessage.addListener((message) => { log.push({ content: 'message', ...of, message }) });
		port.onDisconnect.addListener(() => { log.push({ content: 'disconnect', ...of }) });
	});
	return true;
})()`

// TestRecord writes what Chromium really reports into the directory that TIDEMARK_RECORD names, as the unit tests of
// the extension's worker replay it; without that it does nothing.
//
//	TIDEMARK_RECORD=$PWD/extension/background/testdata go test -count=1 -run 'TestRecord$' ./host/e2e/debugging
func TestRecord(t *testing.T) {
	dir := os.Getenv("TIDEMARK_RECORD")
	if dir == "" {
		t.Skip("TIDEMARK_RECORD names no directory for recordings")
	}
	w := e2etest.WorldIn(t, "quiet") // the debugger is used by debugging and acting alone
	e2etest.AskWorker[bool](t, w.World, recorder)
	record := func(name string, s *e2etest.Site, run func(*e2etest.Tab, *e2etest.Agent)) {
		a := w.NewAgent(t, "--origin", s.URL, "--tools", "observe,act,debug")
		p := w.Open(t, s.URL)
		a.Everything()
		run(p, a)
		a.Everything()
		lines := e2etest.AskWorker[string](t, w.World, fmt.Sprintf(`(() => {
			const { tab } = recorded.find((e) => e.args?.[0]?.url?.startsWith(%q));
			const mine = new Set(recorded.filter((e) => e.tab === tab && e.n).map(({ n }) => n));
			const kept = recorded.filter((e) => e.tab === tab || mine.has(e.answer));
			recorded.length = 0;
			return '[\n' + kept.map((e) => '  ' + JSON.stringify(e)).join(',\n') + '\n]\n';
		})()`, s.URL))
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(lines), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	debugged := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage, "/app.js": e2etest.DebugApp})
	record("debugging", debugged, func(p *e2etest.Tab, a *e2etest.Agent) {
		b := a.Breakpoint(map[string]any{"url": "app.js", "line": 4})
		p.Start(`document.getElementById('go').click()`)
		a.Paused()
		a.Debugger("debugger_step", map[string]any{"kind": "over"})
		var list debugger.BreakpointList
		a.Call("breakpoint_remove", map[string]any{"id": b.ID}, &list)
		a.Debugger("debugger_resume", nil)
		p.WaitForTitle("6")
	})
	acted := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Shop", `<button id="b">Add</button><input aria-label="Name"><p role="status" id="s">0 items</p><script>
		b.onclick = async () => { await fetch('/api/cart', {method: 'POST'}); s.textContent = '1 item' }</script>`)})
	acted.Mux.HandleFunc("/api/cart", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
	record("acting", acted, func(_ *e2etest.Tab, a *e2etest.Agent) {
		page := a.Look()
		a.Do("browser_click", map[string]any{"ref": e2etest.RefOf(t, page, `"Add"`)})
		a.Do("browser_type", map[string]any{"ref": e2etest.RefOf(t, page, `"Name"`), "text": "Ada"})
	})
	quiet := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.StorePage("Quiet", `<script>
		console.error('it is %s', 'broken');
		fetch('/api/ok', { headers: { Authorization: 'Bearer 4f9c2b7a1d8e6035' } }).then((r) => r.text());
		fetch('/api/fail', { method: 'POST', body: 'x' });
		fetch('/moved');
		setTimeout(() => { throw new Error('it threw') });
		history.pushState(null, '', '/pushed');</script>`)})
	quiet.Answer("/api/ok", 200)
	quiet.Answer("/api/fail", 500)
	quiet.Mux.Handle("/moved", http.RedirectHandler("/api/ok", http.StatusFound))
	record("quiet", quiet, func(_ *e2etest.Tab, a *e2etest.Agent) { a.Everything() })
}

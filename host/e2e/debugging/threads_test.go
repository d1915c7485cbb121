package debugging

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	cdpdebugger "github.com/chromedp/cdproto/debugger"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/debugger"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/installer"
)

// kindOf is the thread of a kind; it is waited for.
func kindOf(a *e2etest.Agent, kind string) debugger.ThreadState {
	a.T.Helper()
	var found debugger.ThreadState
	if err := testbed.Eventually(a.T.Context(), func() (bool, error) {
		for _, t := range a.Debugger("debugger_state", nil).Threads {
			if t.Kind == kind {
				found = t
				return true, nil
			}
		}
		return false, nil
	}); err != nil {
		a.T.Fatalf("no thread is a %s: %+v", kind, a.Debugger("debugger_state", nil))
	}
	return found
}

func TestWorkersAndFramesAreThreads(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{
		"/worker.js": "function work(n) {\n  return n + 1; // line 2\n}\nonmessage = ({ data }) => postMessage(work(data));\n",
		"/sw.js":     "addEventListener('install', () => skipWaiting());\naddEventListener('activate', (e) => e.waitUntil(clients.claim()));\naddEventListener('message', (e) => {\n  e.source.postMessage('served'); // line 4\n});\n",
		"/frame":     `<!doctype html><title>frame</title><script src="/frame.js"></script>`,
		"/frame.js":  "onmessage = ({ data, source }) => {\n  source.postMessage(data * 2, '*'); // line 2\n};\nparent.postMessage('ready', '*');\n",
	})
	s.Mux.HandleFunc("/{$}", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, `<!doctype html><title>threads</title><link rel="icon" href="data:,"><iframe src="%s/frame"></iframe><script>
			const told = [];
			const tell = (what) => { told.push(what); document.title = told.join(' '); };
			const worker = new Worker('/worker.js');
			worker.onmessage = ({ data }) => tell('worker ' + data);
			addEventListener('message', ({ data }) => { if (data !== 'ready') tell('frame ' + data); });
			navigator.serviceWorker.onmessage = ({ data }) => tell(data);
			navigator.serviceWorker.register('/sw.js');
			const served = navigator.serviceWorker.ready;
		</script>`, strings.Replace(s.URL, "127.0.0.1", "localhost", 1))
	})
	a := w.Debugs(t, s)
	p := w.Open(t, s.URL)
	p.JS("await served")
	for _, c := range []struct{ kind, url, do, says string }{
		{"worker", "worker.js", "worker.postMessage(1)", "worker 2"},
		{"iframe", "frame.js", "frames[0].postMessage(4, '*')", "frame 8"},
		{"service_worker", "sw.js", "served.then((r) => r.active.postMessage('hi'))", "served"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			a := &e2etest.Agent{T: t, Agent: a.Agent}
			line := 2
			if c.kind == "service_worker" {
				line = 4
			}
			b := a.Breakpoint(map[string]any{"url": c.url, "line": line})
			thread := kindOf(a, c.kind)
			if b.State != "set" || len(b.Places) != 1 || !strings.Contains(b.Places[0], fmt.Sprintf("(thread %d)", thread.Thread)) || thread.Thread == 1 {
				t.Fatalf("%+v, %+v", b, thread)
			}
			p.Start(c.do)
			at := a.Paused()
			if at.Thread != thread.Thread || at.Kind != c.kind || at.Breakpoints[0] != b.ID || !strings.Contains(at.Stack[0].Source, fmt.Sprintf("%s:%d:", c.url, line)) {
				t.Errorf("%+v", at)
			}
			// The page itself goes on, and is read.
			if p.Text("'alive'") != "alive" {
				t.Error("the page stands still too")
			}
			e2etest.Holds(t, a.Everything(), "[Page: ")
			if text := a.Refused("debugger_step", map[string]any{"kind": "over", "thread": 1}); !strings.Contains(text, "Thread 1 is running") {
				t.Error(text)
			}
			a.Debugger("debugger_resume", map[string]any{"thread": thread.Thread})
			if err := testbed.Eventually(t.Context(), func() (bool, error) { return strings.Contains(p.Text("document.title"), c.says), nil }); err != nil {
				t.Error(p.Text("document.title"))
			}
		})
	}
}

// TestAWorkerThatEndsWhilePausedIsToldOf: its thread is gone, and nobody would know why.
func TestAWorkerThatEndsWhilePausedIsToldOf(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{
		"/{$}": e2etest.DebugPage, "/app.js": `let worker; function begin() { worker = new Worker('/worker.js'); }`, "/worker.js": "const beat = () => 1;\nsetInterval(() => {\n  beat();\n}, 50);",
	})
	a := w.Debugs(t, s)
	p := w.Open(t, s.URL)
	a.Breakpoint(map[string]any{"url": "worker.js", "line": 3})
	p.JS(`begin()`)
	if at := a.Paused(); at.Kind != "worker" {
		t.Fatalf("%+v", at)
	}
	p.JS(`worker.terminate()`)
	var st debugger.DebuggerState
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		st = a.Debugger("debugger_state", nil)
		return len(st.Notes) > 0, nil
	}); err != nil {
		t.Fatalf("%v: %+v", err, st)
	}
	if st.State != "running" || !strings.Contains(st.Notes[0], "the worker ended") {
		t.Errorf("%+v", st)
	}
}

// TestAWorkerIsHeldFromItsFirstLineOn: a breakpoint is set before a new worker runs.
func TestAWorkerIsHeldFromItsFirstLineOn(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{
		"/{$}":       e2etest.DebugPage,
		"/app.js":    e2etest.DebugApp,
		"/worker.js": "const first = 1;\npostMessage(first); // line 2\n",
	})
	a := w.Debugs(t, s)
	p := w.Open(t, s.URL)
	if b := a.Breakpoint(map[string]any{"url": "worker.js", "line": 2}); b.State != "waiting" {
		t.Errorf("%+v", b)
	}
	p.Start("new Worker('/worker.js').onmessage = ({ data }) => { document.title = 'worker ' + data; }")
	if at := a.Paused(); at.Kind != "worker" || !strings.Contains(at.Stack[0].Source, "worker.js:2:") {
		t.Errorf("%+v", at)
	}
	a.Debugger("debugger_resume", nil)
	p.WaitForTitle("worker 1")
}

func TestKindsOfFunctionsAreHeldAndNamed(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage, "/app.js": `const later = () => new Promise((done) => setTimeout(done, 1));
async function asynchronous(n) {
  await later();
  return n + 1; // line 4
}
function* generator() {
  yield 1;
  yield 2; // line 8
}
class Shop {
  #secret = 3;
  static make() { return new Shop(); }
  get total() {
    return this.#secret; // line 14
  }
  async buy(n) {
    return await asynchronous(n); // line 17
  }
}
const closure = (() => { const hidden = 5; return () => hidden + 1; })(); // line 20
async function caller() { await asynchronous(1); document.title = 'called'; }
`})
	a := w.Debugs(t, s)
	p := w.Open(t, s.URL)
	for _, c := range []struct {
		line               int
		do, function, says string
	}{
		{4, "caller()", "asynchronous", "called"},
		{8, "[...generator()]; document.title = 'generated'", "generator", "generated"},
		{14, "document.title = 'total ' + Shop.make().total", "get total", "total 3"},
		{17, "Shop.make().buy(1).then((n) => { document.title = 'bought ' + n })", "buy", "bought 2"},
		{20, "document.title = 'closed ' + closure()", "closure", "closed 6"},
	} {
		args := map[string]any{"url": "app.js", "line": c.line}
		if c.function == "closure" {
			args["column"] = 57 // inside of the inner function
		}
		b := a.Breakpoint(args)
		p.Start(c.do)
		at := a.Paused()
		if at.Stack[0].Function != c.function && !strings.HasSuffix(c.function, at.Stack[0].Function) || len(at.Breakpoints) != 1 {
			t.Errorf("%s: %+v", c.function, at)
		}
		if c.function == "asynchronous" {
			var waits bool
			for _, f := range at.Stack {
				waits = waits || f.Async != "" && f.Frame == nil && f.Function == "caller" || f.Function == "caller"
			}
			if !waits {
				t.Errorf("who awaits it is not told: %+v", at.Stack)
			}
		}
		var list debugger.BreakpointList
		a.Call("breakpoint_remove", map[string]any{"id": b.ID}, &list)
		a.Debugger("debugger_resume", nil)
		p.WaitForTitle(c.says)
	}
}

func TestAPageThatIsPausedCanLeave(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage, "/app.js": e2etest.DebugApp, "/next": `<!doctype html><title>next</title><link rel="icon" href="data:,"><script src="/app.js"></script>`})
	a := w.Debugs(t, s)
	p := w.Open(t, s.URL)
	a.Breakpoint(map[string]any{"url": "app.js", "line": 4})
	p.Start(`document.getElementById('go').click()`)
	a.Paused()
	p.Do(chromedp.Navigate(s.URL + "/next"))
	p.WaitForTitle("next")
	st := a.Debugger("debugger_state", nil)
	if st.State != "running" || len(st.Notes) != 1 || !strings.Contains(st.Notes[0], "the tab navigated or closed") {
		t.Errorf("%+v", st)
	}
	var list debugger.BreakpointList
	a.Call("breakpoint_list", nil, &list)
	if len(list.Breakpoints) != 1 || list.Breakpoints[0].State != "set" {
		t.Errorf("the breakpoint is gone: %+v", list)
	}
	p.Start("total([{ price: 1 }])")
	a.Paused()
	a.Debugger("debugger_resume", nil)
}

// TestAPersonResumesInThePopup reads and presses what the popup shows.
func TestAPersonResumesInThePopup(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage, "/app.js": e2etest.DebugApp})
	a := w.Debugs(t, s)
	p := w.Open(t, s.URL)
	popup := w.Open(t, installer.Origin+"popup/index.html")
	a.Breakpoint(map[string]any{"url": "app.js", "line": 6})
	p.Start(`document.getElementById('go').click()`)
	a.Paused()
	says := func() string { return popup.Text(`document.querySelector('.paused')?.innerText ?? ''`) }
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		text := says()
		return strings.Contains(text, "shop is paused by testbed") && strings.Contains(text, "At a breakpoint since") && strings.Contains(text, "total (app.js:6)"), nil
	}); err != nil {
		t.Fatalf("%v: %q", err, says())
	}
	popup.JS(`document.querySelector('.paused button').click()`)
	p.WaitForTitle("6")
	if err := testbed.Eventually(t.Context(), func() (bool, error) { return says() == "", nil }); err != nil {
		t.Error(says())
	}
	if text := a.Refused("debugger_step", map[string]any{"kind": "over"}); !strings.Contains(text, "the user resumed it") {
		t.Error(text)
	}
}

// TestAPersonResumesAWorker: the page runs, a worker of it stands still; popup and panel say so.
func TestAPersonResumesAWorker(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{
		"/{$}": e2etest.DebugPage, "/app.js": `function begin() { new Worker('/worker.js').onmessage = ({ data }) => { document.title = 'worker ' + data; }; }`,
		"/worker.js": "const n = 7;\npostMessage(n); // line 2\n",
	})
	a := w.Debugs(t, s)
	p := w.Open(t, s.URL)
	v := w.OpenViewer(t, s)
	popup := w.Open(t, installer.Origin+"popup/index.html")
	a.Breakpoint(map[string]any{"url": "worker.js", "line": 2})
	p.JS(`begin()`)
	a.Paused()
	popup.WaitUntil(`/A worker of shop is paused by testbed/.test(document.querySelector('.paused')?.innerText ?? '')`)
	v.Shows("A worker of this page is paused by testbed", "(worker.js:2)")
	v.Picture("panel-worker-paused")
	v.JS(`document.querySelector('.paused button').click()`)
	p.WaitForTitle("worker 7")
	popup.WaitUntil(`document.querySelector('.paused') === null`)
	v.WaitUntil(`document.querySelector('.paused button') === null`)
}

// TestTheExtensionsWorkerEndsDuringAPause: the page goes on, the breakpoint stands again, and the agent is told.
func TestTheExtensionsWorkerEndsDuringAPause(t *testing.T) {
	e2etest.NeedBrowser(t)
	w := e2etest.SeparateWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage, "/app.js": e2etest.DebugApp})
	a := w.Debugs(t, s)
	p := w.Open(t, s.URL)
	popup := w.Open(t, installer.Origin+"popup/index.html") // it wakes the next worker
	b := a.Breakpoint(map[string]any{"url": "app.js", "line": 6})
	p.Start(`document.getElementById('go').click()`)
	a.Paused()
	if _, err := chromedp.Call(popup.Ctx, serviceworker.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(popup.Ctx, serviceworker.StopAllWorkers, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	p.WaitForTitle("6")
	var st debugger.DebuggerState
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		text, err := a.Text("debugger_state", nil)
		if err != nil {
			return false, err
		}
		if err := json.Unmarshal([]byte(text), &st); err != nil {
			return false, err
		}
		return len(st.Notes) > 0, nil
	}); err != nil {
		t.Fatalf("%v: %+v", err, st)
	}
	if !strings.Contains(st.Notes[0], "restarted the extension; breakpoints were restored") {
		t.Errorf("%+v", st)
	}
	p.Start(`document.getElementById('go').click()`)
	if at := a.Paused(); len(at.Breakpoints) != 1 || at.Breakpoints[0] != b.ID {
		t.Errorf("%+v", at)
	}
	a.Debugger("debugger_resume", nil)
}

// TestAnAgentThatCallsWhileTheExtensionComesBack is never told that its breakpoints are gone: it gets the right answer,
// or hears that the browser is not there just now.
func TestAnAgentThatCallsWhileTheExtensionComesBack(t *testing.T) {
	e2etest.NeedBrowser(t)
	w := e2etest.SeparateWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage, "/app.js": e2etest.DebugApp})
	a := w.Debugs(t, s)
	p := w.Open(t, s.URL)
	popup := w.Open(t, installer.Origin+"popup/index.html") // it wakes the next worker
	b := a.Breakpoint(map[string]any{"url": "app.js", "line": 6})
	p.Start(`document.getElementById('go').click()`)
	a.Paused()
	first := a.TakeVariables(nil)
	if _, err := chromedp.Call(popup.Ctx, serviceworker.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(popup.Ctx, serviceworker.StopAllWorkers, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	unreachable := 0
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		text, err := a.Text("breakpoint_list", nil)
		if err != nil {
			if code := e2etest.CodeOf(err); code != usererr.PageUnavailable && code != usererr.NotWatched {
				t.Errorf("%v", err)
			}
			unreachable++
			return false, err
		}
		var list debugger.BreakpointList
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			return false, err
		}
		if len(list.Breakpoints) != 1 || list.Breakpoints[0].ID != b.ID || list.Breakpoints[0].State != "set" {
			t.Errorf("%s", text)
		}
		return strings.Contains(text, "restarted the extension"), nil
	}); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d calls were told that the browser is not there", unreachable)
	if held := a.VariableSnapshots(); len(held) != 1 || held[0].ID != first.ID {
		t.Errorf("%+v", held)
	}
	p.WaitForTitle("6")
	p.Start(`document.title = ''; document.getElementById('go').click()`)
	if at := a.Paused(); len(at.Breakpoints) != 1 || at.Breakpoints[0] != b.ID {
		t.Errorf("%+v", at)
	}
	a.Debugger("debugger_resume", nil)
	p.WaitForTitle("6")
}

// TestWhenTheDaemonEndsAPausedPageGoesOn: nobody else could let it.
func TestWhenTheDaemonEndsAPausedPageGoesOn(t *testing.T) {
	e2etest.NeedBrowser(t)
	w := e2etest.SeparateWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage, "/app.js": e2etest.DebugApp})
	a := w.Debugs(t, s)
	p := w.Open(t, s.URL)
	a.Breakpoint(map[string]any{"url": "app.js", "line": 6})
	p.Start(`document.getElementById('go').click()`)
	a.Paused()
	e2etest.KillDaemon(t, w.World)
	p.WaitForTitle("6")
}

// TestAnotherDebuggerPausesAndResumesToo: DevTools is one more client of the browser's debugger; so is this test.
func TestAnotherDebuggerPausesAndResumesToo(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage, "/app.js": e2etest.DebugApp})
	a := w.Debugs(t, s)
	p := w.Open(t, s.URL)
	if _, err := chromedp.Call(p.Ctx, cdpdebugger.Enable, cdpdebugger.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	b := a.Breakpoint(map[string]any{"url": "app.js", "line": 6})
	p.Start(`document.getElementById('go').click()`)
	if at := a.Paused(); at.Breakpoints[0] != b.ID {
		t.Errorf("%+v", at)
	}
	if _, err := chromedp.Call(p.Ctx, cdpdebugger.Resume, cdpdebugger.ResumeParams{}); err != nil {
		t.Fatal(err)
	}
	p.WaitForTitle("6")
	if text := a.Refused("debugger_step", map[string]any{"kind": "over"}); !strings.Contains(text, "another debugger, such as DevTools, resumed it") {
		t.Error(text)
	}
	// The other one pauses, and the agent sees that it is none of its doing, and may resume.
	p.JS(`let beats = 0; setInterval(() => { document.title = 'beat ' + ++beats; }, 20)`)
	if _, err := chromedp.Call(p.Ctx, cdpdebugger.Pause, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	at := a.Paused()
	if at.Reason != "other" || len(at.Breakpoints) != 0 {
		t.Errorf("%+v", at)
	}
	a.Cannot("browser_snapshot", nil, usererr.PagePaused, "by the page itself or DevTools")
	var list debugger.BreakpointList
	a.Call("breakpoint_remove", map[string]any{"id": b.ID}, &list)
	beat := p.Text("document.title")
	a.Debugger("debugger_resume", nil)
	if err := testbed.Eventually(t.Context(), func() (bool, error) { return p.Text("document.title") != beat, nil }); err != nil {
		t.Error(err)
	}
}

func TestATabThatIsClosedWhilePausedEndsItsDebugging(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.DebugPage, "/app.js": e2etest.DebugApp})
	a := w.Debugs(t, s)
	p := w.Open(t, s.URL)
	a.Breakpoint(map[string]any{"url": "app.js", "line": 6})
	p.Start(`document.getElementById('go').click()`)
	a.Paused()
	p.Close()
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		_, err := a.Text("debugger_step", map[string]any{"kind": "over"})
		return e2etest.CodeOf(err) == usererr.NotWatched, nil
	}); err != nil {
		t.Error(err)
	}
	p = w.Open(t, s.URL)
	if st := a.Debugger("debugger_state", nil); st.State != "running" || len(st.Notes) != 0 {
		t.Errorf("%+v", st)
	}
	p.Start(`document.getElementById('go').click()`)
	p.WaitForTitle("6")
}

// TestStacksOfMinifiedCodeNameTheFunctionsOfTheProject: a function that is not inlined keeps a name of one letter.
func TestStacksOfMinifiedCodeNameTheFunctionsOfTheProject(t *testing.T) {
	w := e2etest.SharedWorld(t)
	for _, tool := range []string{"vite", "webpack", "esbuild"} {
		t.Run(tool, func(t *testing.T) {
			dir := e2etest.BundledProject(t)
			source := "function priceOf(thing: { price: number }): number {\n  if (thing.price < 0) throw new Error('negative');\n  return thing.price; // line 3\n}\n" +
				"const sumOf = (things: { price: number }[]): number => {\n  let sum = 0;\n  for (const thing of things) sum += priceOf(thing) + priceOf(thing);\n  return sum;\n};\n" +
				"Object.assign(window, { go: () => sumOf([{ price: 1 }]) + sumOf([{ price: 2 }]) + priceOf({ price: 3 }) });\n"
			if err := os.WriteFile(filepath.Join(dir, "src/index.tsx"), []byte(source), 0o600); err != nil {
				t.Fatal(err)
			}
			e2etest.Bundle(t, tool, "url", dir)
			s := e2etest.ServeBundle(t, dir, nil)
			a := w.NewAgent(t, "--origin", s.URL, "--tools", "observe,debug")
			p := w.Open(t, s.URL)
			if b := a.Breakpoint(map[string]any{"url": "src/index.tsx", "line": 3}); b.State != "set" {
				t.Fatalf("%+v", b)
			}
			p.Start("go()")
			at := a.Paused()
			if len(at.Stack) < 3 || at.Stack[0].Function != "priceOf" || !strings.HasPrefix(at.Stack[0].Source, "src/index.tsx:3:") ||
				at.Stack[1].Function != "sumOf" || !strings.HasPrefix(at.Stack[1].Source, "src/index.tsx:7:") {
				t.Errorf("%+v", at.Stack)
			}
			var list debugger.BreakpointList
			a.Call("breakpoint_remove", map[string]any{"id": at.Breakpoints[0]}, &list)
			a.Debugger("debugger_resume", nil)
		})
	}
}

// TestAPauseOfAnIdlePageIsThePages: what Tidemark itself runs in the page meanwhile does not pause, and no page's pause
// shows it.
func TestAPauseOfAnIdlePageIsThePages(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage + `<button>Work</button><script>
function work() { const mine = 1; document.title = 'worked' + mine }
fetch('/begin').then(work)</script>`})
	begin := make(chan struct{})
	s.Mux.HandleFunc("/begin", func(http.ResponseWriter, *http.Request) { <-begin })
	a := w.Debugs(t, s)
	p := w.Open(t, s.URL)
	a.Debugger("debugger_pause", nil)
	for range 3 {
		if text, err := a.Text("browser_snapshot", map[string]any{"full_snapshot": true}); err != nil || !strings.Contains(text, "Work") {
			t.Fatalf("%v: %s", err, text)
		}
		a.Changes()
		if d := a.Debugger("debugger_state", nil); d.State != "running" {
			t.Fatalf("%+v", d)
		}
	}
	close(begin)
	if at := a.Paused(); len(at.Stack) == 0 || at.Stack[0].Function != "work" {
		t.Errorf("%+v", at)
	}
	a.Debugger("debugger_resume", nil)
	p.WaitForTitle("worked1")
}

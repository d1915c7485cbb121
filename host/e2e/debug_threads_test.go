package e2e

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
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/installer"
)

// kindOf is the thread of a kind; it is waited for.
func (a *agent) kindOf(kind string) debugger.ThreadState {
	a.t.Helper()
	var found debugger.ThreadState
	if err := testbed.Eventually(a.t.Context(), func() (bool, error) {
		for _, t := range a.debugger("debugger_state", nil).Threads {
			if t.Kind == kind {
				found = t
				return true, nil
			}
		}
		return false, nil
	}); err != nil {
		a.t.Fatalf("no thread is a %s: %+v", kind, a.debugger("debugger_state", nil))
	}
	return found
}

func TestWorkersAndFramesAreThreads(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{
		"/worker.js": "function work(n) {\n  return n + 1; // line 2\n}\nonmessage = ({ data }) => postMessage(work(data));\n",
		"/sw.js":     "addEventListener('install', () => skipWaiting());\naddEventListener('activate', (e) => e.waitUntil(clients.claim()));\naddEventListener('message', (e) => {\n  e.source.postMessage('served'); // line 4\n});\n",
		"/frame":     `<!doctype html><title>frame</title><script src="/frame.js"></script>`,
		"/frame.js":  "onmessage = ({ data, source }) => {\n  source.postMessage(data * 2, '*'); // line 2\n};\nparent.postMessage('ready', '*');\n",
	})
	s.mux.HandleFunc("/{$}", func(rw http.ResponseWriter, _ *http.Request) {
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
	a := w.debugs(t, s)
	p := w.open(t, s.URL)
	p.js("await served")
	for _, c := range []struct{ kind, url, do, says string }{
		{"worker", "worker.js", "worker.postMessage(1)", "worker 2"},
		{"iframe", "frame.js", "frames[0].postMessage(4, '*')", "frame 8"},
		{"service_worker", "sw.js", "served.then((r) => r.active.postMessage('hi'))", "served"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			a := &agent{t, a.Agent}
			line := 2
			if c.kind == "service_worker" {
				line = 4
			}
			b := a.breakpoint(map[string]any{"url": c.url, "line": line})
			thread := a.kindOf(c.kind)
			if b.State != "set" || len(b.Places) != 1 || !strings.Contains(b.Places[0], fmt.Sprintf("(thread %d)", thread.Thread)) || thread.Thread == 1 {
				t.Fatalf("%+v, %+v", b, thread)
			}
			p.start(c.do)
			at := a.paused()
			if at.Thread != thread.Thread || at.Kind != c.kind || at.Breakpoints[0] != b.ID || !strings.Contains(at.Stack[0].Source, fmt.Sprintf("%s:%d:", c.url, line)) {
				t.Errorf("%+v", at)
			}
			// The page itself goes on, and is read.
			if p.text("'alive'") != "alive" {
				t.Error("the page stands still too")
			}
			holds(t, a.everything(), "[Page: ")
			if text := a.refused("debugger_step", map[string]any{"kind": "over", "thread": 1}); !strings.Contains(text, "Thread 1 is running") {
				t.Error(text)
			}
			a.debugger("debugger_resume", map[string]any{"thread": thread.Thread})
			if err := testbed.Eventually(t.Context(), func() (bool, error) { return strings.Contains(p.text("document.title"), c.says), nil }); err != nil {
				t.Error(p.text("document.title"))
			}
		})
	}
}

// TestAWorkerThatEndsWhilePausedIsToldOf: its thread is gone, and nobody would know why.
func TestAWorkerThatEndsWhilePausedIsToldOf(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{
		"/{$}": debugPage, "/app.js": `let worker; function begin() { worker = new Worker('/worker.js'); }`, "/worker.js": "const beat = () => 1;\nsetInterval(() => {\n  beat();\n}, 50);",
	})
	a := w.debugs(t, s)
	p := w.open(t, s.URL)
	a.breakpoint(map[string]any{"url": "worker.js", "line": 3})
	p.js(`begin()`)
	if at := a.paused(); at.Kind != "worker" {
		t.Fatalf("%+v", at)
	}
	p.js(`worker.terminate()`)
	var st debugger.DebuggerState
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		st = a.debugger("debugger_state", nil)
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
	w := shared.get(t)
	s := newSite(t, map[string]string{
		"/{$}":       debugPage,
		"/app.js":    debugApp,
		"/worker.js": "const first = 1;\npostMessage(first); // line 2\n",
	})
	a := w.debugs(t, s)
	p := w.open(t, s.URL)
	if b := a.breakpoint(map[string]any{"url": "worker.js", "line": 2}); b.State != "waiting" {
		t.Errorf("%+v", b)
	}
	p.start("new Worker('/worker.js').onmessage = ({ data }) => { document.title = 'worker ' + data; }")
	if at := a.paused(); at.Kind != "worker" || !strings.Contains(at.Stack[0].Source, "worker.js:2:") {
		t.Errorf("%+v", at)
	}
	a.debugger("debugger_resume", nil)
	p.title("worker 1")
}

func TestKindsOfFunctionsAreHeldAndNamed(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": debugPage, "/app.js": `const later = () => new Promise((done) => setTimeout(done, 1));
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
	a := w.debugs(t, s)
	p := w.open(t, s.URL)
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
		b := a.breakpoint(args)
		p.start(c.do)
		at := a.paused()
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
		a.call("breakpoint_remove", map[string]any{"id": b.ID}, &list)
		a.debugger("debugger_resume", nil)
		p.title(c.says)
	}
}

func TestAPageThatIsPausedCanLeave(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": debugPage, "/app.js": debugApp, "/next": `<!doctype html><title>next</title><link rel="icon" href="data:,"><script src="/app.js"></script>`})
	a := w.debugs(t, s)
	p := w.open(t, s.URL)
	a.breakpoint(map[string]any{"url": "app.js", "line": 4})
	p.start(`document.getElementById('go').click()`)
	a.paused()
	p.do(chromedp.Navigate(s.URL + "/next"))
	p.title("next")
	st := a.debugger("debugger_state", nil)
	if st.State != "running" || len(st.Notes) != 1 || !strings.Contains(st.Notes[0], "the tab navigated or closed") {
		t.Errorf("%+v", st)
	}
	var list debugger.BreakpointList
	a.call("breakpoint_list", nil, &list)
	if len(list.Breakpoints) != 1 || list.Breakpoints[0].State != "set" {
		t.Errorf("the breakpoint is gone: %+v", list)
	}
	p.start("total([{ price: 1 }])")
	a.paused()
	a.debugger("debugger_resume", nil)
}

// TestAPersonResumesInThePopup reads and presses what the popup shows.
func TestAPersonResumesInThePopup(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": debugPage, "/app.js": debugApp})
	a := w.debugs(t, s)
	p := w.open(t, s.URL)
	popup := w.open(t, installer.Origin+"popup/index.html")
	a.breakpoint(map[string]any{"url": "app.js", "line": 6})
	p.start(`document.getElementById('go').click()`)
	a.paused()
	says := func() string { return popup.text(`document.querySelector('.paused')?.innerText ?? ''`) }
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		text := says()
		return strings.Contains(text, "shop is paused by testbed") && strings.Contains(text, "At a breakpoint since") && strings.Contains(text, "total (app.js:6)"), nil
	}); err != nil {
		t.Fatalf("%v: %q", err, says())
	}
	popup.js(`document.querySelector('.paused button').click()`)
	p.title("6")
	if err := testbed.Eventually(t.Context(), func() (bool, error) { return says() == "", nil }); err != nil {
		t.Error(says())
	}
	if text := a.refused("debugger_step", map[string]any{"kind": "over"}); !strings.Contains(text, "the user resumed it") {
		t.Error(text)
	}
}

// TestAPersonResumesAWorker: the page runs, a worker of it stands still; popup and panel say so.
func TestAPersonResumesAWorker(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{
		"/{$}": debugPage, "/app.js": `function begin() { new Worker('/worker.js').onmessage = ({ data }) => { document.title = 'worker ' + data; }; }`,
		"/worker.js": "const n = 7;\npostMessage(n); // line 2\n",
	})
	a := w.debugs(t, s)
	p := w.open(t, s.URL)
	v := w.view(t, s)
	popup := w.open(t, installer.Origin+"popup/index.html")
	a.breakpoint(map[string]any{"url": "worker.js", "line": 2})
	p.js(`begin()`)
	a.paused()
	popup.until(`/A worker of shop is paused by testbed/.test(document.querySelector('.paused')?.innerText ?? '')`)
	v.shows("A worker of this page is paused by testbed", "(worker.js:2)")
	v.picture("panel-worker-paused")
	v.js(`document.querySelector('.paused button').click()`)
	p.title("worker 7")
	popup.until(`document.querySelector('.paused') === null`)
	v.until(`document.querySelector('.paused button') === null`)
}

// TestTheExtensionsWorkerEndsDuringAPause: the page goes on, the breakpoint stands again, and the agent is told.
func TestTheExtensionsWorkerEndsDuringAPause(t *testing.T) {
	needBrowser(t)
	w := separateWorld(t)
	s := newSite(t, map[string]string{"/{$}": debugPage, "/app.js": debugApp})
	a := w.debugs(t, s)
	p := w.open(t, s.URL)
	popup := w.open(t, installer.Origin+"popup/index.html") // it wakes the next worker
	b := a.breakpoint(map[string]any{"url": "app.js", "line": 6})
	p.start(`document.getElementById('go').click()`)
	a.paused()
	if _, err := chromedp.Call(popup.Ctx, serviceworker.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(popup.Ctx, serviceworker.StopAllWorkers, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	p.title("6")
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
	p.start(`document.getElementById('go').click()`)
	if at := a.paused(); len(at.Breakpoints) != 1 || at.Breakpoints[0] != b.ID {
		t.Errorf("%+v", at)
	}
	a.debugger("debugger_resume", nil)
}

// TestAnAgentThatCallsWhileTheExtensionComesBack is never told that its breakpoints are gone: it gets the right answer,
// or hears that the browser is not there just now.
func TestAnAgentThatCallsWhileTheExtensionComesBack(t *testing.T) {
	needBrowser(t)
	w := separateWorld(t)
	s := newSite(t, map[string]string{"/{$}": debugPage, "/app.js": debugApp})
	a := w.debugs(t, s)
	p := w.open(t, s.URL)
	popup := w.open(t, installer.Origin+"popup/index.html") // it wakes the next worker
	b := a.breakpoint(map[string]any{"url": "app.js", "line": 6})
	p.start(`document.getElementById('go').click()`)
	a.paused()
	first := a.take(nil)
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
			if code := codeOf(err); code != usererr.PageUnavailable && code != usererr.NotWatched {
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
	if held := a.held(); len(held) != 1 || held[0].ID != first.ID {
		t.Errorf("%+v", held)
	}
	p.title("6")
	p.start(`document.title = ''; document.getElementById('go').click()`)
	if at := a.paused(); len(at.Breakpoints) != 1 || at.Breakpoints[0] != b.ID {
		t.Errorf("%+v", at)
	}
	a.debugger("debugger_resume", nil)
	p.title("6")
}

// TestWhenTheDaemonEndsAPausedPageGoesOn: nobody else could let it.
func TestWhenTheDaemonEndsAPausedPageGoesOn(t *testing.T) {
	needBrowser(t)
	w := separateWorld(t)
	s := newSite(t, map[string]string{"/{$}": debugPage, "/app.js": debugApp})
	a := w.debugs(t, s)
	p := w.open(t, s.URL)
	a.breakpoint(map[string]any{"url": "app.js", "line": 6})
	p.start(`document.getElementById('go').click()`)
	a.paused()
	killDaemon(t, w.World)
	p.title("6")
}

// TestAnotherDebuggerPausesAndResumesToo: DevTools is one more client of the browser's debugger; so is this test.
func TestAnotherDebuggerPausesAndResumesToo(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": debugPage, "/app.js": debugApp})
	a := w.debugs(t, s)
	p := w.open(t, s.URL)
	if _, err := chromedp.Call(p.Ctx, cdpdebugger.Enable, cdpdebugger.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	b := a.breakpoint(map[string]any{"url": "app.js", "line": 6})
	p.start(`document.getElementById('go').click()`)
	if at := a.paused(); at.Breakpoints[0] != b.ID {
		t.Errorf("%+v", at)
	}
	if _, err := chromedp.Call(p.Ctx, cdpdebugger.Resume, cdpdebugger.ResumeParams{}); err != nil {
		t.Fatal(err)
	}
	p.title("6")
	if text := a.refused("debugger_step", map[string]any{"kind": "over"}); !strings.Contains(text, "another debugger, such as DevTools, resumed it") {
		t.Error(text)
	}
	// The other one pauses, and the agent sees that it is none of its doing, and may resume.
	p.js(`let beats = 0; setInterval(() => { document.title = 'beat ' + ++beats; }, 20)`)
	if _, err := chromedp.Call(p.Ctx, cdpdebugger.Pause, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	at := a.paused()
	if at.Reason != "other" || len(at.Breakpoints) != 0 {
		t.Errorf("%+v", at)
	}
	a.cannot("browser_snapshot", nil, usererr.PagePaused, "by the page itself or DevTools")
	var list debugger.BreakpointList
	a.call("breakpoint_remove", map[string]any{"id": b.ID}, &list)
	beat := p.text("document.title")
	a.debugger("debugger_resume", nil)
	if err := testbed.Eventually(t.Context(), func() (bool, error) { return p.text("document.title") != beat, nil }); err != nil {
		t.Error(err)
	}
}

func TestATabThatIsClosedWhilePausedEndsItsDebugging(t *testing.T) {
	w := shared.get(t)
	s := newSite(t, map[string]string{"/{$}": debugPage, "/app.js": debugApp})
	a := w.debugs(t, s)
	p := w.open(t, s.URL)
	a.breakpoint(map[string]any{"url": "app.js", "line": 6})
	p.start(`document.getElementById('go').click()`)
	a.paused()
	p.Close()
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		_, err := a.Text("debugger_step", map[string]any{"kind": "over"})
		return codeOf(err) == usererr.NotWatched, nil
	}); err != nil {
		t.Error(err)
	}
	p = w.open(t, s.URL)
	if st := a.debugger("debugger_state", nil); st.State != "running" || len(st.Notes) != 0 {
		t.Errorf("%+v", st)
	}
	p.start(`document.getElementById('go').click()`)
	p.title("6")
}

// TestStacksOfMinifiedCodeNameTheFunctionsOfTheProject: a function that is not inlined keeps a name of one letter.
func TestStacksOfMinifiedCodeNameTheFunctionsOfTheProject(t *testing.T) {
	w := shared.get(t)
	for _, tool := range []string{"vite", "webpack", "esbuild"} {
		t.Run(tool, func(t *testing.T) {
			dir := project(t)
			source := "function priceOf(thing: { price: number }): number {\n  if (thing.price < 0) throw new Error('negative');\n  return thing.price; // line 3\n}\n" +
				"const sumOf = (things: { price: number }[]): number => {\n  let sum = 0;\n  for (const thing of things) sum += priceOf(thing) + priceOf(thing);\n  return sum;\n};\n" +
				"Object.assign(window, { go: () => sumOf([{ price: 1 }]) + sumOf([{ price: 2 }]) + priceOf({ price: 3 }) });\n"
			if err := os.WriteFile(filepath.Join(dir, "src/index.tsx"), []byte(source), 0o600); err != nil {
				t.Fatal(err)
			}
			bundle(t, tool, "url", dir)
			s := serveBundle(t, dir, nil)
			a := w.agent(t, "--origin", s.URL, "--tools", "observe,debug")
			p := w.open(t, s.URL)
			if b := a.breakpoint(map[string]any{"url": "src/index.tsx", "line": 3}); b.State != "set" {
				t.Fatalf("%+v", b)
			}
			p.start("go()")
			at := a.paused()
			if len(at.Stack) < 3 || at.Stack[0].Function != "priceOf" || !strings.HasPrefix(at.Stack[0].Source, "src/index.tsx:3:") ||
				at.Stack[1].Function != "sumOf" || !strings.HasPrefix(at.Stack[1].Source, "src/index.tsx:7:") {
				t.Errorf("%+v", at.Stack)
			}
			var list debugger.BreakpointList
			a.call("breakpoint_remove", map[string]any{"id": at.Breakpoints[0]}, &list)
			a.debugger("debugger_resume", nil)
		})
	}
}

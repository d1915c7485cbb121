package reports

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/store"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// recorded returns the entries of a section that a world has on disk for a site, once holds accepts them.
func recorded[E event.Event](t *testing.T, w *e2etest.World, s *e2etest.Site, section capture.Section, holds func([]E) bool) []E {
	t.Helper()
	var list []E
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		data, err := os.ReadFile(filepath.Join(w.Home, "journal.db"))
		if err != nil {
			return false, err
		}
		file := filepath.Join(t.TempDir(), "journal.db")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return false, err
		}
		disk, _, err := store.Open(file, store.DefaultLimits(), time.Now())
		if err != nil {
			return false, nil // copied while it was written
		}
		defer func() { _ = disk.Close() }()
		past, err := disk.Past(capture.NewIndex())
		if err != nil {
			return false, err
		}
		defer past.Close()
		list = nil
		for _, e := range past.Entries(section, 0, 1<<62) {
			if one, ok := e.(E); ok && e.Header().Origin() == s.URL {
				list = append(list, one)
			}
		}
		return holds(list), nil
	}); err != nil {
		t.Fatalf("%v: %s", err, shown(list))
	}
	return list
}

func shown[E event.Event](list []E) string {
	var all strings.Builder
	for _, e := range list {
		fmt.Fprintf(&all, "%+v\n", e)
	}
	return all.String()
}

// causes is a page whose own code asks through a library, a helper and a timer, and lets the document ask too.
const causes = `<!doctype html><title>causes</title><link rel=icon href=data:,>
<img src="/missing.png">
<script src="/node_modules/asks/index.js"></script>
<script src="/app.js"></script>`

const asks = `const asks = { get: (url) => Promise.resolve(url).then(function dispatch(url) { return fetch(url) }),
  xhr(url) { const x = new XMLHttpRequest(); x.open('GET', url); x.send() } }
`

const causesApp = `async function load() {
  await asks.get('/api/through-library')
}
function later() {
  asks.xhr('/api/xhr')
}
async function refused() {
  try { await fetch('http://127.0.0.1:1/refused') } catch {}
}
async function crossing() {
  try { await fetch(other + '/api/crossing') } catch {}
}
function refusedXHR() {
  asks.xhr('http://127.0.0.1:1/refused-xhr')
}
async function fine() {
  await (await fetch('/api/fine')).json()
}
function live() {
  new WebSocket(location.origin.replace('http', 'ws') + '/live')
}
`

// TestRequestsAndConnectionsNameTheCodeThatMadeThem reads what arrived on disk, for either way of capture.
func TestRequestsAndConnectionsNameTheCodeThatMadeThem(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": causes, "/app.js": causesApp, "/node_modules/asks/index.js": asks, "/api/fine": `{"a":1}`})
	other := e2etest.NewSite(t, map[string]string{"/api/crossing": "no"})
	for _, path := range []string{"/api/through-library", "/api/xhr"} {
		s.Answer(path, http.StatusInternalServerError)
	}
	p := w.Open(t, s.URL)
	p.Reload() // of a first load the debugger may miss the beginning
	p.JS(fmt.Sprintf(`window.other = %q; await load(); setTimeout(later, 5); await refused(); await crossing(); refusedXHR(); await fine(); live()`, other.URL))
	// The innermost frame of the page's own code, and what it is called from; none of a library.
	want := map[string]string{
		"/api/through-library": "load (" + s.URL + "/app.js:2:",
		"/api/xhr":             "later (" + s.URL + "/app.js:5:",
		"/refused":             "refused (" + s.URL + "/app.js:8:",
		"/api/crossing":        "crossing (" + s.URL + "/app.js:11:",
		"/refused-xhr":         "refusedXHR (" + s.URL + "/app.js:14:",
		"/api/fine":            "fine (" + s.URL + "/app.js:17:",
	}
	if w.Way != "quiet" {
		want["/missing.png"] = "(document) (" + s.URL + "/:2:"
	}
	of := func(list []*event.Network, path string) (last *event.Network) {
		for _, n := range list {
			if strings.HasSuffix(n.URL, path) && (path != "/missing.png" || !n.Backfilled) {
				last = n
			}
		}
		return last
	}
	list := recorded(t, w, s, capture.NetworkSection, func(list []*event.Network) bool {
		for path := range want {
			if of(list, path) == nil {
				return false
			}
		}
		documents := 0
		for _, n := range list {
			if n.Resource == "document" {
				documents++
			}
		}
		return documents > 1
	})
	for path, line := range want {
		n := of(list, path)
		if len(n.Stack) == 0 || !strings.Contains(n.Stack[0], line) {
			t.Errorf("%s comes from %q, want %q", path, n.Stack, line)
		}
		if strings.Contains(strings.Join(n.Stack, "\n"), "node_modules") {
			t.Errorf("%s: a library among %q", path, n.Stack)
		}
	}
	for _, path := range []string{"/app.js", "/node_modules/asks/index.js"} {
		if n := of(list, path); n != nil && n.Stack != nil {
			t.Errorf("%s: a file that loaded has the stack %q", path, n.Stack)
		}
	}
	sockets := recorded(t, w, s, capture.WebSocketSection, func(list []*event.WebSocket) bool { return len(list) > 0 })
	if e := sockets[0]; e.Op != "error" || len(e.Stack) == 0 || !strings.HasPrefix(e.Stack[0], "live ("+s.URL+"/app.js:20:") {
		t.Error(shown(sockets))
	}
}

// TestLoggedErrorsAreAtTheirOwnStack logs errors as page code and frameworks do: among texts, and from elsewhere.
func TestLoggedErrorsAreAtTheirOwnStack(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{
		"/{$}": `<!doctype html><title>logs</title><link rel=icon href=data:,><script src="/app.js"></script><script src="/report.js"></script>`,
		"/app.js": `function broken() { return new TypeError('the cart is gone') }
function plain() { console.error('plain') }
class Trap extends Error { get stack() { window.ran = true; return super.stack } }
function trapped() { const e = new Error('trapped'); Object.defineProperty(e, 'stack', { get() { window.ran = true; return 'at x (http://x/y.js:1:1)' } }); return e }
`, "/report.js": `function report(e) {
  console.error('ERROR', e)
}
function warn(e) { console.warn('%o\n\n%s', e, 'The above error occurred in <Cart>') }
`,
	})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	p.JS(`report(broken()); warn(broken()); plain(); report(trapped())`)
	if w.Way == "quiet" {
		p.JS(`if (window.ran) throw new Error('a getter of the page was run')`)
	}
	a.ChangesWith(map[string]any{"wait": "settled"})
	list := recorded(t, w, s, capture.ConsoleSection, func(list []*event.Console) bool { return len(list) == 4 })
	for i, want := range []struct {
		file   string
		line   int
		logged string
	}{
		{"/app.js", 1, "report (" + s.URL + "/report.js:2:"},
		{"/app.js", 1, "warn (" + s.URL + "/report.js:4:"},
		{"/app.js", 2, ""},
		{"/report.js", 2, ""},
	} {
		e := list[i]
		if i == 3 && w.Way != "quiet" {
			continue // the debugger has the stack from before it was covered
		}
		if e.URL != s.URL+want.file || e.Line != want.line || !strings.HasPrefix(e.Logged, want.logged) || (want.logged == "") != (e.Logged == "") {
			t.Errorf("%d: %s", i, shown(list[i:i+1]))
		}
	}
}

// TestAnErrorOfThePageThatIsLeftIsMarked throws while the page is left, for a page of another origin.
func TestAnErrorOfThePageThatIsLeftIsMarked(t *testing.T) {
	w := e2etest.SharedWorld(t)
	next := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage + `<script>console.error('of the next page')</script>`})
	s := e2etest.NewSite(t, nil)
	s.Mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, e2etest.BlankPage+`<script>addEventListener('pagehide', () => { throw new Error('on the way out') })</script>`)
	})
	p := w.Open(t, s.URL)
	p.Start(fmt.Sprintf(`location.href = %q`, next.URL+"/"))
	after := recorded(t, w, next, capture.ConsoleSection, func(list []*event.Console) bool { return len(list) > 0 })
	before := recorded(t, w, s, capture.ConsoleSection, func(list []*event.Console) bool { return len(list) > 0 })
	// Quiet capture may have it before the navigation, the debugger never.
	if len(before) != 1 || !strings.Contains(before[0].Text, "on the way out") || w.Way != "quiet" && !before[0].Left {
		t.Errorf("of the page that was left: %s", shown(before))
	}
	if len(after) != 1 || after[0].Left {
		t.Errorf("of the next page: %s", shown(after))
	}
}

// TestWhatAPageLogsOnItsWayOutIsReportedOnce removes a frame, of whose last words the debugger hears too, and leaves a page.
func TestWhatAPageLogsOnItsWayOutIsReportedOnce(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{
		"/{$}":   e2etest.BlankPage + `<iframe src="/frame"></iframe><script>addEventListener('pagehide', () => console.error('page left', [location.search]))</script>`,
		"/frame": e2etest.BlankPage + `<script>addEventListener('pagehide', () => console.warn('frame left', {at: 1}))</script>`,
		"/next":  e2etest.BlankPage,
	})
	p := w.Open(t, s.URL+"/?1")
	arrived := func(path string) {
		t.Helper()
		if err := testbed.Eventually(t.Context(), func() (bool, error) {
			at, err := chromedp.Run(p.Ctx, chromedp.Evaluate[string](`document.readyState + location.pathname`))
			return err == nil && at == "complete"+path, nil // the question may be lost with the page
		}); err != nil {
			t.Fatal(err)
		}
	}
	arrived("/")
	p.Start(`document.querySelector('iframe').remove()`)
	p.Start(`location.href = '/next'`)
	arrived("/next")
	p.Start(`console.error('arrived')`)
	w.AgentOf(t, s).ChangesWith(map[string]any{"wait": "settled"})
	list := recorded(t, w, s, capture.ConsoleSection, func(list []*event.Console) bool {
		return slices.ContainsFunc(list, func(e *event.Console) bool { return e.Text == "arrived" }) && len(list) >= 3
	})
	var texts []string
	for _, e := range list {
		texts = append(texts, e.Text)
	}
	slices.Sort(texts)
	if got, want := strings.Join(texts, "; "), "arrived; frame left {at: 1}; page left ['?1']"; got != want {
		t.Errorf("%s: %s", got, shown(list))
	}
}

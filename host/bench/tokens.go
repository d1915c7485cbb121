package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/tiktoken-go/tokenizer"
	"github.com/tiktoken-go/tokenizer/codec"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// edits is how many edits a session has; every sixth breaks the page, and the next one mends it.
const edits = 50

// tokens plays a session of edits on an application that talks as applications in development do, and
// counts what an agent receives after each edit: from one get_changes_since, and from the raw reads in
// full, as the specification's baseline has it.
func (r *run) tokens() (err error) {
	w, err := testbed.Start(r.binary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	app := newApp()
	server := httptest.NewServer(app)
	defer server.Close()
	agent, err := w.Agent("--origin", server.URL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agent.Close()) }()
	tab, err := w.Open(server.URL)
	if err != nil {
		return err
	}
	defer tab.Close()
	count := newCounter()
	settled := map[string]any{"wait": "settled", "timeout_ms": 5000}
	first, err := agent.Text("get_changes_since", settled)
	if err != nil {
		return err
	}
	n := edits
	if r.quick {
		n = edits / 3
	}
	var diffTokens, diffBytes, rawTokens, newTokens, boundedTokens []int
	positions, bounds := map[string]uint64{}, map[string]uint64{} // where a reader that reads on would be
	sameBuffer := map[string]string{
		"get_browser_logs": "get_browser_logs", "get_network_requests": "get_network_bodies", "get_websocket_events": "get_websocket_events",
		"get_enhanced_actions": "get_enhanced_actions",
	}
	cleanTokens, clean, told, broken := 0, 0, 0, 0
	for i := range n {
		progress("tokens: edit %d of %d …", i+1, n)
		breaks := i%6 == 5
		app.edit(breaks)
		answer, err := agent.Text("get_changes_since", map[string]any{"wait": "reload", "timeout_ms": 10000})
		if err != nil {
			return err
		}
		var r report.Report
		if err := json.Unmarshal([]byte(answer), &r); err != nil {
			return err
		}
		diffTokens, diffBytes = append(diffTokens, count.tokens(answer)), append(diffBytes, len(answer))
		if r.Severity == report.Clean {
			clean++
			cleanTokens = count.tokens(answer)
		}
		if breaks {
			broken++
			if r.Severity == report.Error {
				told++
			}
		}
		raw, fresh := 0, 0
		for _, tool := range []string{"get_browser_logs", "get_network_bodies", "get_websocket_events", "get_enhanced_actions"} {
			text, err := agent.Text(tool, testbed.Raw(map[string]any{"limit": 1000}))
			if err != nil {
				return err
			}
			raw += count.tokens(text)
			// The best that raw reads can do: only what is new since the last one.
			text, err = agent.Text(tool, testbed.Raw(map[string]any{"limit": 1000, "after": positions[tool]}))
			if err != nil {
				return err
			}
			fresh += count.tokens(text)
			var page struct{ Entries []struct{ Position uint64 } }
			if err := json.Unmarshal([]byte(text), &page); err != nil {
				return err
			}
			if last := len(page.Entries) - 1; last >= 0 {
				positions[tool] = page.Entries[last].Position
			}
		}
		rawTokens, newTokens = append(rawTokens, raw), append(newTokens, fresh)
		bounded := 0 // as an agent reads on, in lines within the default limits
		for _, tool := range []string{"get_browser_logs", "get_network_requests", "get_websocket_events", "get_enhanced_actions"} {
			text, err := agent.Text(tool, map[string]any{"after": bounds[tool]})
			if err != nil {
				return err
			}
			bounded += count.tokens(text)
			bounds[tool] = positions[sameBuffer[tool]]
		}
		boundedTokens = append(boundedTokens, bounded)
	}
	progress("")
	quietAnswer, err := quiet(w, count)
	if err != nil {
		return err
	}
	diffs, raws := sum(diffTokens)+count.tokens(first), sum(rawTokens)
	s := r.sheet(fmt.Sprintf("Tokens (o200k): a session of %d edits, %d of which break the page", n, broken))
	s.figure("one get_changes_since an edit, together", fmt.Sprint(diffs))
	s.figure("raw reads in full after each edit, together", fmt.Sprint(raws))
	saved := 100 * (1 - float64(diffs)/float64(raws))
	s.row("fewer tokens", fmt.Sprintf("%.2f %%", saved), "at least 97 %", saved >= 97)
	s.figure("raw reads of only what is new, together", fmt.Sprintf("%d (a diff is %.1f %% fewer)", sum(newTokens), 100*(1-float64(diffs)/float64(sum(newTokens)))))
	s.figure("raw reads of only what is new, in lines within 2,000 tokens each, together", fmt.Sprintf("%d (a diff is %.1f %% fewer)", sum(boundedTokens), 100*(1-float64(diffs)/float64(sum(boundedTokens)))))
	s.row("broken edits told", fmt.Sprintf("%d of %d", told, broken), "all", told == broken)
	s.row("an answer, median (largest)", fmt.Sprintf("%d tokens, %d bytes (%d, %d)", quantile(diffTokens, .5), quantile(diffBytes, .5), quantile(diffTokens, 1), quantile(diffBytes, 1)), "under 2 KB typically", quantile(diffBytes, .5) < 2048)
	s.figure("a clean answer with reload and socket in it", fmt.Sprintf("%d tokens (of %d clean ones)", cleanTokens, clean))
	s.row("a clean answer when nothing happened", fmt.Sprintf("%d tokens", quietAnswer), "under 100", quietAnswer < 100)
	return s.print()
}

func sum(list []int) int {
	n := 0
	for _, v := range list {
		n += v
	}
	return n
}

type counter struct{ codec tokenizer.Codec }

func newCounter() counter { return counter{codec.NewO200kBase()} }

func (c counter) tokens(s string) int {
	n, err := c.codec.Count(s)
	if err != nil {
		panic(err) // the vocabulary is built in
	}
	return n
}

// definitionTokens counts the JSON of name, description and input schema of every tool, which is what a model is given.
func definitionTokens(a *testbed.Agent, count counter) (int, error) {
	tools, err := a.ListTools(context.Background(), nil)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, t := range tools.Tools {
		definition, err := json.Marshal(map[string]any{"name": t.Name, "description": t.Description, "inputSchema": t.InputSchema})
		if err != nil {
			return 0, err
		}
		n += count.tokens(string(definition))
	}
	return n, nil
}

// quiet counts the answer on a page on which nothing happens.
func quiet(w *testbed.World, count counter) (int, error) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<!doctype html><link rel=icon href=data:,>")
	}))
	defer server.Close()
	agent, err := w.Agent("--origin", server.URL)
	if err != nil {
		return 0, err
	}
	defer func() { _ = agent.Close() }()
	tab, err := w.Open(server.URL)
	if err != nil {
		return 0, err
	}
	defer tab.Close()
	if _, err := agent.Text("get_changes_since", map[string]any{"wait": "settled"}); err != nil {
		return 0, err
	}
	answer, err := agent.Text("get_changes_since", nil)
	return count.tokens(answer), err
}

// app is an application in development: a development server that reloads the page after each edit,
// components that log, an API, and a socket.
type app struct {
	*http.ServeMux
	broken atomic.Bool
	edited chan struct{}
}

func newApp() *app {
	a := &app{ServeMux: http.NewServeMux(), edited: make(chan struct{}, 1)}
	a.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<!doctype html><title>app</title><link rel=icon href=data:,><link rel=stylesheet href=/app.css><div id=root></div><script type=module src=/app.js></script>`)
	})
	a.HandleFunc("/app.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css")
		_, _ = io.WriteString(w, "body{margin:1em}")
	})
	a.HandleFunc("/app.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		w.Header().Set("Cache-Control", "no-store")
		script := appScript
		if a.broken.Load() {
			script += "\nsetTimeout(() => { render(undefined.items) })"
		}
		_, _ = io.WriteString(w, script)
	})
	a.HandleFunc("/api/{name}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if a.broken.Load() && r.PathValue("name") == "cart" {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = io.WriteString(w, `{"name":"`+r.PathValue("name")+`","items":[`+strings.TrimSuffix(strings.Repeat(`{"id":17,"title":"Harbour kettle","price":68,"tags":["enamel","steel"]},`, 12), ",")+`]}`)
	})
	a.HandleFunc("/updates", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		select {
		case <-a.edited:
			_, _ = io.WriteString(w, "data: reload\n\n")
		case <-r.Context().Done():
		}
	})
	a.HandleFunc("/live", func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = c.CloseNow() }()
		for i := range 40 {
			if c.Write(r.Context(), websocket.MessageText, fmt.Appendf(nil, `{"type":"price","id":%d,"price":%d.5,"at":"%s"}`, i, i*3, time.Now().Format(time.RFC3339))) != nil {
				return
			}
		}
		_, _, _ = c.Read(r.Context())
	})
	return a
}

// edit saves a file: the page is told to reload.
func (a *app) edit(breaks bool) {
	a.broken.Store(breaks)
	a.edited <- struct{}{}
}

const appScript = `
console.debug('[vite] connecting...'); console.debug('[vite] connected.');
console.info('Download the React DevTools for a better development experience: https://react.dev/link/react-devtools');
function render(items) { for (const item of items ?? []) console.log('[render] row', item.id, item.title, {price: item.price, tags: item.tags}); }
for (const name of ['session', 'products', 'cart', 'recommendations', 'flags']) {
  fetch('/api/' + name + '?v=' + Date.now()).then((r) => r.json()).then((data) => { console.log('[api] ' + name, data); render(data.items); });
}
const socket = new WebSocket(location.origin.replace('http', 'ws') + '/live');
socket.onmessage = (event) => console.debug('[live]', event.data);
new EventSource('/updates').onmessage = () => location.reload();
for (let i = 0; i < 20; i++) console.log('[store] action', {type: 'items/loaded', payload: {page: i, size: 20}}, 'took', (i * 1.7).toFixed(2) + 'ms');
`

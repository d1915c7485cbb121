package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/coder/websocket"

	"tidemark.dev/tidemark/host/internal/engine"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// TestNoPlantedSecretIsTold plants every secret, and what only looks like one, where it would be in a
// real application in real Chromium. No secret may be in an answer, a command's output, the log, the
// journal or an export; what is innocent stays readable.
func TestNoPlantedSecretIsTold(t *testing.T) {
	w := e2etest.OwnWorld(t)
	secrets, innocent, err := testbed.PlantedTexts()
	if err != nil {
		t.Fatal(err)
	}
	rows := slices.Concat(secrets, innocent)
	s := newPlantation(t, rows)
	a := w.NewAgent(t)
	a.Changes()

	p := w.Open(t, s.URL)
	a.Call("checkpoint_create", map[string]any{"name": "before", "note": "before secrets"}, &struct{}{})
	for _, row := range rows {
		plantInPage(p, row)
	}
	a.Changes() // settled: the page's own are here
	told := map[string]string{"after planting": everythingTold(t, w, a)}
	for _, row := range rows { // the page's address last: it takes all pages with it
		if row.Channel == "url" {
			p.JS(fmt.Sprintf(`history.pushState({}, '', %s)`, quoted(row.Text)))
			p.Do(chromedp.Navigate(s.URL + row.Text))
			p.JS(`console.error('thrown at ' + location.href)`)
			told["at "+row.ID] = everythingTold(t, w, a)
		}
	}
	a.Call("checkpoint_create", map[string]any{"name": "planted", "note": "after secrets"}, &struct{}{})
	told["at the end"] = everythingTold(t, w, a)
	for _, name := range []string{"before", "planted"} {
		told["export of "+name] = mustRun(t, w, "export", name)
	}
	_ = a.Close()
	mustRun(t, w, "stop")
	for file, content := range e2etest.Written(t, w.World) {
		told["file "+file] = content
	}

	for where, text := range told {
		for _, row := range secrets {
			for _, form := range []string{row.Secret, strings.Trim(quoted(row.Secret), `"`), url.QueryEscape(row.Secret), url.PathEscape(row.Secret)} {
				if at := strings.Index(text, form); at >= 0 {
					t.Errorf("%s %s is told %s: …%s…", row.Channel, row.ID, where, text[max(0, at-150):min(len(text), at+len(form)+20)])
					break
				}
			}
		}
	}
	all := told["after planting"] + told["at the end"]
	for where, text := range told {
		if strings.HasPrefix(where, "at ") {
			all += text
		}
	}
	read := strings.Join(texts(all), "\n")
	hidden := map[string]bool{}
	if w.Way == "quiet" { // what Chromium keeps from webRequest, or tells in other words
		hidden = map[string]bool{"language": true, "multipart_nickname": true}
	}
	for _, row := range innocent {
		if hidden[row.ID] {
			continue
		}
		if want := readable(row); !strings.Contains(read, want) {
			t.Errorf("%s %s is not readable: %q", row.Channel, row.ID, want)
		}
	}
	if n := strings.Count(read, "[masked]"); n < len(secrets) { // what carried a secret is told, without it
		t.Errorf("%d masks for %d secrets", n, len(secrets))
	}
	journal := told["file "+filepath.Join(w.Home, "journal.db")]
	for _, row := range innocent { // so what is in the journal can be seen here
		if row.Channel == "console_text" && !strings.Contains(journal, row.Text) {
			t.Errorf("%s is not seen in the journal", row.ID)
		}
	}
}

// newPlantation is a site that answers with what it is asked with.
func newPlantation(t *testing.T, rows []testbed.Planted) *e2etest.Site {
	s := e2etest.NewSite(t, map[string]string{"/": `<!doctype html><title>plantation</title><link rel=icon href=data:,><main></main>`})
	s.Mux.HandleFunc("/echo/", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		_, _ = w.Write(body)
	})
	for _, row := range rows {
		if row.Channel == "response_header" {
			name, value, _ := strings.Cut(row.Text, ": ")
			s.Mux.HandleFunc("/answers/"+row.ID, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(name, value) })
		}
	}
	s.Mux.HandleFunc("/socket", func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		for {
			kind, data, err := c.Read(r.Context())
			if err != nil || c.Write(r.Context(), kind, data) != nil {
				return
			}
		}
	})
	return s
}

// plantInPage has the page do what brings a text into its channel.
func plantInPage(p *e2etest.Tab, row testbed.Planted) {
	p.T.Helper()
	text := quoted(row.Text)
	name, value, _ := strings.Cut(row.Text, ": ")
	switch row.Channel {
	case "request_header":
		if name == "Cookie" { // which no page may set itself
			p.JS(fmt.Sprintf(`document.cookie = %s; await fetch('/echo/cookie')`, quoted(value)))
			return
		}
		p.JS(fmt.Sprintf(`await fetch('/echo/' + %s, { headers: { %s: %s } })`, quoted(row.ID), quoted(name), quoted(value)))
	case "response_header":
		p.JS(fmt.Sprintf(`await fetch('/answers/' + %s)`, quoted(row.ID)))
	case "json_body":
		p.JS(fmt.Sprintf(`await (await fetch('/echo/' + %s, { method: 'POST', body: %s, headers: { 'content-type': 'application/json' } })).text()`, quoted(row.ID), text))
	case "form_body":
		kind := "application/x-www-form-urlencoded"
		if strings.HasPrefix(row.Text, "--") {
			boundary, _, _ := strings.Cut(row.Text[2:], "\r\n")
			kind = "multipart/form-data; boundary=" + boundary
		}
		p.JS(fmt.Sprintf(`await (await fetch('/echo/' + %s, { method: 'POST', body: %s, headers: { 'content-type': %s } })).text()`, quoted(row.ID), text, quoted(kind)))
	case "query":
		p.JS(fmt.Sprintf(`await fetch(%s)`, text))
	case "websocket_frame":
		p.JS(fmt.Sprintf(`const s = new WebSocket(location.origin.replace('http', 'ws') + '/socket')
			await new Promise((done) => { s.onopen = () => s.send(%s); s.onmessage = done })
			s.close()`, text))
	case "console_text":
		p.JS(fmt.Sprintf(`console.error(%s)
			setTimeout(() => { throw new Error(%s) })
			Promise.reject(new Error(%s))`, text, text, text))
	case "console_object":
		p.JS(fmt.Sprintf(`console.log(%s)`, row.Text))
	case "input_value":
		p.JS(fmt.Sprintf(`const i = document.createElement('input'); i.id = %s; i.setAttribute('aria-label', 'Notes'); document.querySelector('main').append(i)`, quoted(row.ID)))
		p.Do(chromedp.SendKeys("#"+row.ID, row.Text+"\t"))
	case "error_element":
		p.JS(fmt.Sprintf(`const d = document.createElement('div'); d.setAttribute('role', 'alert'); d.textContent = %s; document.querySelector('main').append(d)`, text))
	case "url": // planted last
	default:
		p.T.Fatalf("%s: the channel %q is not known", row.ID, row.Channel)
	}
}

// readable is what an agent must be able to read of an innocent text.
func readable(row testbed.Planted) string {
	switch row.Channel {
	case "request_header", "response_header":
		_, value, _ := strings.Cut(row.Text, ": ")
		return value
	case "console_object":
		var fields map[string]any
		_ = json.Unmarshal([]byte(row.Text), &fields)
		for _, v := range fields { // as it stands in what Chromium shows of an object
			if text, ok := v.(string); ok && text != "" && text != row.Secret {
				return text
			}
		}
		return ""
	}
	return event.Clean(row.Text)
}

// everythingTold is what every reading tool and command says.
func everythingTold(t *testing.T, w *e2etest.World, a *e2etest.Agent) string {
	t.Helper()
	var all strings.Builder
	tools, err := a.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	args := map[string]map[string]any{
		"get_changes_since":    {"checkpoint": "before", "severity": "all"},
		"get_browser_logs":     testbed.Raw(map[string]any{"limit": 1000}),
		"get_network_requests": {"limit": 1000, "max_tokens": 1 << 30},
		"get_network_bodies":   testbed.Raw(map[string]any{"limit": 1000}),
		"get_websocket_events": testbed.Raw(map[string]any{"limit": 1000}),
		"get_enhanced_actions": testbed.Raw(map[string]any{"limit": 1000}),
		"checkpoint_list":      {},
		"configure_noise":      {"action": "explain", "text": "e"},
		"browser_snapshot":     {"interactive_only": false, "full_snapshot": true},
		"browser_tabs":         {},
		"checkpoint_create":    nil, "checkpoint_delete": nil, // they read nothing
	}
	for _, listed := range tools.Tools {
		arguments, known := args[listed.Name]
		if found := engine.FindTool(listed.Name); !known && found != nil && found.Set == tool.Act {
			continue // what these tell, they tell of what they caused: TestAFormIsFilledInOneCall
		}
		if !known {
			t.Fatalf("%s is a tool of which this test knows nothing", listed.Name)
		}
		if arguments == nil {
			continue
		}
		text, err := a.Text(listed.Name, arguments)
		if err != nil {
			t.Fatalf("%s: %v", listed.Name, err)
		}
		fmt.Fprintln(&all, text)
	}
	for _, command := range [][]string{
		{"changes", "--since", "before"},
		{"logs", "--limit", "1000"},
		{"network", "--limit", "1000"},
		{"network", "--bodies", "--limit", "1000"},
		{"websocket", "--limit", "1000"},
		{"actions", "--limit", "1000"},
		{"checkpoint", "list"},
		{"status"},
	} {
		fmt.Fprintln(&all, mustRun(t, w, command...))
		fmt.Fprintln(&all, mustRun(t, w, append(command, "--json")...))
	}
	return all.String()
}

func mustRun(t *testing.T, w *e2etest.World, args ...string) string {
	t.Helper()
	r := w.Run(args...)
	if r.Code != 0 {
		t.Fatalf("%s: %d %s", args, r.Code, r.Err)
	}
	return r.Out + r.Err
}

// texts are the strings of all JSON in a text, line by line, and its other lines.
func texts(all string) (list []string) {
	var strs func(v any)
	strs = func(v any) {
		switch v := v.(type) {
		case string:
			list = append(list, v)
		case []any:
			for _, e := range v {
				strs(e)
			}
		case map[string]any:
			for _, e := range v {
				strs(e)
			}
		}
	}
	for line := range strings.Lines(all) {
		var v any
		if json.Unmarshal([]byte(line), &v) == nil {
			strs(v)
		}
	}
	return list
}

func quoted(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text)
	return strings.TrimSuffix(b.String(), "\n")
}

// TestAShownSecretStaysHidden: "show password" that makes the field anew, as text or as no field at all, and the same
// of a one-time code and a card. What was typed is told nowhere while it stands on the page.
func TestAShownSecretStaysHidden(t *testing.T) {
	w := e2etest.SharedWorld(t)
	for _, c := range []struct{ name, field, secret string }{
		{"password", `<input type="password" aria-label="Sign-in phrase">`, "Tr0ub4dor-and-3"},
		{"code", `<input autocomplete="one-time-code" aria-label="From your phone">`, "ZK4-9917-q"},
		{"card", `<input autocomplete="cc-number" aria-label="Card">`, "40000012x34567"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := e2etest.NewSite(t, map[string]string{"/{$}": `<!doctype html><title>sign in</title><form><label>Sign-in name <input id=name></label><span id=box>` + c.field + `</span>
<button type=button id=show>Show</button></form><div id=said role=alert></div><script>
const box = document.getElementById('box'), said = document.getElementById('said'), field = () => box.querySelector('input');
document.getElementById('show').onclick = () => {
  const value = field() ? field().value : box.textContent;
  if (said.dataset.step === '2') { box.replaceChildren(value); said.textContent = 'Really ' + value + '?'; return; }
  box.innerHTML = '<input aria-label="Shown">';
  field().value = value;
  said.dataset.step = '2';
  said.textContent = 'You typed ' + value + '.';
};
</script>`})
			a := w.AgentOf(t, s)
			p := w.Open(t, s.URL)
			a.Changes()
			var told []string
			hear := func(text string) { told = append(told, text) }
			first := a.Everything()
			hear(a.Do("browser_type", map[string]any{"ref": e2etest.RefOf(t, first, "textbox "+fieldName(c.field)), "text": c.secret}))
			for range 2 {
				hear(a.Do("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `button "Show"`)}))
				hear(a.Everything())
				hear(e2etest.Show(a.Changes()))
			}
			if got := p.Text(`document.getElementById('said').textContent`); !strings.Contains(got, c.secret) {
				t.Fatalf("the page does not show it: %q", got)
			}
			for _, text := range told {
				if strings.Contains(text, c.secret) {
					t.Errorf("it is told: %s", text)
				}
			}
			if all := strings.Join(told, "\n"); !strings.Contains(all, "Really [masked]?") {
				t.Errorf("what is said beside it is not told: %s", all)
			}
		})
	}
}

// TestAPasswordFieldOfOneTaskIsKnown: a script creates a password field, fills it and takes it away again before anybody has
// looked, and shows its value at once or later.
func TestAPasswordFieldOfOneTaskIsKnown(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": `<!doctype html><title>sign in</title><button>replaced</button><button>overwritten</button><button>removed</button><div id="box"></div><script>
const box = document.getElementById('box');
let n = 0;
const value = () => 'Horse-Battery' + n + '-Staple';
const field = () => {
  n++;
  box.innerHTML = '<p><input type="password" aria-label="Phrase"></p>';
  const input = box.querySelector('input');
  input.value = value();
  return input;
};
const show = () => {
  box.innerHTML = '<input aria-label="Shown"><p role="alert">You typed ' + value() + '.</p>';
  box.firstChild.value = value();
};
const ways = {
  replaced() {
    const area = document.createElement('textarea');
    const input = field();
    area.value = input.value;
    input.replaceWith(area);
    box.insertAdjacentHTML('beforeend', '<p role="alert">You typed ' + value() + '.</p>');
  },
  overwritten() { field(); show(); },
  removed() { field().remove(); setTimeout(show, 600); },
};
for (const button of document.querySelectorAll('button')) button.onclick = ways[button.textContent];
</script>`})
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Changes()
	first := a.Look()
	for i, way := range []string{"replaced", "overwritten", "removed"} {
		told := a.Do("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `button "`+way+`"`)})
		p.WaitUntil(fmt.Sprintf(`document.body.textContent.includes('You typed Horse-Battery%d')`, i+1))
		told += a.Everything() + e2etest.Show(a.Changes())
		if strings.Contains(told, "Battery") {
			t.Errorf("%s: it is told: %s", way, told)
		}
		e2etest.Holds(t, told, "You typed [masked]")
	}
}

// fieldName is the name of a field as a snapshot has it.
func fieldName(html string) string {
	_, name, _ := strings.Cut(html, "aria-label=")
	return name[:strings.Index(name[1:], `"`)+2]
}

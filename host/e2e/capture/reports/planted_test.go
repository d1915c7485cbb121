package reports

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/planted"
)

// TestNoCoveredSecretLeavesThePage plants the covered secrets of planted.json in the console, requests with their headers, frames of
// a WebSocket, addresses, the title and names of elements. None may be in a message of the extension, an answer, a command's
// output, the log or a file.
func TestNoCoveredSecretLeavesThePage(t *testing.T) {
	w, sent := e2etest.TappedWorld(t)
	s := newPlantation(t, nil)
	a := w.NewAgent(t)
	a.Changes()
	p := w.Open(t, s.URL)
	a.Call("checkpoint_create", map[string]any{"name": "before"}, &struct{}{})
	a.Changes()

	texts := map[string][]string{}
	secrets := planted.Covered(t, "text", "json", "xml", "form", "url", "header")
	for _, row := range secrets {
		texts[row.As] = append(texts[row.As], row.Text)
	}
	if len(secrets) < 350 {
		t.Fatalf("only %d secrets are planted", len(secrets))
	}
	list := func(as string) string {
		data, err := json.Marshal(texts[as])
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	p.JS(fmt.Sprintf(`(() => {
		for (const text of %s) {
			console.error(text);
			const button = document.createElement('button');
			button.setAttribute('aria-label', text);
			button.dataset.testid = text;
			document.querySelector('main').append(button);
			document.title = text;
		}
	})()`, list("text")))
	for as, typed := range map[string]string{"json": "application/json", "xml": "application/xml", "form": ""} {
		p.JS(fmt.Sprintf(`(async () => {
			for (const body of %s) {
				const form = /form-data;/i.test(body) ? 'multipart/form-data; boundary=b' : /\n/.test(body) ? 'text/plain' : 'application/x-www-form-urlencoded';
				await fetch('/echo/planted', { method: 'POST', headers: { 'content-type': '%s' || form }, body });
			}
		})()`, list(as), typed))
	}
	p.JS(fmt.Sprintf(`(async () => {
		for (const address of %s) {
			const { pathname, search, hash } = new URL(address);
			history.pushState({}, '', pathname + search + hash);
			console.error('thrown at ' + location.href);
			await fetch('/echo' + pathname + search);
		}
	})()`, list("url")))

	p.JS(fmt.Sprintf(`(async () => {
		for (const line of %s) {
			const [name, value] = line.split(/: (.*)/);
			await fetch('/echo/header', { headers: { [name]: value } }); // the browser leaves out those that no page may set
		}
	})()`, list("header")))
	var frames []string
	for _, as := range []string{"text", "json", "xml", "form"} {
		frames = append(frames, list(as))
	}
	p.JS(fmt.Sprintf(`(async () => {
		const socket = new WebSocket(location.origin.replace('http', 'ws') + '/socket');
		await new Promise((done) => { socket.onopen = done; });
		for (const text of [%s].flat()) {
			await new Promise((done) => { socket.onmessage = done; socket.send(text); });
		}
		socket.close();
	})()`, strings.Join(frames, ",")))

	told := map[string]string{"an answer": everythingTold(t, w, a)}
	_ = a.Close()
	mustRun(t, w, "stop")
	for file, content := range e2etest.Written(t, w.World) {
		told["file "+file] = content
	}
	told["a message of the extension"] = sent()
	planted.NotIn(t, secrets, told)
	for _, where := range []string{"an answer", "a message of the extension"} {
		if !strings.Contains(told[where], "[masked]") {
			t.Errorf("nothing that was planted is in %s", where)
		}
	}
}

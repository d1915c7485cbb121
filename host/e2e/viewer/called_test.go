package viewer

import (
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestTheViewerShowsWhatCalledTheCodeOfAFailedRequest beside how it failed.
func TestTheViewerShowsWhatCalledTheCodeOfAFailedRequest(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{
		"/{$}":       e2etest.StorePage("Client", `<button id="save">Save</button><script type="module" src="/form.js"></script>`),
		"/client.js": "export async function ask(method, path) {\n  return (await fetch(path, { method })).status;\n}\n",
		"/form.js":   "import { ask } from './client.js';\nsave.onclick = async () => {\n  await ask('PUT', '/api/cart');\n};\n",
	})
	s.Answer("/api/cart", 500)
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Changes()
	p.Press("Save")
	a.Changes()
	v := w.OpenViewer(t, s)
	v.Shows("/api/cart", "called at form.js:3")
	v.Picture("called")
}

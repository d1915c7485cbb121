package effects

import (
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// clientSite is a page whose code sends its requests through a client in a file of its own.
func clientSite(t *testing.T) *e2etest.Site {
	s := e2etest.NewSite(t, map[string]string{
		"/{$}": e2etest.StorePage("Client", `<button id="save">Save</button><button id="load">Load</button><button id="loop">Loop</button><button id="flood">Flood</button><script type="module" src="/cart.js"></script>`),
		"/client.js": `export async function ask(method, path, body) {
  const answer = await fetch(path, { method, body });
  return answer.text();
}
`,
		"/cart.js": `import { ask } from './client.js';
save.onclick = async () => {
  await ask('PUT', '/api/cart', '{"qty":1}');
};
load.onclick = async () => {
  await ask('GET', '/api/cart');
};
flood.onclick = () => {
  for (let i = 0; i < 25; i++)
    ask('GET', '/api/items/' + i);
};
loop.onclick = async () => {
  for (;;)
    await ask('GET', '/api/cart');
};
`,
	})
	s.Answer("/api/cart", 200)
	s.Answer("/api/items/", 200)
	return s
}

// TestAWriteNamesItsCode and who called that; a read does not need it.
func TestAWriteNamesItsCode(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := clientSite(t)
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	a.Changes()
	for _, c := range [][2]string{{"Save", "PUT /api/cart 200 from client.js:2, called at cart.js:3"}, {"Load", "GET /api/cart 200"}} {
		d := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"`+c[0]+`"`)})
		if len(d.Requests) != 1 || d.Requests[0].Text != c[1] {
			t.Errorf("%s:\n%s", c[0], d)
		}
	}
}

// TestAFloodNamesItsCode in one line, in an action's answer and in a report.
func TestAFloodNamesItsCode(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := clientSite(t)
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	a.Changes()
	d := a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Flood"`)})
	e2etest.Holds(t, d.String(), "GET /api/items/{id} 200 from client.js:2, called at cart.js:10 ×25")
	r := a.ChangesWith(map[string]any{"checkpoint": "auto_0"})
	for _, e := range r.Network.NewEndpoints {
		if e.URL == "/api/items/{id}" && e.Initiator == "client.js:2" && e.CalledAt == "cart.js:10" {
			return
		}
	}
	t.Errorf("%s", e2etest.Show(r))
}

// TestAStormNamesTheCallOfItsClient in an action's answer and in a report.
func TestAStormNamesTheCallOfItsClient(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := clientSite(t)
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	first := a.Look()
	a.Changes()
	a.Act("browser_click", map[string]any{"ref": e2etest.RefOf(t, first, `"Loop"`)})
	for began := time.Now(); ; {
		d := a.Act("browser_hover", map[string]any{"ref": e2etest.RefOf(t, first, `"Save"`)})
		if said := d.String(); strings.Contains(said, "repeat") {
			e2etest.Holds(t, said, "GET /api/cart ×", " from client.js:2, called at cart.js:14")
			break
		}
		if time.Since(began) > 20*time.Second {
			t.Fatal(d)
		}
	}
	r := a.ChangesWith(map[string]any{"checkpoint": "auto_0"})
	if len(r.Storms) != 1 || r.Storms[0].Initiator != "client.js:2" || r.Storms[0].CalledAt != "cart.js:14" {
		t.Errorf("%s", e2etest.Show(r))
	}
}

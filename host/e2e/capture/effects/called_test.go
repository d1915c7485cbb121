package effects

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tiktoken-go/tokenizer/codec"

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
		"/list.js": `import { ask } from './client.js';
for (let i = 0; i < 25; i++)
  ask('GET', '/api/items/' + i);
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
	s.Mux.HandleFunc("/list", func(w http.ResponseWriter, _ *http.Request) {
		var rows strings.Builder
		for i := range 60 {
			fmt.Fprintf(&rows, "<li><button>Remove item number %d from the list</button></li>", i)
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, e2etest.StorePage("List", `<ul>`+rows.String()+`</ul><script type="module" src="/list.js"></script>`))
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
	e2etest.Holds(t, d.String(), "GET /api/items/{id} 200 from client.js:2, called at cart.js:10 ×2") // one that another one overtook has a line of its own
	r := a.ChangesWith(map[string]any{"checkpoint": "auto_0"})
	for _, e := range r.Network.NewEndpoints {
		if e.URL == "/api/items/{id}" && e.Initiator == "client.js:2" && e.CalledAt == "cart.js:10" {
			return
		}
	}
	t.Errorf("%s", e2etest.Show(r))
}

// TestThePageBesideAFloodIsShort, so that the answer has at most 400 tokens.
func TestThePageBesideAFloodIsShort(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := clientSite(t)
	a := w.AgentOf(t, s)
	w.Open(t, s.URL)
	a.Changes()
	d := a.Act("browser_navigate", map[string]any{"url": s.URL + "/list"})
	e2etest.Holds(t, d.String(), "GET /api/items/{id} 200 from client.js:2, called at list.js:3 ×2")
	if n, err := codec.NewO200kBase().Count(d.String()); err != nil || n > 400 {
		t.Errorf("%d tokens (%v)\n%s", n, err, d)
	}
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

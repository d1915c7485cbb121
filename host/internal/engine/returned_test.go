package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/sourcemap"
	"tidemark.dev/tidemark/host/testing/enginetest"
)

// edited is a page that an agent edits.
type edited struct {
	*enginetest.World
	asker *checkpoint.Client
}

func (w *edited) edit(path string, line int) {
	w.Pass(5 * time.Second)
	w.ChangeFile(shop, event.FileChange{Change: event.FileModified, Path: path, Tail: path, Edited: w.Now.UnixMilli(), By: "Edit " + path, Lines: []event.Run{{At: line, Old: 1, New: 1}}})
	w.Log("debug", "[vite] hot updated: /"+path)
}

func (w *edited) load(text string) {
	w.Pass(time.Second)
	w.Send("navigation", fmt.Sprintf(`"how":"reload","url":%q`, enginetest.Page+"/"))
	if w.Pass(100 * time.Millisecond); text != "" {
		thrownIn(w.World, text, "total", "/src/cart.js", 40)
	}
}

func (w *edited) click(text string) {
	w.load("")
	w.Pass(5 * time.Second)
	w.Send("action", `"action":"click","target":"button Buy","selector":"#buy"`)
	if w.Pass(50 * time.Millisecond); text != "" {
		thrownIn(w.World, text, "total", "/src/cart.js", 40)
	}
	w.Pass(2 * time.Second)
}

func (w *edited) asks(status int, detail string) {
	w.Pass(time.Second)
	w.Send("network", fmt.Sprintf(`"id":"r%d","method":"GET","url":%q,"resource":"fetch","status":%d,"mime":"text/plain","response_body":%q,"started":%d,"duration":1`,
		w.Now.UnixMilli(), enginetest.Page+"/api/total", status, detail, w.Now.UnixMilli()))
}

// TestAnErrorThatAnEditBroughtBackIsNews: and one that nothing shows to have been gone is repeated.
func TestAnErrorThatAnEditBroughtBackIsNews(t *testing.T) {
	const boom = "TypeError: total is not a function"
	for name, c := range map[string]struct {
		first, then func(*edited)
		// want is the file that is named, "" for an error that is repeated.
		want string
	}{
		"a load, repaired and broken again": {
			func(w *edited) { w.edit("src/cart.js", 40); w.load(boom) },
			func(w *edited) { w.edit("src/cart.js", 40); w.load(""); w.edit("src/cart.js", 40); w.load(boom) },
			"src/cart.js",
		},
		"a load, of which another file was repaired": {
			func(w *edited) { w.edit("src/cart.js", 40); w.load(boom) },
			func(w *edited) { w.edit("src/sum.js", 1); w.load(""); w.edit("src/cart.js", 40); w.load(boom) },
			"src/cart.js",
		},
		"a load, without an edit": {
			func(w *edited) { w.edit("src/cart.js", 40); w.load(boom) },
			func(w *edited) { w.load(boom) },
			"",
		},
		"a load, after an edit that repaired nothing": {
			func(w *edited) { w.edit("src/cart.js", 40); w.load(boom) },
			func(w *edited) { w.edit("src/cart.js", 40); w.load(boom) },
			"",
		},
		"a load that had failed only once": {
			func(w *edited) { w.edit("src/cart.js", 40); w.load(boom) },
			func(w *edited) { w.load(""); w.edit("src/sum.js", 1); w.load(boom) },
			"",
		},
		"a load that fails now and then, as other files are edited": {
			func(w *edited) { w.edit("src/cart.js", 40); w.load(boom) },
			func(w *edited) { w.edit("src/sum.js", 1); w.load(""); w.edit("src/logo.js", 1); w.load(boom) },
			"",
		},
		"a click, repaired and broken again": {
			func(w *edited) { w.edit("src/cart.js", 40); w.click(boom) },
			func(w *edited) { w.edit("src/cart.js", 40); w.click(""); w.edit("src/cart.js", 40); w.click(boom) },
			"src/cart.js",
		},
		"a click, after two edits that repaired nothing": {
			func(w *edited) { w.edit("src/cart.js", 40); w.click(boom) },
			func(w *edited) { w.edit("src/cart.js", 41); w.edit("src/cart.js", 40); w.click(boom) },
			"",
		},
		"a click that is made again": {
			func(w *edited) { w.edit("src/cart.js", 40); w.click(boom) },
			func(w *edited) { w.click(boom) },
			"",
		},
		"a click that was repaired, and fails long after the edit": {
			func(w *edited) { w.edit("src/cart.js", 40); w.click(boom) },
			func(w *edited) { w.edit("src/cart.js", 40); w.click(""); w.click(boom) },
			"",
		},
		"a request whose server was repaired and broken again": {
			func(w *edited) { w.asks(200, "1"); w.edit("server.js", 3); w.asks(500, boom) },
			func(w *edited) { w.edit("server.js", 3); w.asks(200, "1"); w.edit("server.js", 3); w.asks(500, boom) },
			"server.js",
		},
		"a request that fails now and then": {
			func(w *edited) { w.asks(200, "1"); w.edit("server.js", 3); w.asks(500, boom) },
			func(w *edited) { w.asks(200, "1"); w.edit("lib.js", 3); w.asks(500, boom) },
			"",
		},
		"a request that fails now and then, as other files are edited": {
			func(w *edited) { w.asks(200, "1"); w.edit("server.js", 3); w.asks(500, boom) },
			func(w *edited) { w.edit("util.js", 3); w.asks(200, "1"); w.edit("lib.js", 3); w.asks(500, boom) },
			"",
		},
		"a request that still fails": {
			func(w *edited) { w.asks(200, "1"); w.edit("server.js", 3); w.asks(500, boom) },
			func(w *edited) { w.edit("server.js", 3); w.asks(500, boom) },
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &edited{World: enginetest.NewWithMaps(t, func(context.Context, sourcemap.Script) (string, []byte, error) {
				return "", nil, sourcemap.ErrNoMap
			})}
			w.Open(7, enginetest.Page)
			w.asker = at(w.World, t, checkpoint.Scope{Workspace: shop})
			w.load("")
			w.Changes(w.asker, params{})
			c.first(w)
			if r := w.Changes(w.asker, params{}); r.Errors == 0 || len(r.Repeated) > 0 {
				t.Fatalf("%s", show(r))
			}
			c.then(w)
			r := w.Changes(w.asker, params{})
			named := ""
			of := func(by *report.Introduced) {
				if by != nil {
					named = by.Path
				}
			}
			for _, m := range r.Console.NewErrors {
				of(m.IntroducedBy)
			}
			for _, f := range r.Network.Failures {
				of(f.IntroducedBy)
			}
			if named != c.want || (len(r.Repeated) == 0) != (c.want != "") || r.Errors != 1 {
				t.Errorf("%q is named, want %q: %s", named, c.want, show(r))
			}
			if c.want == "" {
				return
			}
			w.load("")
			if r := w.Changes(w.asker, params{}); r.Errors > 0 {
				t.Errorf("%s", show(r))
			}
		})
	}
}

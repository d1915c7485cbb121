package viewer

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// project is a page in a directory of its own, whose files are watched in a session.
type project struct {
	*testing.T
	w   *e2etest.World
	dir string
}

// newProject begins a session in a project, allowed with some more flags, and opens its page.
func newProject(t *testing.T, w *e2etest.World, allow ...string) (*project, *e2etest.Tab) {
	t.Helper()
	p := &project{t, w, filepath.Join(t.TempDir(), "shop")}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	files := http.FileServer(http.Dir(p.dir))
	site := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Cache-Control", "no-store") // an edit may come in the second of Last-Modified
		files.ServeHTTP(rw, r)
	}))
	t.Cleanup(site.Close)
	p.write(".tidemark.toml", fmt.Sprintf("origins = [%q]\n", site.URL)) // nothing of another test counts
	p.write("index.html", `<!doctype html><title>Shop</title><link rel="icon" href="data:,"><script src="app.js"></script>`)
	p.write("app.js", "const shop = { items: [1, 2] };\ndocument.title = `${shop.items.length} items`;\n")
	p.run(append([]string{"project", "allow", p.dir}, allow...)...)
	p.run("session", "start")
	t.Cleanup(func() {
		p.run("session", "end")
		p.run("project", "forget", p.dir)
	})
	page := w.Open(t, site.URL)
	page.JS(`while (document.title !== '2 items') await new Promise((done) => setTimeout(done, 20))`)
	return p, page
}

func (p *project) write(name, text string) {
	p.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
}

// run runs a command in the project and returns its output.
func (p *project) run(args ...string) string {
	p.Helper()
	r := p.w.RunIn(p.dir, args...)
	if r.Code != 0 {
		p.Fatalf("%q exits with %d: %s", args, r.Code, r.Err)
	}
	return r.Out
}

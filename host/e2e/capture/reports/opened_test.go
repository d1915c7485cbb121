package reports

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"tidemark.dev/tidemark/host/testing/e2etest"
)

// TestExportsOpenedInABrowserRunNothing: what a hostile page put into them is text, and asks no server.
func TestExportsOpenedInABrowserRunNothing(t *testing.T) {
	w := e2etest.SharedWorld(t)
	s := e2etest.NewSite(t, map[string]string{"/{$}": e2etest.BlankPage})
	var leaks atomic.Int64
	s.Mux.HandleFunc("/leak", func(http.ResponseWriter, *http.Request) { leaks.Add(1) })
	hostile := `<script>document.title = "ran"; fetch("` + s.URL + `/leak")</script><img src="` + s.URL + `/leak" onerror="document.title = 'ran'">`
	a := w.AgentOf(t, s)
	p := w.Open(t, s.URL)
	a.Changes()
	a.Call("checkpoint_create", map[string]any{"name": "opened", "note": hostile}, &struct{}{})
	p.JS(`console.error(` + "`" + strings.ReplaceAll(hostile, "</script>", `<\/script>`) + "`" + `);
const d = document.createElement('div'); d.setAttribute('role', 'alert'); d.textContent = ` + "`" + strings.ReplaceAll(hostile, "</script>", `<\/script>`) + "`" + `; document.body.append(d)`)
	a.Changes()
	dir := t.TempDir()
	if r := w.RunIn(dir, "project", "allow", "--grant", "terminal", dir); r.Code != 0 {
		t.Fatal(r.Err)
	}
	t.Cleanup(func() { w.RunIn(dir, "project", "forget", dir) })
	if r := w.RunIn(dir, "record", "-q", "--name", "opened", "--", "echo", hostile); r.Code != 0 {
		t.Fatal(r.Err)
	}
	for name, args := range map[string][]string{
		"point.json":  {"export", "opened"},
		"report.md":   {"diff", "opened", "now"},
		"report.json": {"changes", "--since", "2020-01-01T00:00:00Z", "--json"},
		"report.txt":  {"changes", "--since", "2020-01-01T00:00:00Z"},
		"play.cast":   {"timeline", "export", "opened"},
	} {
		r := w.RunIn(dir, args...)
		if r.Code != 0 {
			t.Fatalf("%q: %s", args, r.Err)
		}
		if name != "point.json" && !strings.Contains(r.Out, "script") { // that has no text of this page
			t.Fatalf("%s has nothing of the page: %s", name, r.Out)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(r.Out), 0o600); err != nil {
			t.Fatal(err)
		}
		opened := w.Open(t, "file://"+path)
		opened.JS(`await new Promise((done) => setTimeout(done, 300));
if (document.title === 'ran' || document.scripts.length || document.images.length) throw new Error(document.documentElement.outerHTML.slice(0, 500))`)
	}
	if n := leaks.Load(); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

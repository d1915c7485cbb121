package e2e

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// project is a copy of testdata/bundles, where what is built may lie.
func project(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat("../../node_modules/webpack"); err != nil {
		t.Skip("the bundlers are not installed; run npm ci")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/bundles")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func bundle(t *testing.T, tool, mode, dir string) {
	t.Helper()
	if out, err := exec.Command("node", "testdata/bundles/build.mjs", tool, mode, dir).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", tool, mode, err, out)
	}
}

const bundlePage = `<!doctype html><meta charset="utf-8"><title>shop</title><link rel="icon" href="data:,"><body><script type="module" src="/assets/app.js"></script>`

// serveBundle serves what was built; handle may answer instead.
func serveBundle(t *testing.T, dir string, handle func(w http.ResponseWriter, r *http.Request) bool) *httptest.Server {
	t.Helper()
	files := http.FileServer(http.Dir(filepath.Join(dir, "dist")))
	s := testbed.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case handle != nil && handle(w, r):
		case r.URL.Path == "/":
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, bundlePage)
		default:
			files.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// entries are the console's warnings and errors, and their stacks.
func (a *agent) entries() ([]observe.LogEntry, string) {
	a.t.Helper()
	var page observe.Listing[observe.LogEntry]
	a.call("get_browser_logs", map[string]any{"level": "warning"}, &page)
	var stacks strings.Builder
	for _, e := range page.Entries {
		stacks.WriteString(strings.Join(e.Stack, "\n") + "\n")
	}
	return page.Entries, stacks.String()
}

// mapped waits until places of the project's files are in the stacks.
func (a *agent) mapped(places ...string) []observe.LogEntry {
	a.t.Helper()
	var list []observe.LogEntry
	var stacks string
	if err := testbed.Eventually(a.t.Context(), func() (bool, error) {
		list, stacks = a.entries()
		return !slices.ContainsFunc(places, func(place string) bool { return !strings.Contains(stacks, place) }), nil
	}); err != nil {
		a.t.Fatalf("%v: %q are not all in\n%s", err, places, stacks)
	}
	return list
}

// breakIt has the page of testdata/bundles throw.
func (p *tab) breakIt() {
	p.t.Helper()
	p.do(chromedp.Click("#break"))
}

func TestErrorsNameTheFilesOfTheProject(t *testing.T) {
	w := shared.get(t)
	for _, tool := range []string{"vite", "webpack", "esbuild"} {
		for _, mode := range []string{"url", "inline", "hidden"} {
			t.Run(tool+" "+mode, func(t *testing.T) {
				dir := project(t)
				bundle(t, tool, mode, dir)
				s := serveBundle(t, dir, func(w http.ResponseWriter, r *http.Request) bool {
					if mode == "hidden" && r.URL.Path == "/assets/app.js" {
						w.Header().Set("SourceMap", "app.js.map")
					}
					if _, err := r.Cookie("session"); strings.HasSuffix(r.URL.Path, ".map") && err != nil {
						w.WriteHeader(http.StatusForbidden) // the page's rights are needed
						return true
					}
					http.SetCookie(w, &http.Cookie{Name: "session", Value: "1", Path: "/"})
					return false
				})
				a := w.agent(t, "--origin", s.URL)
				p := w.open(t, s.URL)
				p.breakIt()
				entries := a.mapped("(src/cart/index.tsx:8:", "(src/App.tsx:13:", "(src/App.tsx:17:", "(src/h.ts:5:", "(src/index.tsx:6:")
				r := a.changes()
				if r.Console == nil || len(r.Console.NewErrors) != 1 || len(r.Console.NewWarnings) != 1 {
					t.Fatal(show(r))
				}
				if r.Console.NewErrors[0].Source != "App.tsx:13" || r.Console.NewWarnings[0].Source != "src/cart/index.tsx:8" {
					t.Error(show(r))
				}
				if len(entries) != 2 || !strings.HasPrefix(entries[0].Source, "src/cart/index.tsx:8:") || !strings.HasPrefix(entries[1].Source, "src/App.tsx:13:") {
					t.Errorf("%+v", entries)
				}
				if r.Network != nil && len(r.Network.Failures) > 0 || r.Network.TotalNewRequests > 3 {
					t.Errorf("fetching the map can be seen: %s", show(r))
				}
			})
		}
	}
}

func TestErrorsOfADevelopmentServerNameTheirLines(t *testing.T) {
	w := shared.get(t)
	dir := project(t)
	if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte(strings.ReplaceAll(bundlePage, "/assets/app.js", "/src/index.tsx")), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "testdata/bundles/build.mjs", "vite", "serve", dir)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSuffix(strings.TrimSpace(line), "/")
	a := w.agent(t, "--origin", url)
	p := w.open(t, url)
	p.breakIt()
	a.mapped("(src/cart/index.tsx:8:", "(src/App.tsx:13:", "(src/h.ts:", "(src/index.tsx:6:")
	r := a.changes()
	if r.Console == nil || len(r.Console.NewErrors) != 1 || r.Console.NewErrors[0].Source != "App.tsx:13" || len(r.Console.NewWarnings) != 1 || r.Console.NewWarnings[0].Source != "index.tsx:8" {
		t.Error(show(r))
	}
}

// TestAMapThatCannotBeHadLeavesTheGeneratedPlace: it is marked, and an answer neither waits long for a map nor fails of
// one.
func TestAMapThatCannotBeHadLeavesTheGeneratedPlace(t *testing.T) {
	w := shared.get(t)
	dir := project(t)
	bundle(t, "esbuild", "url", dir)
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"not found": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"damaged": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"version":3,"sources":["a"],"mappings":"!"}`)
		},
		"a page": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, bundlePage) },
		"too large": func(w http.ResponseWriter, _ *http.Request) {
			space := bytes.Repeat([]byte(" "), 1<<20)
			for range 33 {
				_, _ = w.Write(space)
			}
		},
		"redirected": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/assets/elsewhere.map", http.StatusFound)
		},
		"too slow": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			asked := make(chan bool, 1)
			s := serveBundle(t, dir, func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, ".map") {
					return false
				}
				select {
				case asked <- true:
				default:
				}
				answer(w, r)
				return true
			})
			a := w.agent(t, "--origin", s.URL)
			p := w.open(t, s.URL)
			p.breakIt()
			<-asked
			r := a.changes()
			if r.Console == nil || len(r.Console.NewErrors) != 1 || !strings.HasPrefix(r.Console.NewErrors[0].Source, "app.js:") || !r.Console.NewErrors[0].Generated || r.Network == nil || len(r.Network.Failures) > 0 || r.Coverage != nil {
				t.Error(show(r))
			}
			if name == "too slow" {
				return
			}
			if list, stacks := a.entries(); len(list) != 2 || !strings.Contains(stacks, "/assets/app.js:") {
				t.Errorf("%+v", list)
			}
		})
	}
}

// TestEveryBuildIsToldByItsOwnMap: the same address holds other code after an edit and a reload.
func TestEveryBuildIsToldByItsOwnMap(t *testing.T) {
	w := shared.get(t)
	dir := project(t)
	bundle(t, "esbuild", "url", dir)
	s := serveBundle(t, dir, func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Cache-Control", "no-store")
		return false
	})
	a := w.agent(t, "--origin", s.URL)
	p := w.open(t, s.URL)
	p.breakIt()
	a.mapped("(src/App.tsx:13:")
	app := filepath.Join(dir, "src/App.tsx")
	text, err := os.ReadFile(app)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(app, append([]byte("\n\n\n"), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	bundle(t, "esbuild", "url", dir)
	p.reload()
	p.breakIt()
	list := a.mapped("(src/App.tsx:16:", "(src/App.tsx:13:")
	var sources []string
	for _, e := range list {
		if e.Level == "error" {
			sources = append(sources, strings.TrimRight(strings.TrimRight(e.Source, "0123456789"), ":"))
		}
	}
	if got := strings.Join(sources, " "); got != "src/App.tsx:13 src/App.tsx:16" {
		t.Error(got)
	}
}

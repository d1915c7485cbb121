package reports

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// entries are the console's warnings and errors, and their stacks.
func entries(a *e2etest.Agent) ([]observe.LogEntry, string) {
	a.T.Helper()
	var page observe.Listing[observe.LogEntry]
	a.Call("get_browser_logs", testbed.Raw(map[string]any{"level": "warning"}), &page)
	var stacks strings.Builder
	for _, e := range page.Entries {
		stacks.WriteString(strings.Join(e.Stack, "\n") + "\n")
	}
	return page.Entries, stacks.String()
}

// mapped waits until places of the project's files are in the stacks.
func mapped(a *e2etest.Agent, places ...string) []observe.LogEntry {
	a.T.Helper()
	var list []observe.LogEntry
	var stacks string
	if err := testbed.Eventually(a.T.Context(), func() (bool, error) {
		list, stacks = entries(a)
		return !slices.ContainsFunc(places, func(place string) bool { return !strings.Contains(stacks, place) }), nil
	}); err != nil {
		a.T.Fatalf("%v: %q are not all in\n%s", err, places, stacks)
	}
	return list
}

// breakIt makes the page of the bundled project throw.
func breakIt(p *e2etest.Tab) {
	p.T.Helper()
	p.Do(chromedp.Click("#break"))
}

func TestErrorsNameTheFilesOfTheProject(t *testing.T) {
	w := e2etest.SharedWorld(t)
	for _, tool := range []string{"vite", "webpack", "esbuild"} {
		for _, mode := range []string{"url", "inline", "hidden"} {
			t.Run(tool+" "+mode, func(t *testing.T) {
				dir := e2etest.BundledProject(t)
				e2etest.Bundle(t, tool, mode, dir)
				s := e2etest.ServeBundle(t, dir, func(w http.ResponseWriter, r *http.Request) bool {
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
				a := w.NewAgent(t, "--origin", s.URL)
				p := w.Open(t, s.URL)
				breakIt(p)
				entries := mapped(a, "(src/cart/index.tsx:8:", "(src/App.tsx:13:", "(src/App.tsx:17:", "(src/h.ts:5:", "(src/index.tsx:6:")
				r := a.Changes()
				if r.Console == nil || len(r.Console.NewErrors) != 1 || len(r.Console.NewWarnings) != 1 {
					t.Fatal(e2etest.Show(r))
				}
				if r.Console.NewErrors[0].Source != "App.tsx:13" || r.Console.NewWarnings[0].Source != "src/cart/index.tsx:8" {
					t.Error(e2etest.Show(r))
				}
				if len(entries) != 2 || !strings.HasPrefix(entries[0].Source, "src/cart/index.tsx:8:") || !strings.HasPrefix(entries[1].Source, "src/App.tsx:13:") {
					t.Errorf("%+v", entries)
				}
				if r.Network != nil && len(r.Network.Failures) > 0 || r.Network.TotalNewRequests > 3 {
					t.Errorf("fetching the map can be seen: %s", e2etest.Show(r))
				}
			})
		}
	}
}

// servedByVite serves a copy of the bundled project by Vite and returns its address. change changes the copy before.
func servedByVite(t *testing.T, change func(write func(name, text string))) string {
	t.Helper()
	dir := e2etest.BundledProject(t)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("index.html", strings.ReplaceAll(e2etest.BundlePage, "/assets/app.js", "/src/index.tsx"))
	change(write)
	cmd := exec.Command("node", e2etest.Repository(e2etest.BundleScript), "vite", "serve", dir)
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
	return strings.TrimSuffix(strings.TrimSpace(line), "/")
}

func TestErrorsOfADevelopmentServerNameTheirLines(t *testing.T) {
	w := e2etest.SharedWorld(t)
	url := servedByVite(t, func(func(name, text string)) {})
	a := w.NewAgent(t, "--origin", url)
	p := w.Open(t, url)
	breakIt(p)
	mapped(a, "(src/cart/index.tsx:8:", "(src/App.tsx:13:", "(src/h.ts:", "(src/index.tsx:6:")
	r := a.Changes()
	if r.Console == nil || len(r.Console.NewErrors) != 1 || r.Console.NewErrors[0].Source != "App.tsx:13" || len(r.Console.NewWarnings) != 1 || r.Console.NewWarnings[0].Source != "index.tsx:8" {
		t.Error(e2etest.Show(r))
	}
}

// TestErrorsOfWorkersAndOfManyModulesNameTheirLines has Vite serve more modules than a page's resource timing lists, and a worker
// with a module of its own.
func TestErrorsOfWorkersAndOfManyModulesNameTheirLines(t *testing.T) {
	w := e2etest.SharedWorld(t)
	url := servedByVite(t, func(write func(name, text string)) {
		var imports strings.Builder
		for i := range 400 {
			write(fmt.Sprintf("src/part%d.ts", i), fmt.Sprintf("interface Part%d { n: number }\n\nexport const part: Part%d = { n: %d }\n", i, i, i))
			fmt.Fprintf(&imports, "import { part as part%d } from './part%d'\n", i, i)
		}
		write("src/many.ts", imports.String()+"import './last'\nconst worker = new Worker(new URL('./work.ts', import.meta.url), { type: 'module' })\ndocument.title = String(part399.n)\n;(window as any).work = () => worker.postMessage(1)\n")
		write("src/last.ts", "interface Last { n: number }\n\ninterface More { n: number }\n\n;(window as any).last = () => {\n  throw new Error('of the last')\n}\n")
		write("src/work.ts", "import { fail } from './fail'\n\nself.onmessage = () => fail()\n")
		write("src/fail.ts", "interface Fail { n: number }\n\ninterface More { n: number }\n\nexport function fail(): never {\n  throw new Error('of the worker')\n}\n")
		write("index.html", strings.ReplaceAll(e2etest.BundlePage, "/assets/app.js", "/src/many.ts"))
	})
	a := w.NewAgent(t, "--origin", url)
	p := w.Open(t, url)
	p.WaitForTitle("399")
	p.Start(`work()`)
	p.Start(`last()`)
	var sources string
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		list, _ := entries(a)
		sources = ""
		for _, e := range list {
			sources += e.Source + "\n"
		}
		return strings.Contains(sources, "src/last.ts:6:") && strings.Contains(sources, "src/fail.ts:6:"), nil
	}); err != nil {
		t.Fatalf("%v: %s", err, sources)
	}
}

// TestAMapThatCannotBeHadLeavesTheGeneratedPlace: it is marked, and an answer neither waits long for a map nor fails of
// one.
func TestAMapThatCannotBeHadLeavesTheGeneratedPlace(t *testing.T) {
	w := e2etest.SharedWorld(t)
	dir := e2etest.BundledProject(t)
	e2etest.Bundle(t, "esbuild", "url", dir)
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"not found": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"damaged": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"version":3,"sources":["a"],"mappings":"!"}`)
		},
		"a page": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, e2etest.BundlePage) },
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
			s := e2etest.ServeBundle(t, dir, func(w http.ResponseWriter, r *http.Request) bool {
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
			a := w.NewAgent(t, "--origin", s.URL)
			p := w.Open(t, s.URL)
			breakIt(p)
			<-asked
			r := a.Changes()
			if r.Console == nil || len(r.Console.NewErrors) != 1 || !strings.HasPrefix(r.Console.NewErrors[0].Source, "app.js:") || !r.Console.NewErrors[0].Generated || r.Network == nil || len(r.Network.Failures) > 0 || r.Coverage != nil {
				t.Error(e2etest.Show(r))
			}
			if name == "too slow" {
				return
			}
			if list, stacks := entries(a); len(list) != 2 || !strings.Contains(stacks, "/assets/app.js:") {
				t.Errorf("%+v", list)
			}
		})
	}
}

// TestEveryBuildIsToldByItsOwnMap: the same address holds other code after an edit and a reload.
func TestEveryBuildIsToldByItsOwnMap(t *testing.T) {
	w := e2etest.SharedWorld(t)
	dir := e2etest.BundledProject(t)
	e2etest.Bundle(t, "esbuild", "url", dir)
	s := e2etest.ServeBundle(t, dir, func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Cache-Control", "no-store")
		return false
	})
	a := w.NewAgent(t, "--origin", s.URL)
	p := w.Open(t, s.URL)
	breakIt(p)
	mapped(a, "(src/App.tsx:13:")
	app := filepath.Join(dir, "src/App.tsx")
	text, err := os.ReadFile(app)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(app, append([]byte("\n\n\n"), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	e2etest.Bundle(t, "esbuild", "url", dir)
	p.Reload()
	breakIt(p)
	list := mapped(a, "(src/App.tsx:16:", "(src/App.tsx:13:")
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

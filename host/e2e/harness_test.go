// Package e2e runs the whole of Tidemark in real Chromium; see package testbed.
//
// Most tests share one browser and one daemon; each has a server, and so an origin, of its own, and
// its agents hear of that origin only, as two projects on one machine would.
package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/installer"
)

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "tm")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		if binary, err = testbed.Build(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer shared.close()
		return m.Run()
	}())
}

type world struct{ *testbed.World }

// shared is the world of all tests that need none of their own.
var shared = sharedWorld{}

type sharedWorld struct {
	once sync.Once
	w    *testbed.World
	err  error
}

func (s *sharedWorld) get(t *testing.T) *world {
	t.Helper()
	needBrowser(t)
	s.once.Do(func() { s.w, s.err = testbed.Start(binary) })
	if s.err != nil {
		t.Fatal(s.err)
	}
	return &world{s.w}
}

func (s *sharedWorld) close() {
	if s.w != nil {
		if err := s.w.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}

// separateWorld is a world with a browser for one test.
func separateWorld(t *testing.T) *world {
	t.Helper()
	return closed(t)(testbed.Start(binary))
}

// emptyWorld is a world without a browser for one test.
func emptyWorld(t *testing.T) *world {
	t.Helper()
	return closed(t)(testbed.New(binary))
}

// ownWorld is [separateWorld] for a test that ends the browser itself, so that closing it may fail.
func ownWorld(t *testing.T) *world {
	t.Helper()
	needBrowser(t)
	w, err := testbed.Start(binary)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return &world{w}
}

// closed closes a world when the test ends, and has it fail when there is none.
func closed(t *testing.T) func(*testbed.World, error) *world {
	t.Helper()
	return func(w *testbed.World, err error) *world {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
		return &world{w}
	}
}

func needBrowser(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("launches a browser")
	}
	if _, err := installer.FindBrowser(); err != nil {
		t.Skip(err)
	}
}

// site is a server on an origin of its own.
type site struct {
	*httptest.Server
	mux *http.ServeMux
}

// newSite serves pages: a path and its HTML (or another type, told by the path's ending).
func newSite(t *testing.T, pages map[string]string) *site {
	t.Helper()
	mux := http.NewServeMux()
	for path, body := range pages {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			kind := "text/html; charset=utf-8"
			switch filepath.Ext(path) {
			case ".js":
				kind = "text/javascript"
			case ".json":
				kind = "application/json"
			}
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, body)
		})
	}
	s := &site{testbed.Serve(mux), mux}
	t.Cleanup(s.Close)
	return s
}

// answer serves a status at a path.
func (s *site) answer(path string, code int) {
	s.mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
}

// tab is a tab of the browser.
type tab struct {
	t *testing.T
	*testbed.Tab
}

// open opens a tab. It is closed before the site is.
func (w *world) open(t *testing.T, url string) *tab {
	t.Helper()
	p, err := w.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return &tab{t, p}
}

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := p.Do(actions...); err != nil {
		p.t.Fatal(err)
	}
}

func (p *tab) reload() {
	p.t.Helper()
	p.do(chromedp.Reload())
}

// js runs a script in the page and waits for its promise.
func (p *tab) js(script string) {
	p.t.Helper()
	if err := p.JS(script); err != nil {
		p.t.Fatalf("%s: %v", script, err)
	}
}

// text evaluates an expression in the page.
func (p *tab) text(expression string) string {
	p.t.Helper()
	text, err := chromedp.Run(p.Ctx, chromedp.Evaluate[string](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return text
}

// agent is an MCP client over `tidemark mcp`.
type agent struct {
	t *testing.T
	*testbed.Agent
}

func (w *world) agent(t *testing.T, args ...string) *agent {
	t.Helper()
	a, err := w.Program(args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return &agent{t, a}
}

// of is an agent that hears of a site only.
func (w *world) of(t *testing.T, s *site) *agent {
	t.Helper()
	a := w.agent(t, "--origin", s.URL)
	t.Cleanup(func() { // a world that tests share holds twenty checkpoints
		var list struct{ Checkpoints []struct{ Name string } }
		if text, err := a.Text("checkpoint_list", nil); err != nil || json.Unmarshal([]byte(text), &list) != nil {
			return // it was stopped, or the agent is on hold
		}
		for _, c := range list.Checkpoints {
			_, _ = a.Text("checkpoint_delete", map[string]any{"name": c.Name})
		}
	})
	return a
}

// call calls a tool and decodes its answer.
func (a *agent) call(tool string, args map[string]any, answer any) {
	a.t.Helper()
	result, err := a.Text(tool, args)
	if err != nil {
		a.t.Fatalf("%s: %v", tool, err)
	}
	if err := json.Unmarshal([]byte(result), answer); err != nil {
		a.t.Fatalf("%s: %v in %s", tool, err, result)
	}
}

// changes asks what is new once the page is settled.
func (a *agent) changes() *diff.Report {
	a.t.Helper()
	return a.changesWith(map[string]any{"wait": "settled"})
}

func (a *agent) changesWith(args map[string]any) *diff.Report {
	a.t.Helper()
	var r diff.Report
	a.call("get_changes_since", args, &r)
	return &r
}

// show is a report for a failed test's message.
func show(r *diff.Report) string {
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(data)
}

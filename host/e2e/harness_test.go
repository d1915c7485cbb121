// Package e2e runs the whole of Tidemark: real Chromium with the real extension, the relay that
// Chromium starts, the daemon that the relay starts, and MCP clients over `tidemark mcp`.
//
// Most tests share one browser and one daemon; each has a server, and so an origin, of its own, and
// its agents hear of that origin only, as two projects on one machine would.
package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark.dev/tidemark/host/internal/browser"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/installer"
)

// patience bounds every wait for a browser; a test that needs it all has failed.
const patience = 20 * time.Second

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
		binary = filepath.Join(dir, "tidemark")
		build := exec.Command("go", "build", "-o", binary, "tidemark.dev/tidemark/host/cmd/tidemark")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
			return 1
		}
		defer shared.close()
		return m.Run()
	}())
}

// world is a daemon's home and a browser that reaches it.
type world struct {
	home    string
	browser *browser.Browser
}

// shared is the world of all tests that need none of their own.
var shared = sharedWorld{}

type sharedWorld struct {
	once sync.Once
	w    *world
	err  error
}

func (s *sharedWorld) get(t *testing.T) *world {
	t.Helper()
	needBrowser(t)
	s.once.Do(func() { s.w, s.err = newWorld("") })
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.w
}

func (s *sharedWorld) close() {
	if s.w != nil {
		if err := s.w.close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
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

// newWorld starts a browser; the relay starts the daemon.
func newWorld(url string) (*world, error) {
	home, err := os.MkdirTemp("", "tmh")
	if err != nil {
		return nil, err
	}
	w := &world{home: home}
	extension, err := unpack(home)
	if err != nil {
		return nil, err
	}
	w.browser, err = browser.Launch(context.Background(), browser.Options{
		Headless: true, ExtensionDir: extension, Binary: binary, URL: url,
		Env: []string{"TIDEMARK_HOME=" + home}, Notes: io.Discard,
		Ready: func(ctx context.Context) error {
			return eventually(ctx, func() (bool, error) {
				var s struct{ Browsers []struct{ Connected bool } }
				if err := json.Unmarshal([]byte(w.run("status", "--json").out), &s); err != nil {
					return false, err
				}
				return len(s.Browsers) == 1 && s.Browsers[0].Connected, nil
			})
		},
	})
	if err != nil {
		_ = w.close()
		return nil, err
	}
	return w, chromedp.Do(w.browser.Context())
}

// unpack has the program unpack its extension and register nothing.
func unpack(home string) (string, error) {
	cmd := exec.Command(binary, "install", "--user-data-dir", filepath.Join(home, "none"))
	cmd.Env = append(os.Environ(), "TIDEMARK_HOME="+home)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if dir, ok := strings.CutPrefix(line, "extension "); ok {
			return strings.TrimSpace(dir), nil
		}
	}
	return "", fmt.Errorf("no extension in %q", out)
}

func (w *world) close() error {
	var err error
	if w.browser != nil {
		err = w.browser.Close()
	}
	if r := w.run("stop"); r.code != 0 && err == nil {
		err = fmt.Errorf("stop: %s", r.err)
	}
	if rmErr := os.RemoveAll(w.home); err == nil {
		err = rmErr
	}
	return err
}

// ran is how a command of the program ended.
type ran struct {
	out, err string
	code     int
}

func (w *world) run(args ...string) ran { return w.runIn("", args...) }

func (w *world) runIn(dir string, args ...string) ran {
	cmd := exec.Command(binary, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TIDEMARK_HOME="+w.home)
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	r := ran{out: out.String(), err: errOut.String(), code: cmd.ProcessState.ExitCode()}
	if err != nil && r.code < 0 {
		r.err += err.Error()
	}
	return r
}

// eventually asks until a condition holds.
func eventually(ctx context.Context, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		ok, err := holds()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it did not come to hold (%w)", err)
		case <-look.C:
		}
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
	s := &site{httptest.NewServer(mux), mux}
	t.Cleanup(s.Close)
	return s
}

// tab is a tab of the browser.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// open opens a tab. It is closed before the site is.
func (w *world) open(t *testing.T, url string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(w.browser.Context(), chromedp.WithNewWindow(false))
	t.Cleanup(cancel)
	p := &tab{t, ctx}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	p.goTo(url)
	return p
}

func (p *tab) within() context.Context {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	p.t.Cleanup(cancel)
	return ctx
}

func (p *tab) goTo(url string) {
	p.t.Helper()
	if err := chromedp.Do(p.within(), chromedp.Navigate(url)); err != nil {
		p.t.Fatalf("%s: %v", url, err)
	}
}

func (p *tab) reload() {
	p.t.Helper()
	if err := chromedp.Do(p.within(), chromedp.Reload()); err != nil {
		p.t.Fatal(err)
	}
}

// js runs a script in the page and waits for its promise.
func (p *tab) js(script string) {
	p.t.Helper()
	if _, err := chromedp.Run(p.within(), chromedp.Evaluate[chromedp.Void]("(async () => {"+script+"})()", chromedp.EvalAwaitPromise)); err != nil {
		p.t.Fatalf("%s: %v", script, err)
	}
}

// agent is an MCP client over `tidemark mcp`.
type agent struct {
	t       *testing.T
	session *mcp.ClientSession
}

func (w *world) agent(t *testing.T, args ...string) *agent {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"mcp"}, args...)...)
	cmd.Env = append(os.Environ(), "TIDEMARK_HOME="+w.home)
	cmd.Dir = t.TempDir()
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	session, err := client.Connect(context.Background(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return &agent{t, session}
}

// of is an agent that hears of a site only.
func (w *world) of(t *testing.T, s *site) *agent {
	t.Helper()
	return w.agent(t, "--origin", s.URL)
}

// call calls a tool and decodes its answer.
func (a *agent) call(tool string, args map[string]any, answer any) {
	a.t.Helper()
	result, err := a.try(tool, args)
	if err != nil {
		a.t.Fatalf("%s: %v", tool, err)
	}
	if err := json.Unmarshal([]byte(result), answer); err != nil {
		a.t.Fatalf("%s: %v in %s", tool, err, result)
	}
}

// try returns a tool's text; a result that is an error is one.
func (a *agent) try(tool string, args map[string]any) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	result, err := a.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", err
	}
	text := result.Content[0].(*mcp.TextContent).Text
	if result.IsError {
		return "", fmt.Errorf("%s", text)
	}
	return text, nil
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

// Package testbed sets up a complete Tidemark for end-to-end tests and benchmarks: a home, real Chromium with the
// real extension, the relay and daemon that it starts, and MCP clients over `tidemark mcp`.
//
// It guarantees that when [World.Close] returns, the browser and the daemon have exited and the home is removed.
package testbed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark.dev/tidemark/host/internal/browser"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// WayEnv names the environment variable with the capture mode of launched browsers: quiet or debugger (default).
const WayEnv = "TIDEMARK_TEST_WAY"

// Patience bounds every wait for a browser. A wait that reaches it has failed.
const Patience = time.Minute

// World is a daemon's home with a browser that is connected to it.
type World struct {
	// Binary is the program under test.
	Binary string
	// Home is its TIDEMARK_HOME, short enough for sockets.
	Home string
	// Way is the capture mode: "quiet", or else by the debugger.
	Way string
	// Browser is nil in a world without one.
	Browser *browser.Browser
	// shared is true when another world owns the home.
	shared bool
}

// New creates a world without a browser. The daemon starts on demand.
func New(binary string) (*World, error) {
	home, err := os.MkdirTemp("", "tmh")
	if err != nil {
		return nil, err
	}
	return &World{Binary: binary, Home: home, Way: os.Getenv(WayEnv)}, nil
}

// Build builds the program into a directory.
func Build(dir string) (string, error) {
	binary := filepath.Join(dir, "tidemark")
	out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", binary, "tidemark.dev/tidemark/host/cmd/tidemark").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return binary, nil
}

// Start creates a world with a connected browser.
func Start(binary string) (*World, error) { return StartIn(binary, os.Getenv(WayEnv)) }

// StartIn is [Start] with a capture mode.
func StartIn(binary, way string) (*World, error) {
	w, err := New(binary)
	if err != nil {
		return nil, err
	}
	w.Way = way
	if err := w.Launch(); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// Another starts another browser with a separate profile on the same daemon. Close it before the first.
func (w *World) Another() (*World, error) {
	other := &World{Binary: w.Binary, Home: w.Home, Way: w.Way, shared: true}
	if err := other.Launch(); err != nil {
		return nil, errors.Join(err, other.Close())
	}
	return other, nil
}

// Launch starts the browser of a world without one.
func (w *World) Launch() error {
	extension, err := w.Extension()
	if err != nil {
		return err
	}
	before, err := w.connected()
	if err != nil {
		return err
	}
	w.Browser, err = browser.Launch(context.Background(), browser.Options{
		Headless: true, ExtensionDir: extension, Binary: w.Binary, Way: w.Way,
		Env: []string{"TIDEMARK_HOME=" + w.Home}, Notes: io.Discard,
		Ready: func(ctx context.Context, _ string) error {
			return Eventually(ctx, func() (bool, error) {
				n, err := w.connected()
				return n == before+1, err
			})
		},
	})
	if err != nil {
		return err
	}
	// A context without a deadline keeps the first tab open.
	return chromedp.Do(w.Browser.Context())
}

// connected counts the connected browsers.
func (w *World) connected() (n int, err error) {
	var s struct{ Browsers []struct{ Connected bool } }
	err = json.Unmarshal([]byte(w.Run("status", "--json").Out), &s)
	for _, b := range s.Browsers {
		if b.Connected {
			n++
		}
	}
	return n, err
}

// Profile returns the directory in which [World.Extension] registers the native host.
func (w *World) Profile() string { return filepath.Join(w.Home, "profile") }

// Extension makes the program register itself for the world's profile and unpack its extension.
func (w *World) Extension() (string, error) {
	r := w.Run("install", "--user-data-dir", w.Profile())
	_, dir, found := strings.Cut(r.Out, "extension ")
	if r.Code != 0 || !found {
		return "", fmt.Errorf("install: %s", r.Err)
	}
	return strings.TrimSpace(dir), nil
}

// Close stops the browser and the daemon, and removes the home.
func (w *World) Close() error {
	var errs []error
	if w.Browser != nil {
		errs = append(errs, w.Browser.Close())
	}
	if w.shared {
		return errors.Join(errs...)
	}
	if r := w.Run("stop"); r.Code != 0 {
		errs = append(errs, fmt.Errorf("stop: %s", r.Err))
	}
	return errors.Join(append(errs, os.RemoveAll(w.Home))...)
}

// Ran is the result of a command.
type Ran struct {
	Out, Err string
	Code     int
}

// Run runs the program.
func (w *World) Run(args ...string) Ran { return w.RunIn("", args...) }

// RunIn runs the program in a working directory.
func (w *World) RunIn(dir string, args ...string) Ran {
	cmd := w.Command(args...)
	cmd.Dir = dir
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	r := Ran{Out: out.String(), Err: errOut.String(), Code: cmd.ProcessState.ExitCode()}
	if err != nil && r.Code < 0 {
		r.Err += err.Error()
	}
	return r
}

// Command returns an unstarted command with the world's home.
func (w *World) Command(args ...string) *exec.Cmd {
	cmd := exec.Command(w.Binary, args...)
	cmd.Env = append(os.Environ(), "TIDEMARK_HOME="+w.Home)
	return cmd
}

// Agent connects an MCP client over `tidemark mcp`, run in a directory that is not a project.
func (w *World) Agent(args ...string) (*Agent, error) { return w.connect(nil, args) }

// Program is like [World.Agent], for a client that gets text-only answers as structured content too.
func (w *World) Program(args ...string) (*Agent, error) {
	return w.connect(&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{Experimental: map[string]any{"tidemark/structured": map[string]any{}}}}, args)
}

func (w *World) connect(options *mcp.ClientOptions, args []string) (*Agent, error) {
	cmd := w.Command(append([]string{"mcp"}, args...)...)
	cmd.Dir = w.Home
	session, err := mcp.NewClient(&mcp.Implementation{Name: "testbed", Version: "1"}, options).
		Connect(context.Background(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return nil, err
	}
	return &Agent{session, cmd.Process}, nil
}

// Heard is called, if not nil, with the text of each answer. Set it before the first agent connects.
var Heard func(tool, text string)

// Agent is an MCP client.
type Agent struct {
	*mcp.ClientSession
	process *os.Process
}

// Kill kills the agent's `tidemark mcp`.
func (a *Agent) Kill() error { return a.process.Kill() }

// ToolError is a result that is an error.
type ToolError struct {
	Code    usererr.Code
	Message string
}

func (e *ToolError) Error() string { return e.Message }

// call calls a tool and returns the result with its text.
func (a *Agent) call(tool string, args map[string]any) (*mcp.CallToolResult, string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	result, err := a.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return nil, "", err
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		return nil, "", fmt.Errorf("%s returned a %T", tool, result.Content[0])
	}
	if Heard != nil {
		Heard(tool, text.Text)
	}
	if result.IsError {
		code, _ := result.Meta["code"].(string)
		return result, text.Text, &ToolError{usererr.Code(code), text.Text}
	}
	return result, text.Text, nil
}

// Text calls a tool and returns its text. An error result becomes a [ToolError].
func (a *Agent) Text(tool string, args map[string]any) (string, error) {
	_, text, err := a.call(tool, args)
	if err != nil {
		return "", err
	}
	return text, nil
}

// Raw returns the arguments of a raw read for all that it can return, as JSON.
func Raw(args map[string]any) map[string]any {
	all := maps.Clone(args)
	if all == nil {
		all = map[string]any{}
	}
	all["format"], all["max_tokens"] = "json", 1<<30
	return all
}

// ErrTextOnly reports an answer without structured content, such as those of actions by older programs.
var ErrTextOnly = errors.New("no structured content")

// Data calls a tool, decodes its structured content into answer, and returns its text. It decodes an error result
// too, if that has structured content, such as a refused action. Any other error is a [ToolError]. With [ErrTextOnly] it returns the text.
func (a *Agent) Data(tool string, args map[string]any, answer any) (text string, err error) {
	result, text, err := a.call(tool, args)
	if result == nil || result.StructuredContent == nil {
		return text, cmp.Or(err, fmt.Errorf("%s: %w", tool, ErrTextOnly))
	}
	data, err := json.Marshal(result.StructuredContent)
	if err != nil {
		return "", err
	}
	return text, json.Unmarshal(data, answer)
}

// Eventually polls until a condition holds.
func Eventually(ctx context.Context, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
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
			if err == nil {
				err = ctx.Err()
			}
			return fmt.Errorf("the condition was never met: %w", err)
		case <-look.C:
		}
	}
}

// Tab is a tab of the browser.
type Tab struct {
	Ctx   context.Context
	close context.CancelFunc
}

// Open opens a tab and loads a page in it.
func (w *World) Open(url string) (*Tab, error) {
	ctx, cancel := chromedp.NewContext(w.Browser.Context(), chromedp.WithNewWindow(false))
	t := &Tab{ctx, cancel}
	if err := chromedp.Do(ctx); err != nil {
		cancel()
		return nil, err
	}
	if err := t.within(func(ctx context.Context) error { return chromedp.Do(ctx, chromedp.Navigate(url)) }); err != nil {
		cancel()
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	return t, nil
}

// Close closes the tab.
func (t *Tab) Close() { t.close() }

func (t *Tab) within(do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(t.Ctx, Patience)
	defer cancel()
	return do(ctx)
}

// Do runs actions in the tab.
func (t *Tab) Do(actions ...chromedp.Action[chromedp.Void]) error {
	return t.within(func(ctx context.Context) error { return chromedp.Do(ctx, actions...) })
}

// Block makes the browser refuse the page's requests to matching addresses, as ad blockers do.
func (t *Tab) Block(patterns []string) error {
	if len(patterns) == 0 {
		return nil
	}
	var blocked network.SetBlockedURLsParams
	for _, p := range patterns {
		blocked.URLPatterns = append(blocked.URLPatterns, &network.BlockPattern{URLPattern: p, Block: true})
	}
	return t.within(func(ctx context.Context) error {
		if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
			return err
		}
		_, err := chromedp.Call(ctx, network.SetBlockedURLs, blocked)
		return err
	})
}

// JS runs a script in the page and waits for its promise.
func (t *Tab) JS(script string) error {
	return t.within(func(ctx context.Context) error {
		_, err := chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void]("(async () => {"+script+"\n})()", chromedp.EvalAwaitPromise))
		return err
	})
}

// Number evaluates an expression in the page.
func (t *Tab) Number(expression string) (n float64, err error) {
	err = t.within(func(ctx context.Context) error {
		n, err = chromedp.Run(ctx, chromedp.Evaluate[float64](expression))
		return err
	})
	return n, err
}

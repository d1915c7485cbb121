package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/browser"
	"tidemark.dev/tidemark/host/internal/demo"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/viewclient"
)

func newDemo() *cobra.Command {
	var headless, all bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Break a demo shop and show what Tidemark reports",
		Long: `Serve a small shop on this machine and open it in a watched browser. The demo breaks the shop as an
edit would, and prints the report that you or an agent would read after each edit. It uses a temporary
home and removes it at the end.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd, headless, all) },
	}
	cmd.Flags().BoolVar(&headless, "headless", false, "run without a window")
	cmd.Flags().BoolVar(&all, "all", false, "show every breakage")
	return cmd
}

// shownBreakages keeps the default demo short.
var shownBreakages = []string{"api_500", "click_typeerror", "slow_endpoint", "socket_closed", "cors_blocked", "toast_flash", "worker_throws", "warning_flood", "endless_scroll"}

// demoRun is one demo: the shop, the browser that shows it and the client that asks for changes.
type demoRun struct {
	out, notes io.Writer
	shop       *demo.Shop
	page       context.Context
	client     *viewclient.Client
	width      int
}

func runDemo(cmd *cobra.Command, headless, all bool) (err error) {
	ctx := cmd.Context()
	width, _ := terminalColumns(cmd.OutOrStdout())
	d := &demoRun{out: cmd.OutOrStdout(), notes: cmd.ErrOrStderr(), shop: demo.New(), width: width}
	dir, err := os.MkdirTemp("", "tidemark-demo-")
	if err != nil {
		return err
	}
	// Remove the home last, after everything that writes into it has stopped.
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Setenv(home.Env, dir); err != nil {
		return err
	}
	home, err := home.Find(version)
	if err != nil {
		return err
	}
	d.client = clientOf(home)
	defer func() { err = errors.Join(err, home.Stop(context.WithoutCancel(ctx))) }()

	url, err := d.shop.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.shop.Close()) }()
	fmt.Fprintf(d.notes, "Serving the demo shop at %s\nOpening a browser …\n", url)
	b, err := launch(ctx, home, browser.Options{Headless: headless, URL: url, Notes: d.notes})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	d.page = b.Context()
	// The page's context has no deadline, so the page outlives the context of each step.
	if err := chromedp.Do(d.page); err != nil {
		return err
	}
	if err := d.steps(ctx, `await ready();`); err != nil {
		return err
	}
	if _, err := d.look(ctx, observe.ChangesParams{Wait: "settled"}); err != nil {
		return err
	}
	n := 0
	for _, breakage := range demo.Breakages {
		if all || slices.Contains(shownBreakages, breakage.Name) {
			n++
			if err := d.show(ctx, n, breakage); err != nil {
				return err
			}
		}
	}
	return d.farewell()
}

// show breaks the shop in one way, prints what changed, and fixes the shop.
func (d *demoRun) show(ctx context.Context, n int, b demo.Breakage) error {
	if b.Prepare != "" {
		if err := d.steps(ctx, b.Prepare); err != nil {
			return err
		}
	}
	quiet := observe.ChangesParams{Wait: "settled"}
	if _, err := d.look(ctx, quiet); err != nil {
		return err
	}
	b.Break(d.shop)
	if err := d.reload(ctx, b.Reload); err != nil {
		return err
	}
	if err := d.steps(ctx, b.Trigger); err != nil {
		return err
	}
	answer, err := d.look(ctx, quiet)
	if err != nil {
		return err
	}
	if err := render.Line(d.out, "\n%s\n%s\n", render.Rule(fmt.Sprintf("%d  %s", n, b.Title), d.width), render.Faint(b.Story)); err != nil {
		return err
	}
	if err := render.Report(d.out, answer, d.width); err != nil {
		return err
	}
	b.Mend(d.shop)
	if err := d.reload(ctx, b.Reload); err != nil {
		return err
	}
	if err := d.steps(ctx, b.Recover); err != nil {
		return err
	}
	answer, err = d.look(ctx, quiet)
	if err != nil {
		return err
	}
	line := answer.Summary
	for _, r := range answer.Network.Recovered {
		line += fmt.Sprintf("; %s %s returns %d again", r.Method, r.URL, r.Status)
	}
	return render.Line(d.out, "\n%s", render.Faint("edit reverted: "+line))
}

func (d *demoRun) look(ctx context.Context, p observe.ChangesParams) (*report.Report, error) {
	var raw json.RawMessage
	if err := d.client.Tool(ctx, "get_changes_since", p, &raw); err != nil {
		return nil, err
	}
	var r report.Report
	return &r, json.Unmarshal(raw, &r)
}

// stepTimeout bounds one step of the demo in the page.
const stepTimeout = 20 * time.Second

func (d *demoRun) reload(ctx context.Context, needed bool) error {
	if !needed {
		return nil
	}
	return d.in(ctx, func(page context.Context) error { return chromedp.Do(page, chromedp.Reload()) })
}

func (d *demoRun) steps(ctx context.Context, steps string) error {
	return d.in(ctx, func(page context.Context) error {
		_, err := chromedp.Run(page, chromedp.Evaluate[chromedp.Void](demo.Script(steps), chromedp.EvalAwaitPromise))
		return err
	})
}

// in runs do in the page. It stops after stepTimeout or when ctx ends.
func (d *demoRun) in(ctx context.Context, do func(context.Context) error) error {
	page, cancel := context.WithTimeout(d.page, stepTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	if err := do(page); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("the demo page failed: %w", err)
	}
	return nil
}

// farewell prints the next steps.
func (d *demoRun) farewell() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return err
	}
	return render.Line(d.out, `
%[1]s

  %[2]s browser http://localhost:5173   open your own page and watch it
  %[2]s changes                         show what changed since you last asked

%[3]s

  Claude Code   claude mcp add tidemark -- %[2]s mcp
  Codex         codex mcp add tidemark -- %[2]s mcp
  Gemini CLI    gemini mcp add tidemark %[2]s mcp
  Cursor        .cursor/mcp.json   {"mcpServers": {"tidemark": {"command": "%[2]s", "args": ["mcp"]}}}
  VS Code       .vscode/mcp.json   {"servers": {"tidemark": {"type": "stdio", "command": "%[2]s", "args": ["mcp"]}}}`,
		render.Rule("Your own page", d.width), self, render.Rule("Add Tidemark to your agent", d.width))
}

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
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/render"
)

func newDemo() *cobra.Command {
	var headless, all bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Break a demo shop in several ways, and show what Tidemark says of it",
		Long: `Serves a small shop on this machine, opens it in a browser that is watched, breaks it as an edit
would, and prints after each edit what you, or an agent, would read. It uses a home of its own, which
is removed at the end.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd, headless, all) },
	}
	cmd.Flags().BoolVar(&headless, "headless", false, "without a window")
	cmd.Flags().BoolVar(&all, "all", false, "every breakage there is")
	return cmd
}

// shownBreakages are those of a demo that takes no longer than one looks.
var shownBreakages = []string{"api_500", "click_typeerror", "slow_endpoint", "socket_closed", "cors_blocked", "toast_flash", "worker_throws", "warning_flood", "endless_scroll"}

// demoRun is one demo: the shop, the browser that shows it, and the client that asks.
type demoRun struct {
	out, notes io.Writer
	shop       *demo.Shop
	page       context.Context
	client     *client
	width      int
}

func runDemo(cmd *cobra.Command, headless, all bool) (err error) {
	ctx := cmd.Context()
	d := &demoRun{out: cmd.OutOrStdout(), notes: cmd.ErrOrStderr(), shop: demo.New(), width: terminalWidth(cmd.OutOrStdout())}
	dir, err := os.MkdirTemp("", "tidemark-demo-")
	if err != nil {
		return err
	}
	// Whatever happens, the last to go is the home, after those who write into it.
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Setenv(home.Env, dir); err != nil {
		return err
	}
	home, err := home.Find(version)
	if err != nil {
		return err
	}
	d.client = &client{home: home}
	defer func() { err = errors.Join(err, home.Stop(context.WithoutCancel(ctx))) }()

	url, err := d.shop.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.shop.Close()) }()
	fmt.Fprintf(d.notes, "the demo shop is served at %s\nopening a browser …\n", url)
	b, err := launch(ctx, home, browser.Options{Headless: headless, URL: url, Notes: d.notes})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	d.page = b.Context()
	// Attached with a context that has no end of its own, the page outlives each step's.
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

// show breaks the shop in one way, prints what is new, and mends it.
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
	report, err := d.look(ctx, quiet)
	if err != nil {
		return err
	}
	if err := render.Line(d.out, "\n%s\n%s\n", render.Rule(fmt.Sprintf("%d  %s", n, b.Title), d.width), render.Faint(b.Story)); err != nil {
		return err
	}
	if err := render.Report(d.out, report, d.width); err != nil {
		return err
	}
	b.Mend(d.shop)
	if err := d.reload(ctx, b.Reload); err != nil {
		return err
	}
	if err := d.steps(ctx, b.Recover); err != nil {
		return err
	}
	report, err = d.look(ctx, quiet)
	if err != nil {
		return err
	}
	line := report.Summary
	for _, r := range report.Network.Recovered {
		line += fmt.Sprintf("; %s %s answers %d again", r.Method, r.URL, r.Status)
	}
	return render.Line(d.out, "\n%s", render.Faint("the edit is taken back: "+line))
}

func (d *demoRun) look(ctx context.Context, p observe.ChangesParams) (*diff.Report, error) {
	var raw json.RawMessage
	if err := d.client.tool(ctx, "get_changes_since", p, &raw); err != nil {
		return nil, err
	}
	var r diff.Report
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

// in runs something in the page, until it is done, the time is over, or ctx ends.
func (d *demoRun) in(ctx context.Context, do func(context.Context) error) error {
	page, cancel := context.WithTimeout(d.page, stepTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	if err := do(page); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("the demo page: %w", err)
	}
	return nil
}

// farewell says how to go on.
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

  %[2]s browser http://localhost:5173   your own page, watched
  %[2]s changes                         what is new since you last asked

%[3]s

  Claude Code   claude mcp add tidemark -- %[2]s mcp
  Codex         codex mcp add tidemark -- %[2]s mcp
  Gemini CLI    gemini mcp add tidemark %[2]s mcp
  Cursor        .cursor/mcp.json   {"mcpServers": {"tidemark": {"command": "%[2]s", "args": ["mcp"]}}}
  VS Code       .vscode/mcp.json   {"servers": {"tidemark": {"type": "stdio", "command": "%[2]s", "args": ["mcp"]}}}`,
		render.Rule("Your own page", d.width), self, render.Rule("Add Tidemark to your agent", d.width))
}

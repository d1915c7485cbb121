package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tidemark.dev/tidemark/installer"
)

// peersDir holds the pinned versions of what snapshots are compared with.
const peersDir = "host/bench/peers"

// peer is another server that shows pages to agents, over stdio, with a browser of its own: the same
// program that Tidemark is measured in.
type peer struct {
	name           string
	command        []string
	navigate, look string // its tools
	session        *mcp.ClientSession
}

// startPeers installs the peers where they are not and starts them.
func startPeers() (list []*peer, stop func(), err error) {
	if _, err := os.Stat(filepath.Join(peersDir, "node_modules", ".ready")); err != nil {
		cmd := exec.Command("npm", "ci", "--ignore-scripts", "--no-fund", "--no-audit", "--loglevel=error")
		cmd.Dir = peersDir
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, nil, fmt.Errorf("npm ci in %s: %w: %s", peersDir, err, out)
		}
		if err := os.WriteFile(filepath.Join(peersDir, "node_modules", ".ready"), nil, 0o600); err != nil {
			return nil, nil, err
		}
	}
	chromium, err := installer.FindBrowser()
	if err != nil {
		return nil, nil, err
	}
	dir, err := filepath.Abs(peersDir)
	if err != nil {
		return nil, nil, err
	}
	// Peers write what they saw into their working directory.
	work, err := os.MkdirTemp("", "tmp")
	if err != nil {
		return nil, nil, err
	}
	bin := func(name string) string { return filepath.Join(dir, "node_modules", ".bin", name) }
	list = []*peer{
		{name: "@playwright/mcp", navigate: "browser_navigate", look: "browser_snapshot", command: []string{
			bin("playwright-mcp"), "--headless", "--isolated", "--no-sandbox", "--executable-path", chromium.Path,
		}},
		{name: "chrome-devtools-mcp", navigate: "navigate_page", look: "take_snapshot", command: []string{
			bin("chrome-devtools-mcp"), "--headless", "--isolated", "--usageStatistics=false", "--no-page-id-routing", "--chromeArg=--no-sandbox", "--executablePath", chromium.Path,
		}},
	}
	stop = func() {
		for _, p := range list {
			if p.session != nil {
				_ = p.session.Close()
			}
		}
		_ = os.RemoveAll(work)
	}
	for _, p := range list {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		cmd := exec.Command(p.command[0], p.command[1:]...)
		cmd.Dir = work
		p.session, err = mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).
			Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
		cancel()
		if err != nil {
			stop()
			return nil, nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return list, stop, nil
}

// open goes to a page; snapshot looks at it.
func (p *peer) open(url string) error {
	_, err := p.call(p.navigate, map[string]any{"url": url})
	return err
}

func (p *peer) snapshot() (string, error) { return p.call(p.look, map[string]any{}) }

func (p *peer) call(tool string, args map[string]any) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	r, err := p.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", p.name, tool, err)
	}
	var b strings.Builder
	for _, c := range r.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	if r.IsError {
		return "", errors.New(p.name + " " + tool + ": " + b.String())
	}
	return b.String(), nil
}

// operated finds what is operable in a listing: role and name.
var operated = regexp.MustCompile(`(?m)^\s*- '?(button|checkbox|combobox|link|menuitem|radio|searchbox|slider|spinbutton|switch|tab|textbox)\b(?: "((?:[^"\\]|\\.)*)")?`)

// missing are the operable elements of a Playwright listing that another one lacks.
func missing(theirs, ours string) []string {
	// The letters that are pictures in an icon font say nothing.
	plain := func(s string) string {
		return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Co, r) }), " ")
	}
	have := map[string]int{}
	for _, m := range operated.FindAllStringSubmatch(ours, -1) {
		have[m[1]+" "+plain(m[2])]++
	}
	var out []string
	for _, m := range operated.FindAllStringSubmatch(theirs, -1) {
		key := m[1] + " " + plain(m[2])
		if have[key]--; have[key] < 0 {
			out = append(out, key)
		}
	}
	return out
}

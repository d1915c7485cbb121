package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/daemon"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/link"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/viewer"
	"tidemark.dev/tidemark/installer"
	"tidemark.dev/tidemark/installer/unpack"
)

// diagnosis is the output of `tidemark doctor --json`.
type diagnosis struct {
	// OK is false when any check is broken.
	OK     bool              `json:"ok"`
	Checks []installer.Check `json:"checks"`
}

func newDoctor() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the installation and suggest fixes",
		Long: `Check every part between the browser and the agent:

  - browsers, their manifests and the unpacked extension
  - the relay (started as a browser starts it) and the daemon
  - a test event from a relay to an agent
  - connected extensions, and a round trip to each and its tabs
  - the agents' settings and the MCP servers that they start

Exits with 1 when a check fails. What is not set up is advice, not a failure. The test event uses a temporary home and leaves no trace in yours.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := home.Find(version)
			if err != nil {
				return err
			}
			sys, err := installer.ThisSystem()
			if err != nil {
				return err
			}
			d, err := diagnose(cmd.Context(), sys, h)
			if err != nil {
				return err
			}
			if asJSON {
				err = json.NewEncoder(cmd.OutOrStdout()).Encode(d)
			} else {
				err = d.show(cmd, sys)
			}
			if err == nil && !d.OK {
				err = fmt.Errorf("%d of %d checks failed", d.count(installer.Broken), len(d.Checks))
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func diagnose(ctx context.Context, sys *installer.System, h home.Home) (*diagnosis, error) {
	d := &diagnosis{}
	record, err := installer.ReadRecord(recordFile(h))
	if err != nil {
		return nil, err
	}
	checks, programs := sys.CheckBrowsers(h.State, record)
	d.Checks = append(ownBrowser(checks), installer.CheckExtension(extensionDir(h), record))
	if len(programs) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		programs = []string{self}
	}
	c, answers := checkDaemon(ctx, h)
	if !answers {
		d.Checks = append(d.Checks, c)
	}
	// without is a check that needs a daemon that responds.
	without := func(link, subject string) installer.Check {
		return installer.Check{Link: link, Subject: subject, State: installer.None, Detail: "skipped: the daemon does not respond"}
	}
	for _, p := range programs {
		if !answers {
			d.Checks = append(d.Checks, without("relay", p))
			continue
		}
		d.Checks = append(d.Checks, checkRelay(ctx, p))
	}
	if answers {
		d.Checks = append(d.Checks, checkSettings(h)...)
	}
	d.Checks = append(d.Checks, checkSockets(h))
	for _, p := range programs {
		d.Checks = append(d.Checks, checkEvent(ctx, p))
	}
	if answers {
		d.Checks = append(d.Checks, checkExtensions(ctx, h, record)...)
	} else {
		d.Checks = append(d.Checks, without("extension connected", "connected"), without("round", ""))
	}
	checks, starts := sys.CheckAgents(record)
	d.Checks = append(d.Checks, checks...)
	for _, s := range starts {
		if !answers {
			d.Checks = append(d.Checks, without("mcp", strings.Join(append([]string{s.Command}, s.Args...), " ")))
			continue
		}
		d.Checks = append(d.Checks, checkMCP(ctx, s))
	}
	d.OK = d.count(installer.Broken) == 0
	return d, nil
}

// ownBrowser replaces the check that found no browser where there is one that `tidemark browser` can launch.
func ownBrowser(checks []installer.Check) []installer.Check {
	last := len(checks) - 1
	if last < 0 || checks[last].Link != "browser" || checks[last].State != installer.Broken {
		return checks
	}
	if b, err := installer.FindBrowser(); err == nil {
		checks[last] = installer.Check{Link: "browser", Subject: "separate profiles", State: installer.OK, Detail: b.Path}
	}
	return checks
}

func (d *diagnosis) count(state installer.State) int {
	n := 0
	for _, c := range d.Checks {
		if c.State == state {
			n++
		}
	}
	return n
}

// parts are the headings, each with the links below it.
var parts = []struct {
	heading string
	links   []string
}{
	{"Browsers", []string{"browser", "manifest"}},
	{"Host", []string{"daemon", "settings", "recording", "relay", "sockets", "test event"}},
	{"Extension", []string{"extension unpacked", "extension connected", "round"}},
	{"Agents", []string{"agent", "hooks", "mcp"}},
}

func (d *diagnosis) show(cmd *cobra.Command, sys *installer.System) error {
	var names []string
	for _, c := range d.Checks {
		names = append(names, nameOf(c))
	}
	sheet := render.NewSheet(cmd.OutOrStdout(), names...)
	for _, p := range parts {
		sheet.Heading(p.heading)
		for _, c := range d.Checks {
			if !slices.Contains(p.links, c.Link) {
				continue
			}
			sheet.Item(string(c.State), nameOf(c), sys.Tilde(c.Detail))
			if c.Fix != "" {
				sheet.Below("→", sys.Tilde(c.Fix))
			}
		}
	}
	if d.OK {
		sheet.Line("")
		sheet.Line(fmt.Sprintf("All checks passed: %d.", d.count(installer.OK)))
	}
	return sheet.Err()
}

// nameOf returns the name of a check within its part: the link where the subject is not telling.
func nameOf(c installer.Check) string {
	switch c.Link {
	case "manifest":
		return "  its manifest"
	case "hooks":
		return "  its hooks"
	case "daemon", "settings", "recording", "relay", "sockets", "test event", "round", "mcp":
		return c.Link
	}
	return c.Subject
}

func checkSockets(h home.Home) installer.Check {
	c := installer.Check{Link: "sockets", State: installer.OK, Detail: filepath.Dir(h.Socket(home.MCPSocket)) + ", accessible only to you"}
	if err := h.CheckSockets(); err != nil {
		c.State, c.Detail = installer.Broken, err.Error()
		c.Fix = "run `tidemark stop`, remove the directory and retry, or set " + home.Env + " to a directory that you own"
	}
	return c
}

// checkSettings reports settings that the next daemon cannot start with. The daemon that runs keeps those that it started with.
func checkSettings(h home.Home) []installer.Check {
	err := daemon.CheckConfig(h.Config)
	if err == nil {
		return nil
	}
	return []installer.Check{{Link: "settings", State: installer.Broken, Detail: "the daemon keeps its last settings: " + err.Error(), Fix: "then run `tidemark stop`, to use the new settings"}}
}

// checkExtensions checks what the daemon reports: whether it records, and the connected extensions, with a round trip to each.
// Without an installation, no extension needs to be connected.
func checkExtensions(ctx context.Context, h home.Home, r *installer.Record) []installer.Check {
	const name = "extension connected"
	c := clientOf(h)
	call := func(request func(context.Context, any) error, out any) error {
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		return request(ctx, out)
	}
	var s viewer.Status
	if err := call(c.Status, &s); err != nil {
		return []installer.Check{{Link: name, Subject: "connected", State: installer.Broken, Detail: err.Error(), Fix: "see " + h.Log()}}
	}
	var checks []installer.Check
	for _, problem := range s.Unrecorded {
		checks = append(checks, installer.Check{Link: "recording", State: installer.Broken, Detail: problem, Fix: "then run `tidemark stop`. " + h.Log() + " may show more"})
	}
	own, err := unpack.Embedded()
	if err != nil {
		return append(checks, installer.Check{Link: name, Subject: "connected", State: installer.None, Detail: err.Error()})
	}
	unrecorded := len(checks)
	for _, b := range s.Browsers {
		if !b.Connected {
			continue
		}
		check := installer.Check{Link: name, Subject: "connected", State: installer.OK, Detail: b.Name + ", version " + b.Extension}
		if b.Extension != own.Version() {
			check.State, check.Detail = installer.Broken, fmt.Sprintf("%s has version %s, this program has %s", b.Name, b.Extension, own.Version())
			check.Fix = "run `tidemark install`, then reload the extension in chrome://extensions"
		}
		checks = append(checks, check)
	}
	if len(checks) == unrecorded {
		missing := installer.Check{Link: name, Subject: "connected", State: installer.None, Detail: "no browser is connected", Fix: "run `tidemark browser URL` to open one"}
		if r.Extension() != "" {
			missing.State = installer.Broken
			missing.Fix = "start a browser. If one is running, load the extension: chrome://extensions, Developer mode, Load unpacked, " + extensionDir(h)
		}
		return append(checks, missing, installer.Check{Link: "round", State: installer.None, Detail: "skipped: no browser is connected"})
	}
	var rounds []link.Round
	if err := call(c.Rounds, &rounds); err != nil {
		return append(checks, installer.Check{Link: "round", State: installer.Broken, Detail: err.Error(), Fix: "see " + h.Log()})
	}
	for _, r := range rounds {
		check := installer.Check{Link: "round", Subject: r.Browser, State: installer.OK, Detail: fmt.Sprintf("%d ms to %s, its tabs and back", r.Ms, r.Browser)}
		switch {
		case r.Problem != "":
			check.State, check.Detail, check.Fix = installer.Broken, r.Browser+" does not respond: "+r.Problem, "reload the extension in chrome://extensions"
		case r.Silent > 0:
			check.State, check.Detail, check.Fix = installer.Broken, fmt.Sprintf("%s: watched pages with their frames: %d did not respond", r.Browser, r.Silent), "reload the watched pages"
		}
		checks = append(checks, check)
	}
	return checks
}

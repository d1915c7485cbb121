package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/installer"
	"tidemark.dev/tidemark/installer/unpack"
)

func newInstall() *cobra.Command {
	var profile string
	var browsers, agents []string
	var asked asking
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Set Tidemark up in your own browser and agents",
		Long: `Lets the browsers of this machine reach Tidemark (native-messaging manifests), unpacks the extension to
a place that stays the same, and registers Tidemark with your coding agents (with Claude Code as a hook
too). Every change is shown as a diff and asked for, one by one; everything else in a file stays as it is,
byte for byte.
` + "`tidemark uninstall` takes back exactly what was written, `tidemark doctor` checks it." + `

With --user-data-dir it only registers one browser profile, and asks nothing.`,
		Example: `  tidemark install
  tidemark install --dry-run
  tidemark install --yes --browser chrome --agent claude-code`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := home.Find(version)
			if err != nil {
				return err
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			if profile != "" {
				if asked.yes || asked.dryRun || len(browsers)+len(agents) > 0 {
					return usageError{errors.New("--user-data-dir registers that profile, and goes with no other flag")}
				}
				return installProfile(cmd, home, profile, self)
			}
			if err := known("--browser", browsers, installer.BrowserIDs()); err != nil {
				return err
			}
			if err := known("--agent", agents, installer.AgentIDs()); err != nil {
				return err
			}
			if !asked.dryRun {
				unlock, err := home.LockInstall(cmd.Context())
				if err != nil {
					return err
				}
				defer unlock()
			}
			record, err := installer.ReadRecord(recordFile(home))
			if err != nil {
				return err
			}
			o := installer.Options{Binary: self, HostDir: home.State, Browsers: browsers, Agents: agents, Record: record}
			return install(cmd, home, o, &asked)
		},
	}
	f := cmd.Flags()
	f.StringVar(&profile, "user-data-dir", "", "register this browser profile only (--user-data-dir of the browser)")
	f.StringSliceVar(&browsers, "browser", nil, "only these: "+strings.Join(installer.BrowserIDs(), ", "))
	f.StringSliceVar(&agents, "agent", nil, "only these: "+strings.Join(installer.AgentIDs(), ", "))
	asked.flags(cmd)
	return cmd
}

// recordFile is where is kept what was installed.
func recordFile(home home.Home) string { return filepath.Join(home.State, "install.json") }

// extensionDir is where the extension for a person's own browser lies. It stays the same for every
// version, so that the browser goes on finding it.
func extensionDir(home home.Home) string { return filepath.Join(home.Extensions(), "installed") }

func known(flag string, given, all []string) error {
	for _, id := range given {
		if !slices.Contains(all, id) {
			return usageError{fmt.Errorf("%s %s is not known; it may be %s", flag, id, strings.Join(all, ", "))}
		}
	}
	return nil
}

func installProfile(cmd *cobra.Command, home home.Home, profile, self string) error {
	manifest, err := installer.InstallProfile(profile, self)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "wrote     %s\n", manifest)
	extension, err := unpack.Extension(home.Extensions())
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "extension %s\n", extension)
	return nil
}

func install(cmd *cobra.Command, home home.Home, o installer.Options, asked *asking) error {
	sys, err := installer.ThisSystem()
	if err != nil {
		return err
	}
	steps, err := sys.Plan(o)
	if err != nil {
		return err
	}
	c := newChanger(cmd, steps, o.Record, asked, sys)
	for _, g := range []installer.Group{installer.Browsers, installer.Agents} {
		c.heading(g)
		found := false
		for i := range steps {
			if steps[i].Group == g {
				found = true
				c.make(&steps[i])
			}
		}
		if !found {
			c.sheet.Outcome(string(installer.None), "none that Tidemark knows was found on this machine")
		}
	}
	if !c.interrupted() {
		c.heading(installer.Extension)
		c.unpack(extensionDir(home))
	}
	return c.end()
}

// unpack unpacks the extension, and says how a browser loads it.
func (c *changer) unpack(dir string) {
	if c.asked.dryRun {
		c.sheet.Outcome(string(installer.None), c.short("would be unpacked to "+dir))
		return
	}
	if c.declined() {
		c.sheet.Outcome(string(installer.None), "is not unpacked: nothing was set up that it could serve")
		return
	}
	changed, err := installer.InstallExtension(dir, c.record)
	if err != nil {
		c.fail(c.sheet.Outcome, err)
		return
	}
	detail := "is in " + dir
	if changed {
		detail = "unpacked to " + dir
	}
	c.sheet.Outcome(string(installer.OK), c.short(detail))
	for _, line := range []string{
		"",
		"Load it once in each browser; later versions come to the same place:",
		"  1. open " + render.Bold("chrome://extensions") + " and switch on Developer mode (top right)",
		"  2. press " + render.Bold("Load unpacked") + " and choose " + render.Faint("(Ctrl-L takes a path; on macOS Cmd-Shift-G)"),
		"     " + render.Bold(dir),
		"  3. run " + render.Bold("tidemark doctor") + ": it checks every link from there to your agent",
	} {
		c.sheet.Line("  " + line)
	}
}

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/installer"
	"tidemark.dev/tidemark/installer/settings"
	"tidemark.dev/tidemark/installer/unpack"
)

func newInstall() *cobra.Command {
	var profile string
	var browsers, agents []string
	var asked asking
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Set up Tidemark in your own browsers and agents",
		Long: `Register Tidemark with the browsers on this machine (native-messaging manifests) and with your coding
agents (for most of them with hooks), and unpack the extension to a fixed directory. Install shows each
change as a diff and asks before making it. The rest of each file stays unchanged, byte for byte.
` + "Run `tidemark doctor` to check the installation and `tidemark uninstall` to undo it exactly." + `

With --user-data-dir, install registers only one browser profile and asks nothing.`,
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
					return usageError{errors.New("--user-data-dir cannot be combined with other flags")}
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
			o := installer.Options{Binary: self, HostDir: home.State, Home: os.Getenv(settings.HomeVariable), Browsers: browsers, Agents: agents, Record: record}
			return install(cmd, home, o, &asked)
		},
	}
	f := cmd.Flags()
	f.StringVar(&profile, "user-data-dir", "", "register only this browser profile (the browser's --user-data-dir)")
	f.StringSliceVar(&browsers, "browser", nil, "only these browsers: "+strings.Join(installer.BrowserIDs(), ", "))
	f.StringSliceVar(&agents, "agent", nil, "only these agents: "+strings.Join(installer.AgentIDs(), ", "))
	asked.flags(cmd)
	return cmd
}

// recordFile is the path of the install record.
func recordFile(home home.Home) string { return filepath.Join(home.State, "install.json") }

// extensionDir is the directory of the extension for the user's own browsers. It is the same for every
// version, so that browsers still find it after an update.
func extensionDir(home home.Home) string { return filepath.Join(home.Extensions(), "installed") }

func known(flag string, given, all []string) error {
	for _, id := range given {
		if !slices.Contains(all, id) {
			return usageError{fmt.Errorf("unknown %s %s. Use one of: %s", flag, id, strings.Join(all, ", "))}
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
	if !asked.dryRun {
		if err := sys.RemoveLeftovers(o.Record); err != nil {
			return fmt.Errorf("cannot remove temporary files of a killed installation: %w. Remove them by hand.", err)
		}
	}
	steps, err := sys.Plan(o)
	if err != nil {
		return err
	}
	silent := asked.yes || asked.dryRun // before an answer "all" to the changes
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
			c.sheet.Outcome(string(installer.None), "none that Tidemark supports was found on this machine")
		}
	}
	if !c.interrupted() {
		c.heading(installer.Extension)
		c.unpack(extensionDir(home))
	}
	if !silent && !c.interrupted() && !asked.unanswered {
		c.askConsent(home)
	}
	return c.end()
}

// askConsent asks a user at a terminal whether snapshots of the current project's files are allowed, unless that was
// decided. If they are, it asks about agents' conversations, too. Outside a project, and in a directory that needs --confirm, it asks nothing.
func (c *changer) askConsent(home home.Home) {
	_, out, ok := terminals(c.cmd)
	dir, inProject, err := currentProject()
	if !ok || err != nil || !inProject {
		return
	}
	s := storeIn(home)
	if d, err := s.Lookup(dir); err != nil || d.State != grants.Undecided {
		if err != nil {
			c.heading(currentGroup)
			c.fail(c.sheet.Outcome, err)
		}
		return
	}
	if s.Examine(c.cmd.Context(), dir) != nil {
		return
	}
	c.heading(currentGroup)
	allowed, err := s.Ask(c.cmd.Context(), c.asked.reader(c.cmd), out, dir)
	switch {
	case c.interrupted():
	case errors.Is(err, grants.ErrNoAnswer):
		c.sheet.Outcome(string(installer.None), "nothing was decided")
	case err != nil:
		c.fail(c.sheet.Outcome, err)
	case allowed:
		c.sheet.Outcome(string(installer.OK), "allowed. Run `tidemark project deny` to undo it.")
		c.askRecording(home, s, out, dir)
	default:
		c.sheet.Outcome(string(installer.None), "denied. Run `tidemark project allow` to change it.")
	}
}

// askRecording asks whether agents' conversations in a project are recorded.
func (c *changer) askRecording(home home.Home, s *grants.Store, out io.Writer, dir string) {
	question := "Record what coding agents do in this project, too? Tidemark keeps prompts, calls of tools and their results for 7 days in " +
		grants.Printable(home.Recordings()) + ". Secrets are masked."
	recorded, err := s.AskFor(c.cmd.Context(), c.asked.reader(c.cmd), out, dir, grants.Conversation, question)
	switch {
	case c.interrupted():
	case err != nil && !errors.Is(err, grants.ErrNoAnswer):
		c.fail(c.sheet.Outcome, err)
	case recorded:
		c.sheet.Outcome(string(installer.OK), "recorded. Run `tidemark project allow --revoke conversation` to stop it.")
	default:
		c.sheet.Outcome(string(installer.None), "not recorded. Run `tidemark project allow --grant conversation` to change it.")
	}
}

// unpack unpacks the extension and prints how to load it in a browser.
func (c *changer) unpack(dir string) {
	if c.asked.dryRun {
		c.sheet.Outcome(string(installer.None), c.short("would be unpacked to "+dir))
		return
	}
	if c.declined() {
		c.sheet.Outcome(string(installer.None), "not unpacked: no browser or agent was set up")
		return
	}
	changed, err := installer.InstallExtension(dir, c.record)
	if err != nil {
		c.fail(c.sheet.Outcome, err)
		return
	}
	detail := "unchanged in " + dir
	if changed {
		detail = "unpacked to " + dir
	}
	c.sheet.Outcome(string(installer.OK), c.short(detail))
	for _, line := range []string{
		"",
		"Load it once in each browser. Later versions use the same directory:",
		"  1. Open " + render.Bold("chrome://extensions") + " and turn on Developer mode (top right).",
		"  2. Click " + render.Bold("Load unpacked") + " and choose " + render.Faint("(press Ctrl-L to type a path, Cmd-Shift-G on macOS)"),
		"     " + render.Bold(dir),
		"  3. Run " + render.Bold("tidemark doctor") + " to check every part from the browser to your agent.",
	} {
		c.sheet.Line("  " + line)
	}
}

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/installer"
)

func newUninstall() *cobra.Command {
	var asked asking
	var purge bool
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Take back what install wrote",
		Long: `Takes back exactly what ` + "`tidemark install`" + ` wrote, and ends the daemon. What you have changed since is left,
and said; out of a hook that you have changed it takes its own command alone. Where the record of what was
written is lost, it looks for what is plainly Tidemark's. What was captured and your settings stay unless you say otherwise (--purge removes them).
Remove the extension itself in chrome://extensions.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := home.Find(version)
			if err != nil {
				return err
			}
			if !asked.dryRun {
				unlock, err := h.LockInstall(cmd.Context())
				if err != nil {
					return err
				}
				defer unlock()
			}
			record, err := installer.ReadRecord(recordFile(h))
			if err != nil {
				return err
			}
			return uninstall(cmd, h, record, &asked, purge)
		},
	}
	asked.flags(cmd)
	cmd.Flags().BoolVar(&purge, "purge", false, "remove the journal, checkpoints, settings and the profile of `tidemark browser` too")
	return cmd
}

func uninstall(cmd *cobra.Command, h home.Home, record *installer.Record, asked *asking, purge bool) error {
	sys, err := installer.ThisSystem()
	if err != nil {
		return err
	}
	steps := sys.PlanRemoval(record)
	recorded := len(steps)
	unrecorded := sys.PlanUnrecorded(record, h.State)
	steps = append(steps, unrecorded...)
	c := newChanger(cmd, steps, record, asked, sys)
	elsewhere := os.Getenv(home.Env) != "" // what this home has no record of may be another's
	if elsewhere {
		steps = steps[:recorded]
	}
	if len(record.Written)+len(unrecorded) == 0 {
		c.sheet.Line("Nothing is installed.")
	}
	if elsewhere && len(unrecorded) > 0 {
		c.sheet.Line("This home has no record of these; they are left. Unset " + home.Env + " to take them out:")
		for i := range unrecorded {
			c.sheet.Item(string(installer.None), unrecorded[i].Name, c.short(unrecorded[i].Path))
		}
	}
	for i := range steps {
		if i == recorded {
			c.sheet.Line("There is no record of what follows, but it is plainly Tidemark's:")
			c.group = ""
		}
		st := &steps[i]
		c.make(st)
		if st.Problem == nil && !st.Changes() && !asked.dryRun {
			if err := sys.Forget(st, record); err != nil {
				return err
			}
		}
	}
	if c.interrupted() {
		return c.end()
	}
	if dir := record.Extension(); dir != "" {
		c.heading(installer.Extension)
		if asked.dryRun {
			c.sheet.Outcome(string(installer.None), c.short("would be removed from "+dir))
		} else if err := installer.RemoveExtension(extensionDir(h), record); err != nil {
			c.fail(c.sheet.Outcome, err)
		} else {
			c.sheet.Outcome(string(installer.OK), c.short("removed from "+dir))
			c.sheet.Outcome(string(installer.None), "a browser that has loaded it: remove it in chrome://extensions")
		}
	}
	if err := c.leave(h, purge); err != nil {
		return err
	}
	return c.end()
}

// leave ends the daemon and removes what it keeps, when a person wants that.
func (c *changer) leave(h home.Home, purge bool) error {
	running, err := h.Running()
	if err != nil {
		return err
	}
	kept := h.Kept()
	if !running && len(kept) == 0 {
		if c.asked.dryRun {
			return nil
		}
		return h.Leave()
	}
	c.sheet.Heading("Captures and settings")
	const hint = "`tidemark uninstall --purge` removes them"
	if c.asked.dryRun {
		for _, path := range kept {
			if purge {
				c.sheet.Outcome(string(installer.None), c.short("would be removed: "+path))
			}
		}
		if !purge {
			c.sheet.Outcome(string(installer.None), "would be kept; "+hint)
		}
		return nil
	}
	if running {
		// By its manifest a browser starts a relay, and that the daemon. Those of other browsers are gone by now;
		// `tidemark browser` writes its own whenever it opens one.
		manifest := filepath.Join(h.Profile(), "NativeMessagingHosts", installer.ManifestFile)
		if err := os.Remove(manifest); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err := h.Stop(c.cmd.Context()); err != nil {
			return err
		}
		again, err := h.StartedAgain(c.cmd.Context())
		if err != nil {
			return err
		}
		if again {
			c.fail(c.sheet.Outcome, errors.New("the daemon has ended, and somebody has started it again: a browser that is open, or an agent; "+
				"close the browsers that have Tidemark's extension and end the agents' sessions, then run this again"))
			return nil
		}
		c.sheet.Outcome(string(installer.OK), "the daemon has ended")
		kept = h.Kept() // it may have written its journal only now
	}
	if len(kept) == 0 {
		return h.Leave()
	}
	// --yes agrees to what can be done again; what was captured cannot be had again.
	if !purge && (c.asked.yes || !c.asked.may(c.cmd, c.short("Remove what is in "+h.State+" too?"))) {
		c.sheet.Outcome(string(installer.None), c.short("kept in "+h.State+"; "+hint))
		return h.Leave()
	}
	if ownBrowserOpen(h) {
		c.fail(c.sheet.Outcome, errors.New("the browser that `tidemark browser` opened is still open, and would write its profile again; nothing is removed: close it, then run this again"))
		return nil
	}
	for _, path := range kept {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("what Tidemark keeps cannot be removed: %w", err)
		}
	}
	c.sheet.Outcome(string(installer.OK), c.short("removed from "+h.State))
	return h.Leave()
}

// ownBrowserOpen says whether a browser uses the profile of `tidemark browser`: on Linux and macOS it listens on
// a socket that its profile names. On Windows its files cannot be removed while it does.
func ownBrowserOpen(h home.Home) bool {
	socket, err := os.Readlink(filepath.Join(h.Profile(), "SingletonSocket"))
	if err != nil {
		return false
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/browser"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/dataset"
	"tidemark.dev/tidemark/host/internal/workspace/mounts"
	"tidemark.dev/tidemark/host/internal/workspace/native"
	"tidemark.dev/tidemark/host/internal/workspace/overlay"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/installer"
)

func newUninstall() *cobra.Command {
	var asked asking
	var purge bool
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Undo install",
		Long: `Undo exactly what ` + "`tidemark install`" + ` wrote, and stop the daemon. Entries that you changed since are left
untouched and reported. From a hook that you changed, uninstall removes only Tidemark's command. Without the
install record, it looks for entries that are clearly Tidemark's.
Captured data and settings stay unless you use --purge. Remove the extension itself in chrome://extensions.`,
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
	cmd.Flags().BoolVar(&purge, "purge", false, "also remove the journal, checkpoints, file snapshots, settings and the profile of tidemark browser")
	return cmd
}

func uninstall(cmd *cobra.Command, h home.Home, record *installer.Record, asked *asking, purge bool) error {
	sys, err := installer.ThisSystem()
	if err != nil {
		return err
	}
	if !asked.dryRun {
		if err := sys.RemoveLeftovers(record); err != nil {
			return err
		}
	}
	steps := sys.PlanRemoval(record)
	recorded := len(steps)
	unrecorded := sys.PlanUnrecorded(record, h.State)
	steps = append(steps, unrecorded...)
	c := newChanger(cmd, steps, record, asked, sys)
	elsewhere := os.Getenv(home.Env) != "" // entries without a record here may belong to another home
	if elsewhere {
		steps = steps[:recorded]
	}
	if len(record.Written)+len(unrecorded) == 0 {
		c.sheet.Line("Nothing is installed.")
	}
	if elsewhere && len(unrecorded) > 0 {
		c.sheet.Line("This home has no record of these entries and leaves them untouched. Unset " + home.Env + " to remove them:")
		for i := range unrecorded {
			c.sheet.Item(string(installer.None), unrecorded[i].Name, c.short(unrecorded[i].Path))
		}
	}
	for i := range steps {
		if i == recorded {
			c.sheet.Line("These entries have no install record, but are clearly Tidemark's:")
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
			c.sheet.Outcome(string(installer.None), "if a browser has loaded it, remove it in chrome://extensions")
		}
	}
	if err := c.leave(h, purge); err != nil {
		return err
	}
	return c.end()
}

// leave stops the daemon and, if the user agrees, removes its data.
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
	const hint = "run `tidemark uninstall --purge` to remove them"
	if c.asked.dryRun {
		for _, path := range kept {
			if purge {
				c.sheet.Outcome(string(installer.None), c.short("would be removed: "+path))
			}
		}
		if purge {
			for _, dir := range workspace.Beside(h.Workspaces()) {
				c.sheet.Outcome(string(installer.None), c.short("views of snapshots would be removed: "+dir))
			}
		}
		if !purge {
			c.sheet.Outcome(string(installer.None), "would be kept ("+hint+")")
		}
		return nil
	}
	if running {
		// With its manifest a browser starts a relay, which starts the daemon. The manifests of other browsers are
		// already removed. `tidemark browser` rewrites its own each time.
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
			c.fail(c.sheet.Outcome, errors.New("the daemon stopped, but an open browser or an agent started it again. "+
				"Close browsers with Tidemark's extension and end agent sessions, then run this again"))
			return nil
		}
		c.sheet.Outcome(string(installer.OK), "the daemon stopped")
		kept = h.Kept() // the daemon may have just written its journal
	}
	if len(kept) == 0 {
		return h.Leave()
	}
	// --yes covers only reversible changes, and captured data cannot be restored.
	if !purge && (c.asked.yes || !c.asked.may(c.cmd, c.short("Also remove the data in "+h.State+"?"))) {
		c.sheet.Outcome(string(installer.None), c.short("kept in "+h.State+" ("+hint+")"))
		return h.Leave()
	}
	if browser.InUse(c.cmd.Context(), h.Profile()) {
		c.fail(c.sheet.Outcome, errors.New("the browser from `tidemark browser` is still open and would rewrite its profile. Nothing was removed. Close it, then run this again"))
		return nil
	}
	if err := workspace.DiscardNative(h.Workspaces()); err != nil {
		return fmt.Errorf("cannot remove snapshots of the filesystem: %w", err)
	}
	var branches []string
	for _, dir := range workspace.Beside(h.Workspaces()) {
		with, err := workspace.RemoveViews(dir)
		if err != nil {
			return fmt.Errorf("cannot remove views of snapshots: %w", err)
		}
		if with {
			branches = append(branches, dir)
		}
	}
	for _, path := range kept {
		if err := tracked.RemoveAll(path); err != nil { // views of snapshots cannot be written to
			return fmt.Errorf("cannot remove Tidemark's data: %w", err)
		}
	}
	c.sheet.Outcome(string(installer.OK), c.short("removed from "+h.State))
	if _, err := os.Stat(h.Branches()); err == nil {
		branches = append(branches, h.Branches())
	}
	for _, dir := range branches {
		c.sheet.Outcome(string(installer.None), c.short("branches with your files remain in "+dir+". Delete the directory when you no longer need them."))
		list, err := mounts.Within(dir)
		if err != nil {
			return fmt.Errorf("cannot read which branches are mounted: %w", err)
		}
		for _, m := range list {
			if how := toDelete(m); how != "" {
				c.sheet.Outcome(string(installer.None), c.short(how))
			}
		}
	}
	return h.Leave()
}

// toDelete returns what to do before a mounted branch can be deleted. It is empty for anything else.
func toDelete(m mounts.Mount) string {
	at := native.Argument(m.At)
	switch {
	case dataset.Mounted(m):
		return fmt.Sprintf("to delete %s, run `zfs destroy -r %s` first", at, native.Argument(m.Source))
	case overlay.Is(m.At):
		return fmt.Sprintf("the branch %s is mounted until the system restarts. Copy the files that you need out of it. To delete it, run `sudo umount %s` first", at, at)
	}
	return ""
}

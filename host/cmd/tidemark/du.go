package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/timeline"
)

func newDu() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "du",
		Short: "Show what snapshots, branches and terminals take on disk",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var a timeline.DiskUsage
			return callAndShow(cmd, "timeline_usage", struct{}{}, &a, asJSON, func() error { return showUsage(cmd.OutOrStdout(), &a) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// mib writes a size in MiB.
func mib(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

func showUsage(out io.Writer, a *timeline.DiskUsage) error {
	if len(a.Workspaces)+len(a.Branches)+a.Terminals.Recordings == 0 {
		return render.Line(out, "No file snapshots yet. Run `tidemark project allow` in a project.")
	}
	t := render.Table{}
	for _, w := range a.Workspaces {
		said := fmt.Sprintf("snapshots, budget %d MiB", a.BudgetMiB)
		if w.Missing {
			said = "snapshots of a directory that no longer exists. `tidemark timeline prune --gone` with it deletes them."
		}
		t.Row(mib(w.Bytes), grants.Printable(w.Workspace), render.Faint(said))
		if w.Views > 0 {
			t.Row(mib(w.Views), grants.Printable(w.Workspace), render.Faint("views, removed an hour after they were last asked for"))
		}
	}
	for _, b := range a.Branches {
		t.Row(mib(b.Bytes), grants.Printable(b.Dir), render.Faint("branch "+b.SessionID+"; shared files count in full"))
	}
	t.Row(mib(a.TimelineBytes), "sessions and moments", "")
	if n := a.Terminals; n.Recordings > 0 {
		t.Row(mib(n.Bytes), fmt.Sprintf("%d recordings of terminals", n.Recordings), render.Faint(fmt.Sprintf("kept for %g days, budget %d MiB", n.Days, n.BudgetMiB)))
	}
	return t.Write(out)
}

func newPrune() *cobra.Command {
	var p timeline.PruneParams
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "prune [SESSION]",
		Short: "Delete old file snapshots of a workspace",
		Long: `Delete old file snapshots of a workspace. Without flags, what [snapshots] in config.toml does not keep: by default
500 snapshots, 7 days, 2 GiB. Snapshots of checkpoints, of moments that you added, and of branches are deleted only for --mib,
as the last ones. With --gone and a directory that no longer exists or is not allowed, or one of its sessions, all of its
snapshots are deleted. --denied deletes those with files of a directory in the project that you have denied since.`,
		Example: `  tidemark timeline prune
  tidemark timeline prune --keep 50 --mib 200
  tidemark timeline prune --gone ~/old/shop`,
		Args: maybeSession(),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := aboveZero(cmd, "keep", "days", "mib"); err != nil {
				return err
			}
			switch {
			case p.Gone && len(args) == 0:
				return usageError{errors.New("--gone needs the directory that no longer exists, or one of its sessions. `tidemark du` lists such directories.")}
			case p.Gone && strings.ContainsAny(args[0], `/\`):
				p.Dir, err = grants.Former(args[0])
			default:
				p.Where, err = whereIs(cmd, first(args))
			}
			if err != nil {
				return err
			}
			var a timeline.Pruned
			return callAndShow(cmd, "timeline_prune", p, &a, asJSON, func() error {
				for _, id := range a.Deleted {
					by, forced := a.Forced[id]
					if !forced {
						continue
					}
					if err := render.Line(cmd.OutOrStdout(), "%s was deleted though something refers to it: %s", id, by); err != nil {
						return err
					}
				}
				line := fmt.Sprintf("Deleted %d snapshots, freed %s. %d with %s remain.", len(a.Deleted), mib(a.FreedBytes), a.Kept, mib(a.LeftBytes))
				if p.MiB == 0 && !p.Denied && a.Referred > 0 && (len(a.Deleted) == 0 || p.Count > 0 && a.Kept > p.Count) {
					line += fmt.Sprintf(" %d of them are of moments that you added, checkpoints, branches or restores of the last hour. Only --mib deletes these.", a.Referred)
				}
				if p.MiB > 0 && a.OverBytes > 0 {
					line += fmt.Sprintf(" That is more than %d MiB: deleting other snapshots would free nothing, because the newest one has their contents.", p.MiB)
				}
				return render.Line(cmd.OutOrStdout(), "%s", line)
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&p.Count, "keep", 0, "how many snapshots to keep, unless something refers to more")
	f.Float64Var(&p.Days, "days", 0, "delete what is older")
	f.Int64Var(&p.MiB, "mib", 0, "delete until they take at most this many MiB")
	f.BoolVar(&p.Gone, "gone", false, "delete all snapshots of a directory that no longer exists or is not allowed")
	f.BoolVar(&p.Denied, "denied", false, "delete snapshots with files of directories that you have denied since")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// aboveZero returns an error for a flag that was given with a number that is not more than 0.
func aboveZero(cmd *cobra.Command, flags ...string) error {
	for _, name := range flags {
		if f := cmd.Flags().Lookup(name); f.Changed && (f.Value.String() == "0" || strings.HasPrefix(f.Value.String(), "-")) {
			return usageError{fmt.Errorf("--%s must be more than 0", name)}
		}
	}
	return nil
}

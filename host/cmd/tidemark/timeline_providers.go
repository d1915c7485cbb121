package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/workspace"
)

func newProviders() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "providers [SESSION]",
		Short: "Show the ways to take snapshots of a workspace, and what one costs",
		Long: `Show the ways to take snapshots of a workspace, in the order of preference: which are available, how long a snapshot takes
here, and how views (timeline seek) and branches get their files. Before the first moment, only the filesystem's own snapshots are
measured.`,
		Args: maybeSession(),
		RunE: func(cmd *cobra.Command, args []string) error {
			where, err := whereIs(cmd, first(args))
			if err != nil {
				return err
			}
			var m workspace.Matrix
			return callAndShow(cmd, "timeline_providers", timeline.SessionParams{Where: where}, &m, asJSON, func() error {
				out := cmd.OutOrStdout()
				head := grants.Printable(m.Workspace)
				if m.Filesystem != "" {
					head += " is on " + m.Filesystem
				}
				if err := render.Line(out, "%s", head); err != nil {
					return err
				}
				t := render.Table{Indent: "  "}
				for _, p := range m.Providers {
					if !p.Available {
						t.Row(p.Name, "no", p.Why)
						continue
					}
					t.Row(p.Name, "yes", p.Why)
					t.Row("", "snapshot", costOf(p.Cost))
					t.Row("", "seek", p.Seek)
					t.Row("", "branch", p.Branch)
				}
				return t.Write(out)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// costOf says how long snapshots take, and what was measured.
func costOf(c *workspace.Cost) string {
	switch {
	case c == nil || c.SnapshotMs == 0 && c.FilesystemMs == 0:
		return "measured after the first moment, which reads all files"
	case c.SnapshotMs == 0:
		return fmt.Sprintf("%.1f ms in the filesystem. The record is measured after the first moment, which reads all files", c.FilesystemMs)
	}
	compared := "1"
	if c.Compared == c.Files {
		compared = "all"
	}
	cost := fmt.Sprintf("%.1f ms with %s of %d files compared and none changed", c.SnapshotMs, compared, c.Files)
	if c.FilesystemMs > 0 {
		cost += fmt.Sprintf(", %.1f ms of it in the filesystem", c.FilesystemMs)
	}
	if c.WholeMs > 0 {
		cost += fmt.Sprintf(". %.1f ms with all compared, as at a moment that you add", c.WholeMs)
	}
	switch {
	case c.Recent == 1:
		cost += fmt.Sprintf(". The last moment with changes: %.1f ms", c.RecentMs)
	case c.Recent > 1:
		cost += fmt.Sprintf(". The last %d moments with changes: %.1f ms in the median", c.Recent, c.RecentMs)
	}
	return cost
}

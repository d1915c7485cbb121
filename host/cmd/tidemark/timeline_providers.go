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
		Long: `Show the ways to take snapshots of a workspace, in the order of preference: which are available, how long a snapshot took
just now, and how views (timeline seek) and branches get their files.`,
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
					cost := "%.1f ms for %d files"
					if p.Name == workspace.Provider {
						cost = "%.1f ms where nothing of %d files changed"
					}
					t.Row("", "snapshot", fmt.Sprintf(cost, p.SnapshotMs, p.Files))
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

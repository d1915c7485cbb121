package main

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/pages"
)

func newSnapshot() *cobra.Command {
	var p pages.SnapshotParams
	var asJSON, all bool
	var depth, maxTokens int
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Show the page as an accessibility tree, or what changed in it",
		Long: `Shows the page as an agent sees it: an accessibility tree with a reference for each element. From the
second time on only what changed is shown, as long as it is the same page.`,
		Example: `  tidemark snapshot
  tidemark snapshot --full --all
  tidemark snapshot --search "sign in"
  tidemark snapshot --root e12`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f := cmd.Flags()
			interactive := !all
			p.InteractiveOnly = &interactive
			if f.Changed("depth") {
				p.Depth = &depth
			}
			p.MaxTokens = &maxTokens
			c, err := newClient()
			if err != nil {
				return err
			}
			var raw json.RawMessage
			if err := c.tool(cmd.Context(), "browser_snapshot", p, &raw); err != nil {
				return err
			}
			if asJSON {
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", raw)
				return err
			}
			var s pages.Snapshot
			if err := json.Unmarshal(raw, &s); err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), s.Snapshot)
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVar(&p.FullSnapshot, "full", false, "everything, whatever was shown before")
	f.BoolVar(&p.Diff, "diff", false, "only what changed, however much and however long ago")
	f.BoolVar(&all, "all", false, "text too, not only what is interactive")
	f.IntVar(&p.Tab, "tab", 0, "which tab, by its number in tidemark status")
	f.StringVar(&p.Format, "format", "", "compact (default) or yaml")
	f.StringVar(&p.Root, "root", "", "only what this element holds, such as e12")
	f.IntVar(&depth, "depth", 0, "only so many levels")
	f.StringVar(&p.Search, "search", "", "only lines that contain this, and what they stand in")
	f.IntVar(&maxTokens, "max-tokens", math.MaxInt32, "cut to the most useful part (default: everything)")
	f.Lookup("max-tokens").DefValue = "0" // which help does not show
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

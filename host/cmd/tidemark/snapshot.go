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
		Long: `Show the page as an agent sees it: an accessibility tree with a reference for each element. Later calls
show only what changed, as long as the page is the same.`,
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
			if err := c.Tool(cmd.Context(), "browser_snapshot", p, &raw); err != nil {
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
			_, err = fmt.Fprint(cmd.OutOrStdout(), snapshotInCommands(s.Snapshot))
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVar(&p.FullSnapshot, "full", false, "show the whole page instead of changes")
	f.BoolVar(&p.Diff, "diff", false, "show only changes, even if they are many or old")
	f.BoolVar(&all, "all", false, "include text, not only interactive elements")
	f.IntVar(&p.Tab, "tab", 0, "tab number (see tidemark status)")
	f.StringVar(&p.Format, "format", "", "output format: compact (default) or yaml")
	f.StringVar(&p.Root, "root", "", "only the content of this element, such as e12")
	f.IntVar(&depth, "depth", 0, "maximum number of levels")
	f.StringVar(&p.Search, "search", "", "only lines that contain this text, with their parents")
	f.IntVar(&maxTokens, "max-tokens", math.MaxInt32, "limit in tokens; keeps the most useful part (default: everything)")
	f.Lookup("max-tokens").DefValue = "0" // help does not show a zero default
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

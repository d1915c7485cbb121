package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tidemark.dev/tidemark/host/internal/api"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/report"
)

func newDiff() *cobra.Command {
	var p observe.BetweenParams
	var asJSON, markdown bool
	var failOn string
	cmd := &cobra.Command{
		Use:   "diff FROM [TO]",
		Short: "Show what changed between two moments",
		Long: `Show what changed between two moments. A moment is a checkpoint name, an ISO 8601 time or "now". FROM can also
be an exported checkpoint file. Without TO, the report ends now.
The report is colored text at a terminal and Markdown elsewhere. This command advances no cursor.`,
		Example: `  tidemark diff before_refactor after_refactor
  tidemark diff session_start now --markdown > review.md
  tidemark diff 2026-01-23T10:25:00Z 2026-01-23T10:40:00Z --include console,network
  tidemark diff known_good.json now --fail-on error`,
		Args: someArgs(1, 2, "one moment or two"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFailOn(failOn); err != nil {
				return err
			}
			if asJSON && markdown {
				return usageError{errors.New("--json and --markdown cannot be combined. Use one of them.")}
			}
			p.From, p.To = args[0], observe.Now
			if len(args) > 1 {
				p.To = args[1]
			}
			request := api.DiffRequest{BetweenParams: p}
			if isCheckpointFile(p.From) {
				file, err := readCheckpoint(p.From)
				if err != nil {
					return err
				}
				request.From, request.File = "", file
			}
			if isCheckpointFile(p.To) {
				return usageError{fmt.Errorf("%s is a file, and only FROM can be a file. Run `tidemark import` to turn it into a checkpoint.", p.To)}
			}
			c, err := newClient()
			if err != nil {
				return err
			}
			var raw json.RawMessage
			if err := c.Diff(cmd.Context(), request, &raw); err != nil {
				return err
			}
			if markdown || !asJSON && !isTerminal(cmd.OutOrStdout()) {
				return showMarkdown(cmd, raw, failOn)
			}
			return showAndJudge(cmd, raw, asJSON, failOn)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&p.Include, "include", nil, "sections: "+capture.SectionNames()+" (default all)")
	f.StringVar(&p.Severity, "severity", "", "severities to show: all, warnings or errors_only")
	f.IntVar(&p.Tab, "tab", 0, "only this tab (see tidemark status)")
	f.BoolVar(&asJSON, "json", false, "print the JSON that an agent gets")
	f.BoolVar(&markdown, "markdown", false, "print Markdown at a terminal too")
	f.StringVar(&failOn, "fail-on", "", "exit with code 4 at this severity or higher: error or warning")
	return cmd
}

func showMarkdown(cmd *cobra.Command, raw json.RawMessage, failOn string) error {
	var r report.Report
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	if err := render.Markdown(cmd.OutOrStdout(), &r); err != nil {
		return err
	}
	return judge(&r, failOn)
}

// isTerminal reports whether out is a terminal.
func isTerminal(out any) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tidemark.dev/tidemark/host/internal/api"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/viewclient"
)

func newChanges() *cobra.Command {
	var p observe.ChangesParams
	var asJSON, watch bool
	var timeout int
	var failOn string
	cmd := &cobra.Command{
		Use:   "changes",
		Short: "Show what changed since you last asked",
		Long: `Show what changed in the watched tabs since you last asked, or since a checkpoint, a time or an exported
checkpoint file.
Only calls without --since advance your cursor. --watch never advances it. With --fail-on, it exits when the severity
is reached.`,
		Example: `  tidemark changes
  tidemark changes --since before_refactor
  tidemark changes --since 2026-01-23T10:25:00Z --include console,network
  tidemark changes --since known_good.json --wait settled --fail-on error`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("timeout") {
				p.TimeoutMs = &timeout
			}
			if err := checkFailOn(failOn); err != nil {
				return err
			}
			c, err := newClient()
			if err != nil {
				return err
			}
			if isCheckpointFile(p.Checkpoint) {
				if watch {
					return usageError{errors.New("--watch cannot compare with a file. Use a checkpoint name or a time.")}
				}
				return compareChanges(cmd, c, p, asJSON, failOn)
			}
			if watch {
				return watchChanges(cmd, c, p, asJSON, failOn)
			}
			var raw json.RawMessage
			if err := c.Tool(cmd.Context(), "get_changes_since", p, &raw); err != nil {
				return err
			}
			return showAndJudge(cmd, raw, asJSON, failOn)
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.Checkpoint, "since", "", "checkpoint name, moment (m12), ISO 8601 time or exported checkpoint file (default: your last call)")
	f.StringSliceVar(&p.Include, "include", nil, "sections: "+capture.SectionNames()+" (default all)")
	f.StringVar(&p.Severity, "severity", "", "severities to show: all, warnings or errors_only")
	f.StringVar(&p.Wait, "wait", "", "what to wait for: none, settled or reload")
	f.IntVar(&timeout, "timeout", 3000, "time limit of --wait in milliseconds")
	f.IntVar(&p.Tab, "tab", 0, "only this tab (see tidemark status)")
	f.BoolVar(&asJSON, "json", false, "print the JSON that an agent gets")
	f.BoolVar(&watch, "watch", false, "keep running and show changes as they happen")
	f.StringVar(&failOn, "fail-on", "", "exit with code 4 at this severity or higher: error or warning")
	return cmd
}

// compareChanges compares with an exported checkpoint.
func compareChanges(cmd *cobra.Command, c *viewclient.Client, p observe.ChangesParams, asJSON bool, failOn string) error {
	file, err := readCheckpoint(p.Checkpoint)
	if err != nil {
		return err
	}
	p.Checkpoint = ""
	var raw json.RawMessage
	if err := c.Compare(cmd.Context(), api.FileRequest{File: file, ChangesParams: p}, &raw); err != nil {
		return err
	}
	return showAndJudge(cmd, raw, asJSON, failOn)
}

// showAndJudge shows a report and fails when its severity reaches --fail-on.
func showAndJudge(cmd *cobra.Command, raw json.RawMessage, asJSON bool, failOn string) error {
	var r report.Report
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	if err := show(cmd.OutOrStdout(), raw, asJSON, &r); err != nil {
		return err
	}
	return judge(&r, failOn)
}

func checkFailOn(failOn string) error {
	if failOn != "" && failOn != "error" && failOn != "warning" {
		return usageError{fmt.Errorf("--fail-on must be error or warning, not %q", failOn)}
	}
	return nil
}

// judge fails when the severity of a report reaches --fail-on. A report of nothing cannot pass it.
func judge(r *report.Report, failOn string) error {
	switch {
	case failOn == "":
	case reaches(r, failOn):
		return errConditionHeld
	case r.Coverage != nil && r.Coverage.Unwatched:
		return usererr.New(usererr.NoBrowser, "--fail-on has nothing to check: %s. Open the page with `tidemark browser URL` and run this again", r.Coverage.Note)
	}
	return nil
}

// reaches reports whether the severity of a report reaches --fail-on.
func reaches(r *report.Report, failOn string) bool {
	return failOn != "" && (r.Severity == report.Error || r.Severity == report.Warning && failOn == "warning")
}

// watchChanges shows reports until the command is interrupted, or until one reaches --fail-on.
func watchChanges(cmd *cobra.Command, c *viewclient.Client, p observe.ChangesParams, asJSON bool, failOn string) error {
	out := cmd.OutOrStdout()
	first := true
	return c.Watch(cmd.Context(), p, func(line []byte) error {
		var r report.Report
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		if !first && r.Empty() {
			return nil
		}
		if !first && !asJSON {
			fmt.Fprintln(out)
		}
		first = false
		if err := show(out, line, asJSON, &r); err != nil {
			return err
		}
		if reaches(&r, failOn) {
			return errConditionHeld
		}
		return nil
	})
}

func show(out io.Writer, raw []byte, asJSON bool, r *report.Report) error {
	if asJSON {
		_, err := fmt.Fprintf(out, "%s\n", raw)
		return err
	}
	width, _ := terminalColumns(out)
	return render.Report(out, r, width)
}

// terminalColumns returns the width of the terminal in columns, 0 and false when the output is none.
func terminalColumns(out io.Writer) (int, bool) {
	f, ok := out.(*os.File)
	if !ok {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 0, false
	}
	return width, true
}

package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/rawtext"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/variables"
)

// pagingFlags adds the flags that every raw read takes.
func pagingFlags(cmd *cobra.Command, p *observe.ReadParams) (asJSON *bool) {
	f := cmd.Flags()
	f.Uint64Var(new(uint64), "after", 0, "continue after this position (default: the newest entries)")
	f.Int("limit", 100, "number of entries, from 1 to 1000")
	f.IntVar(&p.Tab, "tab", 0, "only this tab (see tidemark status)")
	most := f.Int("max-tokens", math.MaxInt32, "limit in tokens (default: everything)")
	f.Lookup("max-tokens").DefValue = "0" // help does not show a zero default
	cmd.PreRunE = func(*cobra.Command, []string) error {
		p.MaxTokens = most
		if f.Changed("after") {
			n, err := f.GetUint64("after")
			if err != nil {
				return err
			}
			p.After = &n
		}
		if f.Changed("limit") {
			n, err := f.GetInt("limit")
			if err != nil {
				return err
			}
			p.Limit = &n
		}
		return nil
	}
	asJSON = f.Bool("json", false, "print the JSON that an agent gets")
	return asJSON
}

// rest prints what a page does not have, and how to read it.
func rest[T any](cmd *cobra.Command, page *observe.Listing[T]) error {
	out := cmd.OutOrStdout()
	var lines []string
	switch {
	case page.Total == 0 && page.Files == 0:
		return render.Line(out, "no entries yet")
	case page.Left > 0:
		lines = append(lines, fmt.Sprintf("%d left out to fit --max-tokens. Continue with --after %d", page.Left, *page.Next))
	case page.Next != nil:
		lines = append(lines, fmt.Sprintf("%d of %d shown. Continue with --after %d", len(page.Entries), page.Total, *page.Next))
	case page.Total > len(page.Entries):
		lines = append(lines, fmt.Sprintf("newest %d of %d. Use --limit to show more", len(page.Entries), page.Total))
	}
	if page.Files > 0 {
		lines = append(lines, fmt.Sprintf("%d loaded files are not listed. Use --url / to list them", page.Files))
	}
	if len(page.Missing) > 0 {
		lines = append(lines, fmt.Sprintf("no longer kept, or not in scope: %s", strings.Trim(fmt.Sprint(page.Missing), "[]")))
	}
	for _, line := range lines {
		if err := render.Line(out, "%s", render.Faint(line)); err != nil {
			return err
		}
	}
	return nil
}

func at(h observe.EntryHead) string { return clock(h.At) }

func clock(t report.Time) string { return render.Faint(t.Local().Format("15:04:05.000")) }

// times returns how often equal entries occurred, "" for one.
func times(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" ×%d", n)
}

func newLogs() *cobra.Command {
	var p observe.LogsParams
	cmd := &cobra.Command{Use: "logs", Short: "Show console entries", Args: noArgs}
	asJSON := pagingFlags(cmd, &p.ReadParams)
	cmd.Flags().StringVar(&p.Level, "level", "", "lowest level: debug, log, info, warning or error")
	cmd.Flags().StringVar(&p.Search, "search", "", "only messages that contain this text (case-insensitive)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var page observe.Listing[observe.LogEntry]
		return callAndShow(cmd, "get_browser_logs", p, &page, *asJSON, func() error {
			for _, g := range observe.Folded(page.Entries) {
				e := g.First
				if err := render.Line(cmd.OutOrStdout(), "%s  %s  %s%s  %s", at(e.EntryHead), render.Level(e.Level), variables.Quote(e.Message), times(len(g.Positions)), render.Faint(render.Flat(report.Marked(e.Source, e.Generated)))); err != nil {
					return err
				}
			}
			return rest(cmd, &page)
		})
	}
	return cmd
}

func newNetwork() *cobra.Command {
	var p observe.BodiesParams
	var bodies bool
	cmd := &cobra.Command{
		Use:   "network [POSITION...]",
		Short: "Show requests, or the headers and bodies of some",
		Example: `  tidemark network
  tidemark network --status-min 400 --bodies
  tidemark network 12 15`,
	}
	asJSON := pagingFlags(cmd, &p.ReadParams)
	cmd.Flags().StringVar(&p.Method, "method", "", "only this method")
	cmd.Flags().StringVar(&p.URL, "url", "", "only URLs that contain this text")
	cmd.Flags().IntVar(&p.StatusMin, "status-min", 0, "only this status or higher (400: failures)")
	cmd.Flags().BoolVar(&bodies, "bodies", false, "show headers and bodies")
	cmd.Args = func(_ *cobra.Command, args []string) error {
		for _, arg := range args {
			position, err := strconv.ParseUint(arg, 10, 64)
			if err != nil {
				return usageError{fmt.Errorf("%q is not a position. `tidemark network` lists requests with their positions.", arg)}
			}
			p.Positions = append(p.Positions, position)
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if bodies || len(p.Positions) > 0 {
			var page observe.Listing[observe.BodiesEntry]
			return callAndShow(cmd, "get_network_bodies", p, &page, *asJSON, func() error { return showBodies(cmd, &page) })
		}
		var page observe.Listing[observe.RequestEntry]
		return callAndShow(cmd, "get_network_requests", p.RequestsParams, &page, *asJSON, func() error {
			t := render.Table{}
			for _, g := range observe.Folded(page.Entries) {
				t.Row(requestCells(&g)...)
			}
			if err := t.Write(cmd.OutOrStdout()); err != nil {
				return err
			}
			return rest(cmd, &page)
		})
	}
	return cmd
}

// requestCells returns the cells of a table of requests.
func requestCells(g *observe.Group[observe.RequestEntry]) []string {
	e := g.First
	address := e.URL + times(len(g.Positions))
	for _, more := range []string{e.Operation, report.Marked(e.Initiator, e.Generated), e.Caller(), e.Detail} {
		if more = strings.TrimSpace(render.Flat(more)); more != "" {
			address += "  " + render.Faint(more)
		}
	}
	return []string{
		rawtext.Positions(g.Positions, true), clock(e.StartedAt), render.Status(e.Status, e.Error, e.Canceled), event.Method(e.Method), rawtext.Range(g.Least, g.Most) + " ms", e.Resource, address,
	}
}

// showBodies shows requests with what was sent and received.
func showBodies(cmd *cobra.Command, page *observe.Listing[observe.BodiesEntry]) error {
	out := cmd.OutOrStdout()
	for i := range page.Entries {
		e := &page.Entries[i]
		t := render.Table{}
		t.Row(requestCells(&observe.Folded([]observe.RequestEntry{e.RequestEntry})[0])...)
		if err := t.Write(out); err != nil {
			return err
		}
		for _, line := range e.Sent() {
			if err := render.Line(out, "  %s", render.Flat(line)); err != nil {
				return err
			}
		}
	}
	return rest(cmd, page)
}

func newWebSocket() *cobra.Command {
	var p observe.SocketParams
	cmd := &cobra.Command{Use: "websocket", Short: "Show WebSocket events", Args: noArgs}
	asJSON := pagingFlags(cmd, &p.ReadParams)
	cmd.Flags().StringVar(&p.URL, "url", "", "only URLs that contain this text")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var page observe.Listing[observe.SocketEntry]
		return callAndShow(cmd, "get_websocket_events", p, &page, *asJSON, func() error {
			t := render.Table{}
			for _, g := range observe.Folded(page.Entries) {
				e := g.First
				text := e.Text
				if e.Binary {
					text = fmt.Sprintf("(binary, %d bytes)", e.Size)
				}
				t.Row(at(e.EntryHead), e.Event, e.URL, text+times(len(g.Positions)))
			}
			if err := t.Write(cmd.OutOrStdout()); err != nil {
				return err
			}
			return rest(cmd, &page)
		})
	}
	return cmd
}

func newActions() *cobra.Command {
	var p observe.ActionsParams
	cmd := &cobra.Command{Use: "actions", Short: "Show the user's actions in the browser", Args: noArgs}
	asJSON := pagingFlags(cmd, &p.ReadParams)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var page observe.Listing[observe.ActionEntry]
		return callAndShow(cmd, "get_enhanced_actions", p, &page, *asJSON, func() error {
			t := render.Table{}
			for _, g := range observe.Folded(page.Entries) {
				e := g.First
				value := ""
				if e.Value != "" {
					value = fmt.Sprintf("= %q", e.Value)
				}
				t.Row(at(e.EntryHead), e.Type, e.Target, value+times(len(g.Positions)))
			}
			if err := t.Write(cmd.OutOrStdout()); err != nil {
				return err
			}
			return rest(cmd, &page)
		})
	}
	return cmd
}

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/render"
)

// pagingFlags adds the flags that every raw read takes.
func pagingFlags(cmd *cobra.Command, p *observe.ReadParams) (asJSON *bool) {
	f := cmd.Flags()
	f.Uint64Var(new(uint64), "after", 0, "continue after this position (default: the newest entries)")
	f.Int("limit", 100, "number of entries, from 1 to 1000")
	f.IntVar(&p.Tab, "tab", 0, "only this tab (see tidemark status)")
	cmd.PreRunE = func(*cobra.Command, []string) error {
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
	return f.Bool("json", false, "print the JSON that an agent gets")
}

// rest prints how to read more entries.
func rest[T any](cmd *cobra.Command, page *observe.Listing[T]) error {
	out := cmd.OutOrStdout()
	switch {
	case page.Total == 0:
		return render.Line(out, "no entries yet")
	case page.Next > 0:
		return render.Line(out, "%s", render.Faint(fmt.Sprintf("%d of %d shown. Continue with --after %d", len(page.Entries), page.Total, page.Next)))
	case page.Total > len(page.Entries):
		return render.Line(out, "%s", render.Faint(fmt.Sprintf("newest %d of %d. Use --limit to show more", len(page.Entries), page.Total)))
	}
	return nil
}

func at(h observe.EntryHead) string { return render.Faint(h.At.Local().Format("15:04:05.000")) }

func newLogs() *cobra.Command {
	var p observe.LogsParams
	cmd := &cobra.Command{Use: "logs", Short: "Show console entries", Args: noArgs}
	asJSON := pagingFlags(cmd, &p.ReadParams)
	cmd.Flags().StringVar(&p.Level, "level", "", "lowest level: debug, log, info, warning or error")
	cmd.Flags().StringVar(&p.Search, "search", "", "only messages that contain this text (case-insensitive)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var page observe.Listing[observe.LogEntry]
		return callAndShow(cmd, "get_browser_logs", p, &page, *asJSON, func() error {
			for _, e := range page.Entries {
				if err := render.Line(cmd.OutOrStdout(), "%s  %s  %s  %s", at(e.EntryHead), render.Level(e.Level), render.Flat(e.Message), render.Faint(render.Flat(diff.Marked(e.Source, e.Generated)))); err != nil {
					return err
				}
			}
			return rest(cmd, &page)
		})
	}
	return cmd
}

func newNetwork() *cobra.Command {
	var p observe.NetworkParams
	cmd := &cobra.Command{Use: "network", Short: "Show requests", Args: noArgs}
	asJSON := pagingFlags(cmd, &p.ReadParams)
	cmd.Flags().StringVar(&p.Method, "method", "", "only this method")
	cmd.Flags().StringVar(&p.URL, "url", "", "only URLs that contain this text")
	cmd.Flags().IntVar(&p.StatusMin, "status-min", 0, "only this status or higher (400: failures)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var page observe.Listing[observe.NetworkEntry]
		return callAndShow(cmd, "get_network_bodies", p, &page, *asJSON, func() error {
			t := render.Table{}
			for _, e := range page.Entries {
				t.Row(at(e.EntryHead), render.Status(e.Status, e.Error, e.Canceled), e.Method, fmt.Sprintf("%.0f ms", e.DurationMs), e.Resource, e.URL)
			}
			if err := t.Write(cmd.OutOrStdout()); err != nil {
				return err
			}
			return rest(cmd, &page)
		})
	}
	return cmd
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
			for _, e := range page.Entries {
				text := e.Text
				if e.Binary {
					text = fmt.Sprintf("(binary, %d bytes)", e.Size)
				}
				t.Row(at(e.EntryHead), e.Event, e.URL, text)
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
			for _, e := range page.Entries {
				value := ""
				if e.Value != "" {
					value = fmt.Sprintf("= %q", e.Value)
				}
				t.Row(at(e.EntryHead), e.Type, e.Target, value)
			}
			if err := t.Write(cmd.OutOrStdout()); err != nil {
				return err
			}
			return rest(cmd, &page)
		})
	}
	return cmd
}

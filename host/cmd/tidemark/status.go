package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/variables"
	"tidemark.dev/tidemark/host/internal/viewer"
	"tidemark.dev/tidemark/host/internal/workspace"
)

func newStatus() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show connected browsers, watched tabs and clients",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, unreadable, err := anyClient()
			if err != nil {
				return err
			}
			if unreadable != nil {
				warnUnreadable(cmd, unreadable)
			}
			var raw json.RawMessage
			if err := c.Status(cmd.Context(), &raw); err != nil {
				return err
			}
			if asJSON {
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", raw)
				return err
			}
			var s viewer.Status
			if err := json.Unmarshal(raw, &s); err != nil {
				return err
			}
			if unreadable != nil {
				s.Summary = "" // it would be about no page
			}
			return showStatus(cmd, &s)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func showStatus(cmd *cobra.Command, s *viewer.Status) error {
	out := cmd.OutOrStdout()
	if s.Summary != "" {
		how, what := render.Standing(s.Severity, s.Summary)
		if err := render.Line(out, "%s  %s", how, what); err != nil {
			return err
		}
	}
	if err := render.Line(out, "%s", render.Faint(fmt.Sprintf("   tidemark %s, pid %d, %s", s.Version, s.PID, s.Socket))); err != nil {
		return err
	}
	if h := s.HTTP; h != nil {
		line := fmt.Sprintf("   agents over HTTP: %s, token in %s", h.URL, h.TokenFile)
		if h.Problem != "" {
			line = "   cannot serve agents over HTTP: " + h.Problem
		}
		if err := render.Line(out, "%s", render.Faint(line)); err != nil {
			return err
		}
	}
	if j := s.Journal; j != nil {
		for _, n := range j.Notices {
			if err := render.Line(out, "\n%s", n); err != nil {
				return err
			}
		}
		if j.Problem != "" {
			if err := render.Line(out, "\nCannot save captured data: %s", j.Problem); err != nil {
				return err
			}
		}
	}
	if s.SettingsProblem != "" {
		if err := render.Line(out, "\nThe daemon keeps its last settings: %s", s.SettingsProblem); err != nil {
			return err
		}
	}
	for _, problem := range slices.Concat(s.Unrecorded, s.NoiseProblems) {
		if err := render.Line(out, "\n%s", problem); err != nil {
			return err
		}
	}
	if s.Mistimed > 0 {
		if err := render.Line(out, "\nEvents with an impossible time, which have the time of their arrival instead: %d.", s.Mistimed); err != nil {
			return err
		}
	}
	if len(s.Browsers) == 0 {
		if err := render.Line(out, "\nNo browser is connected. Run `tidemark browser URL` to open one."); err != nil {
			return err
		}
	}
	for _, b := range s.Browsers {
		state := ""
		if !b.Connected {
			state = "  not connected"
		}
		if err := render.Line(out, "\n%s  %s", render.Bold(b.Name), render.Faint("extension "+b.Extension+state)); err != nil {
			return err
		}
		t := render.Table{Indent: "  "}
		for _, tab := range b.Tabs {
			watched := "watched"
			if !tab.Watched {
				watched = render.Faint("not watched")
			}
			title := tab.Title
			if title != "" {
				title = variables.Quote(title)
			}
			t.Row(fmt.Sprint(tab.ID), watched, event.Unbroken(tab.URL), render.Faint(title), tab.Note)
		}
		if err := t.Write(out); err != nil {
			return err
		}
	}
	if err := showWorkspaces(out, s.Workspaces); err != nil {
		return err
	}
	if len(s.Clients) > 0 {
		if err := render.Line(out, "\n%s", render.Bold("Clients")); err != nil {
			return err
		}
		t := render.Table{Indent: "  "}
		for _, c := range s.Clients {
			suspended := ""
			if c.Held {
				suspended = "suspended"
			}
			t.Row(c.Name, c.Scope, render.Faint("since "+c.Since.Local().Format("15:04:05")), suspended)
		}
		return t.Write(out)
	}
	return nil
}

func showWorkspaces(out io.Writer, list []workspace.Status) error {
	if len(list) == 0 {
		return nil
	}
	if err := render.Line(out, "\n%s", render.Bold("Workspaces")); err != nil {
		return err
	}
	t := render.Table{Indent: "  "}
	for _, w := range list {
		snapshots := "file snapshots"
		if w.Snapshots == 1 {
			snapshots = "file snapshot"
		}
		said := fmt.Sprintf("%d %s, %.1f MiB, %s", w.Snapshots, snapshots, float64(w.Bytes)/(1<<20), w.Provider)
		if w.Limited != "" {
			said += ". Each compares all files: " + strings.TrimSuffix(w.Limited, ".")
		}
		if w.Views != "" {
			said += ". Views and branches are in " + grants.Printable(w.Views)
		}
		t.Row(grants.Printable(w.Dir), said)
	}
	return t.Write(out)
}

package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/lazyregexp"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
)

func newSession() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "Manage sessions of the timeline",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	one := func(use, short, tool, done string) *cobra.Command {
		var asJSON bool
		c := &cobra.Command{
			Use: use, Short: short, Args: oneDir(),
			RunE: func(cmd *cobra.Command, args []string) error {
				id := ""
				if tool == "session_show" && isSession(first(args)) {
					id, args = args[0], nil
				}
				where, err := whereIs(cmd, id, args...)
				if err != nil {
					return err
				}
				var a answers.About
				return callAndShow(cmd, tool, timeline.SessionParams{Where: where}, &a, asJSON, func() error {
					state := done
					if a.Ended != nil && done == "" {
						state = "  ended " + a.Ended.Local().Format("2006-01-02 15:04") + ". To start another one, run `tidemark session start`."
					}
					return render.Line(cmd.OutOrStdout(), "%s  %s%s", render.Bold(a.ID), grants.Printable(a.Workspace), state)
				})
			},
		}
		c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
		return c
	}
	cmd.AddCommand(
		one("start [DIR]", "Start a session in a directory, unless one is open", "session_start", ""),
		newSessionList(),
		one("show [DIR | SESSION]", "Show the last session of a directory, or one by its ID", "session_show", ""),
		one("end [DIR]", "End the session of a directory", "session_end", "  ended"),
	)
	return cmd
}

// isSession reports whether an argument can only be the ID of a session: it is not a path, and nothing has that name.
func isSession(arg string) bool {
	_, err := os.Lstat(arg)
	return arg != "" && err != nil && filepath.Base(arg) == arg && sessionID().MatchString(arg)
}

// sessionID is how the ID of a session looks.
var sessionID = lazyregexp.New(`^[^/\\]+-[0-9]+$`)

func newSessionList() *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "list [DIR]",
		Short: "List the sessions of a directory, the newest first",
		Args:  oneDir(),
		RunE: func(cmd *cobra.Command, args []string) error {
			var p timeline.SessionsParams
			if !all {
				where, err := whereIs(cmd, "", args...)
				if err != nil {
					return err
				}
				p.Dir = where.Dir
			}
			var a answers.Sessions
			return callAndShow(cmd, "session_list", p, &a, asJSON, func() error {
				if len(a.Sessions) == 0 {
					return render.Line(cmd.OutOrStdout(), "No sessions yet. An agent's first moment begins one, or `tidemark session start`.")
				}
				t := render.Table{}
				for _, s := range a.Sessions {
					state := "open"
					if s.Ended != nil {
						state = "ended " + s.Ended.Local().Format("15:04")
					}
					if s.BranchOf != nil {
						state += ", branch of " + s.BranchOf.Session
					}
					t.Row(s.Started.Local().Format("2006-01-02 15:04"), s.ID, grants.Printable(s.Workspace), state)
				}
				return t.Write(cmd.OutOrStdout())
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&all, "all", false, "list the sessions of all directories")
	return cmd
}

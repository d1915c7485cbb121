package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/render"
)

func newRecordings() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "recordings",
		Short: "Manage recorded conversations of agents",
		Long: `Manage recorded conversations of agents: prompts, calls of tools and their results. They are recorded only in projects
with the grant conversation (tidemark project allow --grant conversation). Secrets in them are masked.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRecordingsList(), newRecordingsShow(), newRecordingsRemove(), newRecordingsPrune())
	return cmd
}

func newRecordingsList() *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "list [DIR]",
		Short: "List the recorded conversations of a directory, the newest first",
		Args:  oneDir(),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			var p conversation.ListParams
			if !all {
				if p.Dir = first(args); p.Dir == "" {
					if p.Dir, _, err = currentProject(); err != nil {
						return err
					}
				}
				if p.Dir, err = grants.Former(p.Dir); err != nil {
					return err
				}
			}
			var a conversation.Listed
			return callAndShow(cmd, "recording_list", p, &a, asJSON, func() error { return showRecordings(cmd.OutOrStdout(), &a) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&all, "all", false, "list the conversations of all directories")
	return cmd
}

func showRecordings(out io.Writer, a *conversation.Listed) error {
	if len(a.Recordings) == 0 {
		return render.Line(out, "No recorded conversations. `tidemark project allow --grant conversation` turns the recording on.")
	}
	t := render.Table{Cut: 2, Paths: true}
	if width, ok := terminalColumns(out); ok {
		t.Width = width
	}
	for _, r := range a.Recordings {
		what := fmt.Sprintf("%s, %s, %s", plural(r.Prompts, "prompt"), plural(r.Calls, "call"), mib(r.Bytes))
		if r.Cut {
			what += ", the file is cut off"
		}
		if r.Problem != "" {
			what = event.OneLine(r.Problem)
		}
		t.Row(r.Last.Local().Format("2006-01-02 15:04"), r.ID, grants.Printable(r.Workspace), render.Faint(what))
	}
	return t.Write(out)
}

func newRecordingsShow() *cobra.Command {
	var p conversation.ShowParams
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show RECORDING",
		Short: "Show a recorded conversation",
		Long:  "Show a recorded conversation: prompts, and the calls that followed. --call shows the input and the output of a call.",
		Args:  someArgs(1, 1, "one recording"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.ID = args[0]
			var a conversation.Shown
			return callAndShow(cmd, "recording_show", p, &a, asJSON, func() error {
				if p.Call != "" {
					return showCall(cmd.OutOrStdout(), &a)
				}
				return showConversation(cmd.OutOrStdout(), &a.Outline)
			})
		},
	}
	cmd.Flags().StringVar(&p.Call, "call", "", "the ID of a call whose input and output to show")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// showCall shows the input and the output of a call as indented JSON.
func showCall(out io.Writer, a *conversation.Shown) error {
	for _, part := range []struct {
		name string
		data json.RawMessage
	}{{"input", a.Input}, {"output", a.Output}} {
		if len(part.data) == 0 {
			continue
		}
		var b bytes.Buffer
		if err := json.Indent(&b, part.data, "", "  "); err != nil {
			return err
		}
		if err := render.Line(out, "%s\n%s", render.Bold(part.name), event.Clean(b.String())); err != nil {
			return err
		}
	}
	return nil
}

func showConversation(out io.Writer, o *conversation.Outline) error {
	if err := render.Line(out, "%s  %s", render.Bold(o.ID), render.Faint(o.Agent+" "+event.OneLine(o.Session)+"  "+grants.Printable(o.Workspace))); err != nil {
		return err
	}
	for _, t := range o.Turns {
		prompt := event.OneLine(t.Prompt)
		if prompt == "" {
			prompt = render.Faint("before the first recorded prompt")
		}
		if err := render.Line(out, "%s  %s", t.At.Local().Format("15:04:05"), cutTo(prompt, 160)); err != nil {
			return err
		}
		if err := showCalls(out, t.Calls, "  "); err != nil {
			return err
		}
		if t.Said != "" {
			if err := render.Line(out, "  %s", render.Faint("said: "+cutTo(event.OneLine(t.Said), 160))); err != nil {
				return err
			}
		}
	}
	if o.Cut {
		if err := render.Line(out, "The file is damaged: it ends within an event. %s and %s before that are shown. What followed is missing.", plural(o.Prompts, "prompt"), plural(o.Info.Calls, "call")); err != nil {
			return err
		}
	}
	if text := coverageOf(&o.Coverage); text != "" {
		return render.Line(out, "%s", render.Faint(text))
	}
	return nil
}

func showCalls(out io.Writer, calls []*conversation.Called, indent string) error {
	for _, c := range calls {
		if err := render.Line(out, "%s%s  %s  %s", indent, c.Started.Local().Format("15:04:05"), cutTo(event.OneLine(c.Title()), 120), render.Faint(outcomeOf(c))); err != nil {
			return err
		}
		if err := showCalls(out, c.Calls, indent+"  "); err != nil {
			return err
		}
	}
	return nil
}

// outcomeOf says how a call ended.
func outcomeOf(c *conversation.Called) string {
	var words []string
	switch {
	case c.Outcome != "" && c.Outcome != conversation.OK:
		words = append(words, c.Outcome)
	case c.Ended == nil:
		words = append(words, "no result")
	}
	if c.DurationMs > 0 {
		words = append(words, render.Duration(int64(c.DurationMs)))
	}
	if c.Source == conversation.FromTranscript {
		words = append(words, "from the transcript")
	}
	return strings.Join(append(words, c.ID), ", ")
}

// coverageOf says what of a conversation was not observed, "" for nothing.
func coverageOf(c *conversation.SourceCoverage) string {
	var words []string
	for _, w := range []struct {
		n         int
		one, many string
	}{
		{c.OnlyHook, "call is not in the transcript", "calls are not in the transcript"},
		{c.OnlyTranscript, "call or prompt was reported by no hook", "calls and prompts were reported by no hook"},
		{c.Unknown, "line of the transcript has an unknown type", "lines of the transcript have an unknown type"},
		{c.Damaged, "line cannot be read", "lines cannot be read"},
		{c.Lost, "or more events of hooks were lost: no daemon ran, and the spool was full", "or more events of hooks were lost: no daemon ran, and the spool was full"},
		{c.Masked, "secret was masked", "secrets were masked"},
	} {
		switch {
		case w.n == 1:
			words = append(words, "1 "+w.one)
		case w.n > 1:
			words = append(words, fmt.Sprintf("%d %s", w.n, w.many))
		}
	}
	if c.Unread > 0 {
		words = append(words, mib(c.Unread)+" of the transcript are not read yet")
	}
	return strings.Join(words, "; ")
}

// cutTo shortens a text to a number of characters.
func cutTo(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}

func newRecordingsRemove() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "rm RECORDING...",
		Short: "Delete recorded conversations",
		Args:  someArgs(1, 1000, "recordings"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var a conversation.Removed
			return callAndShow(cmd, "recording_remove", conversation.RemoveParams{IDs: args}, &a, asJSON, func() error { return showRemoved(cmd.OutOrStdout(), &a) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newRecordingsPrune() *cobra.Command {
	var p conversation.PruneParams
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Delete old recorded conversations",
		Long: `Delete old recorded conversations. Without flags, what [recordings] in config.toml does not keep: by default 7 days and
1024 MiB.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := aboveZero(cmd, "days", "mib"); err != nil {
				return err
			}
			var a conversation.Removed
			return callAndShow(cmd, "recording_prune", p, &a, asJSON, func() error { return showRemoved(cmd.OutOrStdout(), &a) })
		},
	}
	f := cmd.Flags()
	f.Float64Var(&p.Days, "days", 0, "delete those without an event for this many days")
	f.Int64Var(&p.MiB, "mib", 0, "delete the oldest until all take at most this many MiB")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func showRemoved(out io.Writer, a *conversation.Removed) error {
	return render.Line(out, "Deleted %s, freed %s.", plural(len(a.IDs), "recording"), mib(a.FreedBytes))
}

// plural returns a number of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

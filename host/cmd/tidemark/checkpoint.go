package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/render"
)

func newCheckpoint() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "checkpoint",
		Short: "Manage checkpoints",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCheckpointAdd(), newCheckpointList(), newCheckpointRemove())
	return cmd
}

func newCheckpointAdd() *cobra.Command {
	var p observe.CheckpointParams
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "add NAME",
		Short:   "Create a checkpoint",
		Example: "  tidemark checkpoint add before_refactor --note 'moving the cart to a store'",
		Args:    someArgs(1, 1, "one name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.Name = args[0]
			var a observe.CheckpointCreated
			return callAndShow(cmd, "checkpoint_create", p, &a, asJSON, func() error {
				line := "created " + a.Name
				if a.Replaced != nil {
					line = "replaced " + a.Name + " from " + a.Replaced.Local().Format("15:04:05")
				}
				how, what := render.Standing(a.Severity, a.Summary)
				return render.Line(cmd.OutOrStdout(), "%s. Since the previous checkpoint: %s  %s", line, how, what)
			})
		},
	}
	cmd.Flags().StringVar(&p.Note, "note", "", "note to show in the list")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the JSON that an agent gets")
	return cmd
}

func newCheckpointList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List checkpoints, each with the severity since the previous one",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var a observe.CheckpointList
			return callAndShow(cmd, "checkpoint_list", struct{}{}, &a, asJSON, func() error {
				if len(a.Checkpoints) == 0 {
					return render.Line(cmd.OutOrStdout(), "No checkpoints yet. Run `tidemark checkpoint add session_start` to create the first.")
				}
				t := render.Table{}
				for _, c := range a.Checkpoints {
					how, said := render.Standing(c.Severity, c.Summary)
					if c.Note != "" {
						said = strings.TrimSpace(said + " (" + c.Note + ")")
					}
					t.Row(c.At.Local().Format("2006-01-02 15:04:05"), c.Name, "→ "+how, said, c.Scope)
				}
				return t.Write(cmd.OutOrStdout())
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the JSON that an agent gets")
	return cmd
}

func newCheckpointRemove() *cobra.Command {
	return &cobra.Command{
		Use:     "rm NAME",
		Aliases: []string{"remove", "delete"},
		Short:   "Delete a checkpoint",
		Args:    someArgs(1, 1, "one name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var a observe.CheckpointDeleted
			return callAndShow(cmd, "checkpoint_delete", observe.CheckpointDeleteParams{Name: args[0]}, &a, false, func() error {
				return render.Line(cmd.OutOrStdout(), "deleted %s from %s", a.Deleted, a.At.Local().Format("15:04:05"))
			})
		},
	}
}

// callAndShow calls a tool and prints its answer, as JSON or with show.
func callAndShow(cmd *cobra.Command, tool string, args, answer any, asJSON bool, show func() error) error {
	c, err := clientFor(tool)
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := c.Tool(cmd.Context(), tool, args, &raw); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, answer); err != nil {
		return err
	}
	if asJSON {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", raw)
		return err
	}
	return show()
}

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/daemon"
	"tidemark.dev/tidemark/host/internal/home"
)

// settingsReport reports a config.toml that no daemon can start with, once for each command. It changes no exit code.
type settingsReport struct {
	problem error
	cmd     *cobra.Command
}

// reportsItself are the commands that show the damage in their output, and the hook, whose words are for an agent.
var reportsItself = []string{"doctor", "hook", "serve", "serve-snapshot", "status"}

// before looks at the settings when a command begins. A command that runs for long reports them then, if it has its daemon.
func (r *settingsReport) before(cmd *cobra.Command, _ []string) {
	h, err := home.Find(version)
	if err != nil || slices.Contains(reportsItself, cmd.Name()) {
		return
	}
	r.problem, r.cmd = daemon.CheckConfig(h.Config), cmd
	if running, err := h.Running(); lasts(cmd) && err == nil && running {
		r.after(nil)
	}
}

// lasts reports whether a command runs until it is ended.
func lasts(cmd *cobra.Command) bool {
	watch := cmd.Flags().Lookup("watch")
	return cmd.Name() == "browser" || cmd.Name() == "demo" || cmd.Name() == "mcp" || watch != nil && watch.Changed
}

// after reports the damage, unless it is why the command failed.
func (r *settingsReport) after(failed error) {
	if r.problem == nil || failed != nil && strings.Contains(failed.Error(), r.problem.Error()) {
		return
	}
	fmt.Fprintf(r.cmd.ErrOrStderr(), "tidemark: the settings cannot be read: %s\n", oneLine(r.problem.Error()))
	r.problem = nil
}

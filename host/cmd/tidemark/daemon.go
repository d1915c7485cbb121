package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/daemon"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/workspace/ownpath"
)

func newServe() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon in the foreground (other commands start it when needed)",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := home.Find(version)
			if err != nil {
				return err
			}
			if len(ownpath.Here()) > 0 {
				return errors.New("the daemon cannot run where a branch is seen at the path of its original. Start it in another terminal.")
			}
			log := slog.New(slog.NewTextHandler(os.Stderr, nil))
			return daemon.Serve(cmd.Context(), home, log)
		},
	}
}

func newStop() *cobra.Command {
	return &cobra.Command{
		Use:   "stop",
		Short: "Stop the daemon and wait until it exits",
		Long: `Stop the daemon and wait until it exits. An agent's next call starts it again, and so does any other command that needs
it. A connected browser waits for that and keeps what happens. A browser that is started later starts the daemon.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := home.Find(version)
			if err != nil {
				return err
			}
			if running, err := h.Running(); err == nil && !running {
				fmt.Fprintln(cmd.OutOrStdout(), "No daemon is running.")
				return nil
			}
			if err := home.StopForUser(cmd.Context(), h); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "The daemon has stopped. An agent's next call, a command such as `tidemark status`, or the start of a browser starts it again.")
			return nil
		},
	}
}

package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/daemon"
	"tidemark.dev/tidemark/host/internal/home"
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
			log := slog.New(slog.NewTextHandler(os.Stderr, nil))
			return daemon.Serve(cmd.Context(), home, log)
		},
	}
}

func newStop() *cobra.Command {
	return &cobra.Command{
		Use:   "stop",
		Short: "Stop the daemon and wait until it exits",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := home.Find(version)
			if err != nil {
				return err
			}
			if running, err := home.Running(); err == nil && !running {
				fmt.Fprintln(cmd.OutOrStdout(), "No daemon is running.")
				return nil
			}
			return home.Stop(cmd.Context())
		},
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/daemon"
)

func newServe() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon in the foreground (others start it when they need it)",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := daemon.FindHome()
			if err != nil {
				return err
			}
			log := slog.New(slog.NewTextHandler(os.Stderr, nil))
			return daemon.Serve(cmd.Context(), home, version, log)
		},
	}
}

func newStop() *cobra.Command {
	return &cobra.Command{
		Use:   "stop",
		Short: "End the daemon; returns when it has ended",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := daemon.FindHome()
			if err != nil {
				return err
			}
			if running, err := home.Running(); err == nil && !running {
				fmt.Fprintln(cmd.OutOrStdout(), "no daemon is running")
				return nil
			}
			return stopDaemon(cmd.Context(), home)
		},
	}
}

// stopDaemon ends the daemon of a home and returns when it has ended; none is fine.
func stopDaemon(ctx context.Context, home daemon.Home) error {
	c := &client{home: home, runningOnly: true}
	if err := c.call(ctx, http.MethodPost, "/v1/stop", nil, nil); err != nil {
		if running, lockErr := home.Running(); lockErr == nil && !running && errors.Is(err, daemon.ErrUnreachable) {
			return nil
		}
		return err
	}
	return waitForEnd(ctx, home)
}

// stopTimeout is how long a daemon may take to end.
const stopTimeout = 10 * time.Second

func waitForEnd(ctx context.Context, home daemon.Home) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		if running, err := home.Running(); err != nil || !running {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the daemon has not ended within %s", stopTimeout)
		case <-look.C:
		}
	}
}

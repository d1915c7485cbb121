package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/api"
	"tidemark.dev/tidemark/host/internal/render"
)

func newOpen() *cobra.Command {
	var printOnly bool
	cmd := &cobra.Command{
		Use:   "open",
		Short: "Open the dashboard in any browser, without the extension",
		Long: `Open the dashboard in the default browser: timeline, checkpoints, diffs and what the agents saw. The daemon
serves it only on 127.0.0.1. The URL signs in once, within two minutes. The sign-in lasts twelve hours, in
that browser tab.`,
		Example: `  tidemark open
  tidemark open --print`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := newClient()
			if err != nil {
				return err
			}
			var a api.Opened
			if err := c.Open(cmd.Context(), &a); err != nil {
				return err
			}
			if printOnly {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), a.URL)
				return err
			}
			if err := openInBrowser(cmd.Context(), a.URL); err != nil {
				return render.Line(cmd.OutOrStdout(), "Cannot open a browser here: %v. Open this URL within two minutes (it signs in once):\n  %s", err, a.URL)
			}
			return render.Line(cmd.OutOrStdout(), "Opened the dashboard in your browser.")
		},
	}
	cmd.Flags().BoolVar(&printOnly, "print", false, "print the URL instead (it signs in once)")
	return cmd
}

// openInBrowser opens a URL with the system's default program.
func openInBrowser(ctx context.Context, url string) error {
	program, args := "xdg-open", []string{url}
	switch runtime.GOOS {
	case "darwin":
		program = "open"
	case "windows":
		program, args = "rundll32", []string{"url.dll,FileProtocolHandler", url}
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return errors.New("there is no display")
		}
	}
	return exec.CommandContext(ctx, program, args...).Run()
}

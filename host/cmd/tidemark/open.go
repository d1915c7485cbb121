package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
		Short: "Open the dashboard: the viewer in any browser, without the extension",
		Long: `Opens the dashboard in the default browser: timeline, checkpoints, differences and what the agents saw. The
daemon serves it on 127.0.0.1 alone. The address signs in once, within two minutes; the session lasts twelve
hours, in that browser tab.`,
		Example: `  tidemark open
  tidemark open --print`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := newClient()
			if err != nil {
				return err
			}
			var a api.Opened
			if err := c.call(cmd.Context(), http.MethodPost, "/v1/open", nil, &a); err != nil {
				return err
			}
			if printOnly {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), a.URL)
				return err
			}
			if err := openInBrowser(cmd.Context(), a.URL); err != nil {
				return render.Line(cmd.OutOrStdout(), "No browser could be opened here (%v). This address signs in once, within two minutes:\n  %s", err, a.URL)
			}
			return render.Line(cmd.OutOrStdout(), "the dashboard is open in your browser")
		},
	}
	cmd.Flags().BoolVar(&printOnly, "print", false, "print the address instead; it signs in once")
	return cmd
}

// openInBrowser has the system open an address.
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

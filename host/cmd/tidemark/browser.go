package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/browser"
	"tidemark.dev/tidemark/host/internal/daemon"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/viewer"
	"tidemark.dev/tidemark/installer"
)

func newBrowser() *cobra.Command {
	var headless, temporary bool
	var path, way string
	cmd := &cobra.Command{
		Use:   "browser [URL]",
		Short: "Open a separate browser that Tidemark watches",
		Long: `Open Chrome, Chromium, Edge or Brave with a separate profile and the extension loaded.
Pages of development origins (localhost, 127.0.0.1, *.localhost, *.test) are watched immediately.
Press Ctrl-C to close the browser.`,
		Example: "  tidemark browser http://localhost:5173",
		Args:    someArgs(0, 1, "at most one URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if way != "debugger" && way != "quiet" {
				return usageError{fmt.Errorf("--capture must be debugger or quiet, not %q", way)}
			}
			o := browser.Options{Headless: headless, Path: path, Way: way, Notes: cmd.ErrOrStderr()}
			if len(args) == 1 {
				o.URL = completeURL(args[0])
			}
			home, err := home.Find(version)
			if err != nil {
				return err
			}
			if !temporary {
				o.UserDataDir = home.Profile()
			}
			b, err := launch(cmd.Context(), home, o)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "Watching. Run `tidemark changes` in another terminal to see what changed. Press Ctrl-C to close the browser.\n")
			return b.Wait()
		},
	}
	cmd.Flags().BoolVar(&headless, "headless", false, "run without a window")
	cmd.Flags().StringVar(&way, "capture", "debugger", "capture mode: debugger (sees most) or quiet (as in your own browser)")
	cmd.Flags().BoolVar(&temporary, "temporary", false, "use a fresh profile and remove it on exit")
	cmd.Flags().StringVar(&path, "path", "", "path of the browser program (default: "+installer.BrowserEnv+", else the first one found)")
	return cmd
}

// completeURL adds the scheme that users may leave out.
func completeURL(s string) string {
	if strings.Contains(s, "://") || strings.HasPrefix(s, "about:") {
		return s
	}
	return "http://" + s
}

// launch opens a browser with the embedded extension and waits until the daemon knows it. The first page
// is therefore captured from its first request.
func launch(ctx context.Context, home home.Home, o browser.Options) (*browser.Browser, error) {
	if err := home.Create(); err != nil {
		return nil, err
	}
	c := clientOf(home)
	var s viewer.Status
	if err := c.Status(ctx, &s); err != nil { // this call starts the daemon
		return nil, err
	}
	return daemon.Launch(ctx, home, o, func(ctx context.Context, instance string) bool {
		var s viewer.Status
		err := c.Status(ctx, &s)
		return err == nil && slices.ContainsFunc(s.Browsers, func(b viewer.BrowserStatus) bool { return b.Instance == instance && b.Connected })
	})
}

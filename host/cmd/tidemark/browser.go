package main

import (
	"context"
	"fmt"
	"net/http"
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
		Short: "Open a browser of its own that is watched; ends with Ctrl-C",
		Long: `Opens Chrome, Chromium, Edge or Brave with a profile of its own and the extension in it.
Pages of development origins (localhost, 127.0.0.1, *.localhost, *.test) are watched at once.`,
		Example: "  tidemark browser http://localhost:5173",
		Args:    someArgs(0, 1, "at most one URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if way != "debugger" && way != "quiet" {
				return usageError{fmt.Errorf("--capture is %q; it must be debugger or quiet", way)}
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
			fmt.Fprintf(cmd.ErrOrStderr(), "watching; `tidemark changes` in another terminal says what is new; Ctrl-C ends the browser\n")
			return b.Wait()
		},
	}
	cmd.Flags().BoolVar(&headless, "headless", false, "without a window")
	cmd.Flags().StringVar(&way, "capture", "debugger", "how pages are captured: debugger (sees most), or quiet (as in your own browser)")
	cmd.Flags().BoolVar(&temporary, "temporary", false, "a fresh profile that is removed at the end")
	cmd.Flags().StringVar(&path, "path", "", "the browser's program (default: the first that is found; "+installer.BrowserEnv+" names it too)")
	return cmd
}

// completeURL lets a person leave out the scheme.
func completeURL(s string) string {
	if strings.Contains(s, "://") || strings.HasPrefix(s, "about:") {
		return s
	}
	return "http://" + s
}

// launch opens a browser with the embedded extension and waits until the daemon knows it, so that
// the first page is captured from its first request.
func launch(ctx context.Context, home home.Home, o browser.Options) (*browser.Browser, error) {
	if err := home.Create(); err != nil {
		return nil, err
	}
	c := &client{home: home}
	var s viewer.Status
	if err := c.call(ctx, http.MethodGet, "/v1/status", nil, &s); err != nil { // which starts the daemon
		return nil, err
	}
	return daemon.Launch(ctx, home, o, func(ctx context.Context, instance string) bool {
		var s viewer.Status
		err := c.call(ctx, http.MethodGet, "/v1/status", nil, &s)
		return err == nil && slices.ContainsFunc(s.Browsers, func(b viewer.BrowserStatus) bool { return b.Instance == instance && b.Connected })
	})
}

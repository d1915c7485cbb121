// Command tidemark is the whole host: the relay that browsers start, the daemon that owns what was
// captured, the bridge that agents start, and a person's command line.
//
// Exit codes: 0 fine; 1 failed; 2 wrong usage; 3 daemon or browser not reachable; 4 a --fail-on
// condition held. `tidemark hook` ends with 0, or 1 when its flags are wrong: agents act on a hook's 2.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/browser"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/installer"
)

// version is set when a release is built.
var version = "0.1.0"

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(args) > 0 && strings.HasPrefix(args[0], "chrome-extension://") {
		return exitCode(relay(ctx, args[0]))
	}
	root := newRoot()
	root.SetArgs(args)
	return exitCode(root.ExecuteContext(ctx))
}

// usageError is a mistake in the command line.
type usageError struct{ error }

// conditionHeld says that what --fail-on names was there.
var errConditionHeld = errors.New("")

// exitCode prints an error and gives the process's exit code. It is the one place that knows them.
func exitCode(err error) int {
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errConditionHeld):
		return 4
	case errors.As(err, &usage):
		fmt.Fprintf(os.Stderr, "tidemark: %v\n", err)
		return 2
	}
	fmt.Fprintf(os.Stderr, "tidemark: %v\n", err)
	if errors.Is(err, home.ErrUnreachable) || errors.Is(err, installer.ErrNoBrowser) || errors.Is(err, browser.ErrCrashed) {
		return 3
	}
	return usererr.EntryOf(usererr.CodeOf(err)).Exit
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "tidemark",
		Short: "What changed in the browser since you last looked",
		Long: `Tidemark watches the browser while an agent edits, and tells it, and you, only what is new.

  tidemark browser http://localhost:5173   a browser that is watched
  tidemark changes                         what is new since you last asked
  tidemark mcp                             the same for an agent, over MCP
  tidemark install                         set it up in your own browser and agents`,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())}
	})
	root.AddCommand(
		newBrowser(), newChanges(), newDiff(), newCheckpoint(), newExport(), newImport(), newLogs(), newNetwork(), newWebSocket(), newActions(), newSnapshot(),
		newStatus(), newOpen(), newNoise(), newRedact(), newServe(), newStop(), newMCP(), newHook(), newInstall(), newUninstall(), newDoctor(), newDemo(),
	)
	return root
}

// noArgs and someArgs refuse wrong arguments with exit code 2.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%q is not understood; see `%s --help`", args[0], cmd.CommandPath())}
	}
	return nil
}

func someArgs(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usageError{fmt.Errorf("%s takes %s; see `%s --help`", cmd.Name(), what, cmd.CommandPath())}
		}
		return nil
	}
}

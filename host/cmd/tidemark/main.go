// Command tidemark is the whole host: the relay that browsers start, the daemon that owns the captured
// data, the bridge that agents start, and the command line.
//
// Exit codes: 0 fine; 1 failed; 2 wrong usage; 3 daemon or browser not reachable; 4 a --fail-on
// condition held; 5 a branch was made, but its agent was not started; 130 interrupted. `tidemark record` exits as the program that it ran. `tidemark hook` exits with 0, or 1 when its flags are wrong, because agents act on a hook's 2.
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
	"tidemark.dev/tidemark/host/internal/viewclient"
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
	goOutside()
	root, settings := newRoot(), &settingsReport{}
	root.PersistentPreRun = settings.before
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	settings.after(err)
	return exitCode(err)
}

// usageError reports a wrong command line.
type usageError struct{ error }

// errConditionHeld reports that the --fail-on condition held.
var errConditionHeld = errors.New("")

// errNotStarted reports that a branch was made, but no agent was started for its message. The output says why.
var errNotStarted = errors.New("")

// exitCode prints an error and returns the exit code of the process. Only this function maps errors to exit codes.
func exitCode(err error) int {
	var usage usageError
	var ended programEnded
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errConditionHeld):
		return 4
	case errors.Is(err, errNotStarted):
		return 5
	case errors.As(err, &ended): // the exit code of the program that `tidemark record` ran
		return int(ended)
	case errors.As(err, &usage):
		fmt.Fprintf(os.Stderr, "tidemark: %v\n", err)
		return 2
	}
	fmt.Fprintf(os.Stderr, "tidemark: %v\n", err)
	if errors.Is(err, viewclient.ErrInterrupted) || errors.Is(err, errUnwritten) {
		return 130 // as a shell has it
	}
	if errors.Is(err, home.ErrUnreachable) || errors.Is(err, installer.ErrNoBrowser) || errors.Is(err, browser.ErrCrashed) {
		return 3
	}
	return usererr.EntryOf(usererr.CodeOf(err)).Exit
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "tidemark",
		Short: "Show what changed in the browser since you last looked",
		Long: `Tidemark watches the browser while an agent edits, and reports only what changed.

  tidemark browser http://localhost:5173   open a browser that Tidemark watches
  tidemark changes                         show what changed since you last asked
  tidemark mcp                             serve an agent over MCP
  tidemark install                         set up your own browser and agents`,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w. See `%s --help`.", err, cmd.CommandPath())}
	})
	root.AddCommand(
		newBrowser(), newChanges(), newDiff(), newCheckpoint(), newExport(), newImport(), newLogs(), newNetwork(), newWebSocket(), newActions(), newSnapshot(),
		newStatus(), newOpen(), newNoise(), newRedact(), newServe(), newServeSnapshot(), newEnterBranch(), newInBranch(), newInTab(), newStop(), newMCP(), newHook(), newProject(), newSession(), newTimeline(), newBranch(), newRecord(), newShellInit(), newRecordings(), newDu(), newInstall(), newUninstall(), newDoctor(), newDemo(),
	)
	return root
}

// noArgs rejects any argument with exit code 2.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	what := "argument"
	if cmd.HasSubCommands() {
		what = "command"
	}
	return usageError{fmt.Errorf("unknown %s %q. See `%s --help`.", what, args[0], cmd.CommandPath())}
}

// someArgs rejects fewer than least or more than most arguments with exit code 2.
func someArgs(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usageError{fmt.Errorf("%s takes %s. See `%s --help`.", cmd.Name(), what, cmd.CommandPath())}
		}
		return nil
	}
}

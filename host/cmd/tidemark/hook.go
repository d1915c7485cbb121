package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/hook"
	"tidemark.dev/tidemark/host/internal/observe"
)

// hookMargin is what a hook keeps of its time for the way to the daemon and back.
const hookMargin = 300 * time.Millisecond

// hookOptions are the flags of `tidemark hook`.
type hookOptions struct {
	event, session    string
	patience, timeout time.Duration
	bash, debug       bool
}

func newHook() *cobra.Command {
	var o hookOptions
	cmd := &cobra.Command{
		Use:   "hook",
		Short: "Tell an agent after its edits what broke (for agents' hooks)",
		Long: `Tells a coding agent what its edit broke in the browser, and nothing when nothing broke.
Agents run it as a hook and write JSON to its standard input (Claude Code, Codex, Gemini CLI, Cursor, VS Code);
for others, --event says what happened, and the answer is plain text. See docs/HOOKS.md.
It starts nothing, and ends with exit code 0 whatever happens; 1 when its flags are wrong, never 2, by which
agents would be stopped.`,
		Example: `  tidemark hook                               # reads what an agent's hook tells
  tidemark hook --event post-edit --session 7  # plain text, for anything that can run a command`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return hookMistake(fmt.Errorf("%q is not understood", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.event != "" {
				if _, err := hook.Plain(o.event, o.session); err != nil {
					return hookMistake(err)
				}
			}
			if f, ok := cmd.InOrStdin().(*os.File); ok && o.event == "" && term.IsTerminal(int(f.Fd())) {
				return cmd.Help() // a person, who would wait for an answer to nothing
			}
			runHook(cmd.Context(), o, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			return nil
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return hookMistake(err) })
	f := cmd.Flags()
	f.StringVar(&o.event, "event", "", "what happened, instead of JSON: session-start, post-edit or stop")
	f.StringVar(&o.session, "session", "default", "with --event: a name of the session, which has a place of its own")
	f.DurationVar(&o.patience, "patience", time.Second, "how long the reload or hot update after an edit may take to begin")
	f.DurationVar(&o.timeout, "timeout", 5*time.Second, "how long the hook may take, in all")
	f.BoolVar(&o.bash, "bash", false, "count commands that the agent ran in a shell as edits")
	f.BoolVar(&o.debug, "debug", false, "say on standard error why nothing was told")
	return cmd
}

// hookMistake is a mistake in how a hook was set up. Its exit code is 1: agents take the 2 of wrong usage
// for an order not to go on, or not to stop.
func hookMistake(err error) error { return fmt.Errorf("%w; see `tidemark hook --help`", err) }

// runHook does what a hook asks. It never fails: an agent is not to be held up by its eyes.
func runHook(ctx context.Context, o hookOptions, in io.Reader, out, errOut io.Writer) {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	type answer struct {
		text []byte
		err  error
	}
	done := make(chan answer, 1)
	go func() { // an agent that never ends its input must not keep the process
		var a answer
		defer func() {
			if r := recover(); r != nil {
				a = answer{err: fmt.Errorf("it went wrong: %v", r)}
			}
			done <- a
		}()
		a.text, a.err = answerHook(ctx, o, in)
	}()
	var a answer
	select {
	case a = <-done:
	case <-ctx.Done():
		a.err = ctx.Err()
	}
	if a.err == nil && len(a.text) > 0 {
		_, a.err = out.Write(a.text)
	}
	if a.err != nil && o.debug {
		fmt.Fprintln(errOut, "tidemark: nothing was told:", a.err)
	}
}

// answerHook is what to write to the agent.
func answerHook(ctx context.Context, o hookOptions, in io.Reader) ([]byte, error) {
	call, err := readHook(o, in)
	if err != nil {
		return nil, err
	}
	if call.Event == "" {
		return nil, errors.New("this event, or this tool, is nothing to Tidemark")
	}
	if call.Session == "" {
		return nil, errors.New("the agent did not name its session")
	}
	project, origins, err := projectOf(call)
	if err != nil {
		if call.Event == observe.HookStop {
			return nil, err // its edits have said so; a mistake in settings is nothing to hold an agent up for
		}
		return call.Say(untilMended(err))
	}
	answer, err := askHook(ctx, o, call, project, origins)
	if errors.Is(err, home.ErrUnreachable) && ctx.Err() == nil {
		answer, err = &observe.HookAnswer{}, nil // no daemon: nothing is watched
	}
	if err != nil {
		return nil, err
	}
	return call.Output(answer)
}

func readHook(o hookOptions, in io.Reader) (*hook.Call, error) {
	if o.event != "" {
		return hook.Plain(o.event, o.session)
	}
	data, err := io.ReadAll(io.LimitReader(in, hook.MaxInput+1))
	if err != nil {
		return nil, err
	}
	if len(data) > hook.MaxInput {
		return nil, fmt.Errorf("the agent told more than %d bytes", hook.MaxInput)
	}
	return hook.Parse(data, o.bash)
}

// maxDir bounds the path of a directory that an agent names, in bytes: it is walked up, name by name.
const maxDir = 4096

// projectOf is the settings file of the project that the agent works in, and its origins.
func projectOf(call *hook.Call) (project string, origins []string, err error) {
	dir := call.Dir
	if dir == "" {
		dir = "."
	}
	if len(dir) > maxDir {
		return "", nil, fmt.Errorf("the agent's working directory has a path of %d bytes; at most %d are looked at", len(dir), maxDir)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", nil, err
	}
	project = findProjectIn(dir)
	origins, err = originsOf(project)
	return project, origins, err
}

// askHook asks the daemon that runs, and starts none.
func askHook(ctx context.Context, o hookOptions, call *hook.Call, project string, origins []string) (*observe.HookAnswer, error) {
	home, err := home.Find(version)
	if err != nil {
		return nil, err
	}
	c := &client{home: home, origins: origins, project: project, dial: home.DialRunning}
	answer := &observe.HookAnswer{}
	return answer, c.call(ctx, http.MethodPost, "/v1/hook", observe.HookParams{
		Session: call.Session, Event: call.Event,
		PatienceMs: int(o.patience.Milliseconds()), TimeoutMs: int(max(o.timeout-hookMargin, o.timeout/2).Milliseconds()),
	}, answer)
}

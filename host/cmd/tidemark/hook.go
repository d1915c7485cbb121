package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tidemark.dev/tidemark/host/internal/api"
	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/daemon"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/hook"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/project"
	"tidemark.dev/tidemark/host/internal/terminal"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace/ownpath"
)

// hookMargin is the part of a hook's time limit that is reserved for the round trip to the daemon.
const hookMargin = 300 * time.Millisecond

// hookOptions are the flags of `tidemark hook`.
type hookOptions struct {
	event, session    string
	home              string
	patience, timeout time.Duration
	bash, debug       bool
}

func newHook() *cobra.Command {
	var o hookOptions
	cmd := &cobra.Command{
		Use:   "hook",
		Short: "Report to an agent what its edits broke (for agent hooks)",
		Long: `Report to a coding agent what its edit broke in the browser. Prints nothing when nothing broke.
Agents run it as a hook and write JSON to its standard input (Claude Code, Codex, Gemini CLI, Cursor, VS Code).
For other agents, --event names the event and the answer is plain text. See docs/HOOKS.md.
The hook starts nothing. It exits with 0 in every case except wrong flags, which exit with 1. It never exits
with 2, because that code stops agents.`,
		Example: `  tidemark hook                                # reads the JSON of an agent's hook
  tidemark hook --event post-edit --session 7  # plain text for any program`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return hookMistake(fmt.Errorf("unknown argument %q", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.home != "" {
				if err := os.Setenv(home.Env, o.home); err != nil {
					return hookMistake(err)
				}
			}
			if o.event != "" {
				if _, err := hook.Plain(o.event, o.session); err != nil {
					return hookMistake(err)
				}
			}
			if f, ok := cmd.InOrStdin().(*os.File); ok && o.event == "" && term.IsTerminal(int(f.Fd())) {
				return cmd.Help() // a user at a terminal sends no hook input
			}
			runHook(cmd.Context(), o, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			return nil
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return hookMistake(err) })
	f := cmd.Flags()
	f.StringVar(&o.event, "event", "", "event name instead of JSON input: session-start, post-edit or stop")
	f.StringVar(&o.home, "home", "", "home of Tidemark, instead of that of TIDEMARK_HOME")
	f.StringVar(&o.session, "session", "default", "with --event: session name (each session has its own cursor)")
	f.DurationVar(&o.patience, "patience", time.Second, "how long to wait for a reload or hot update to begin after an edit")
	f.DurationVar(&o.timeout, "timeout", 5*time.Second, "total time limit of the hook")
	f.BoolVar(&o.bash, "bash", false, "treat the agent's shell commands as edits")
	f.BoolVar(&o.debug, "debug", false, "print to standard error why nothing was reported, and which moment was recorded")
	return cmd
}

// hookMistake reports a wrong hook setup. Its exit code is 1, because agents take the usage error code 2 as an
// order not to continue, or not to stop.
func hookMistake(err error) error { return fmt.Errorf("%w. See `tidemark hook --help`.", err) }

// runHook handles a hook call. It never fails, so that Tidemark never blocks an agent.
func runHook(ctx context.Context, o hookOptions, in io.Reader, out, errOut io.Writer) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := time.AfterFunc(o.timeout, func() { cancel(context.DeadlineExceeded) })
	defer limit.Stop()
	done := make(chan hookOutcome, 1)
	go func() { // an agent that never ends its input must not keep the process
		var a hookOutcome
		defer func() {
			if r := recover(); r != nil {
				a = hookOutcome{err: fmt.Errorf("internal error: %v", r)}
			}
			done <- a
		}()
		a = answerHook(ctx, o, in, limit)
	}()
	var a hookOutcome
	select {
	case a = <-done:
	case <-ctx.Done():
		a.err = context.Cause(ctx)
	}
	if a.err == nil && len(a.text) > 0 {
		_, a.err = out.Write(a.text)
	}
	if a.err != nil {
		a.why = a.err.Error()
	}
	for _, what := range []string{a.moment, a.recorded} {
		if what != "" && what != conversation.NotAllowed && o.debug {
			fmt.Fprintln(errOut, "tidemark:", what)
		}
	}
	if a.missing != "" {
		fmt.Fprintln(errOut, "tidemark:", a.missing)
	}
	if a.why != "" && o.debug {
		fmt.Fprintln(errOut, "tidemark: nothing reported:", a.why)
	}
}

// hookOutcome is what a hook call led to.
type hookOutcome struct {
	// text is the output for the agent.
	text []byte
	// why says why nothing was reported, "" where something was. Moment and recorded say what became of the moment and of the
	// event in the recording, "" for none.
	why, moment, recorded string
	// missing is what the user should know although the agent got what it wanted, "" for nothing.
	missing string
	err     error
}

// answerHook answers a hook call within a limit, which is extended for a worktree.
func answerHook(ctx context.Context, o hookOptions, in io.Reader, limit *time.Timer) (a hookOutcome) {
	call, err := readHook(o, in)
	if err == nil && call.Worktree != nil {
		if !limit.Reset(worktreeLimit) {
			return hookOutcome{err: context.DeadlineExceeded}
		}
		return worktreeHook(ctx, call)
	}
	if err == nil {
		switch {
		case call.Event == "" && call.Moment == nil && call.Recorded == nil:
			err = errors.New("Tidemark ignores this event or tool")
		case call.Session == "":
			err = errors.New("the agent sent no session ID")
		default:
			err = absolute(call)
		}
	}
	if err != nil {
		return hookOutcome{err: err}
	}
	if call.Event == "" {
		answer, err := askHook(ctx, o, call, "", nil)
		return hookOutcome{why: "after this event no page is checked", moment: answer.Moment, recorded: answer.Recorded, err: err}
	}
	project, origins, err := projectOf(call)
	if err != nil {
		if call.Moment != nil || call.Recorded != nil { // it is recorded all the same
			event := *call
			event.Event = ""
			answer, _ := askHook(ctx, o, &event, "", nil)
			a.moment, a.recorded = answer.Moment, answer.Recorded
		}
		if a.err = err; call.Event != observe.HookStop { // the hooks after edits have reported it, and wrong settings must not block an agent
			a.text, a.err = call.Say(untilFixed(err))
		}
		return a
	}
	answer, err := askHook(ctx, o, call, project, origins)
	a.moment, a.recorded = answer.Moment, answer.Recorded
	switch {
	case errors.Is(err, home.ErrUnreachable) && ctx.Err() == nil:
		answer, a.why = &observe.HookAnswer{}, "no daemon is running, so no browser is connected. Open a page with `tidemark browser URL`."
	case err != nil:
		a.err = err
		return a
	case answer.Watched == 0:
		a.why = "no browser is connected, or none of its watched tabs is in scope. Run `tidemark status`."
	case len(answer.Problems) == 0:
		a.why = "no new problems"
	}
	if a.text, a.err = call.Output(answer); len(a.text) > 0 {
		a.why = ""
	}
	return a
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
		return nil, fmt.Errorf("the hook input exceeds %d bytes", hook.MaxInput)
	}
	binds := ownpath.Here()
	call, err := hook.ParseSeen(data, o.bash, func(path string) string { return ownpath.Outside(binds, path) })
	if err == nil && call.Recorded != nil && call.Recorded.Transcript != "" && len(binds) > 0 {
		call.Recorded.Seen = binds[0].At // that of the branch
	}
	return call, err
}

// maxDir bounds the path of an agent's directory in bytes, because every parent is visited.
const maxDir = 4096

// projectOf returns the settings file and the origins of the agent's project.
func projectOf(call *hook.Call) (file string, origins []string, err error) {
	dir := call.Dir
	if dir == "" {
		dir = "."
	}
	if len(dir) > maxDir {
		return "", nil, fmt.Errorf("the path of the agent's working directory has %d bytes (limit %d)", len(dir), maxDir)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", nil, err
	}
	file = project.Find(dir)
	origins, err = originsOf(file)
	return file, origins, err
}

// absolute makes the directories of a call absolute.
func absolute(call *hook.Call) (err error) {
	if call.Moment != nil {
		call.Moment.Dir, err = filepath.Abs(call.Moment.Dir)
	}
	if call.Recorded != nil && err == nil {
		call.Recorded.Dir, err = filepath.Abs(call.Recorded.Dir)
	}
	return err
}

// A daemon may be silent for a part of the patience, and at least for leastSilence. An agent must not notice one that is stuck.
const (
	silence      = 16
	leastSilence = 60 * time.Millisecond
)

var errSilent = errors.New("the daemon does not respond")

// askHook asks a running daemon and never starts one. What the daemon did not record goes into the spool.
func askHook(ctx context.Context, o hookOptions, call *hook.Call, project string, origins []string) (*observe.HookAnswer, error) {
	answer := &observe.HookAnswer{}
	if call.Recorded != nil { // a daemon that is stuck may read it much later
		call.Recorded.At = time.Now().UnixMilli()
	}
	home, err := home.Find(version)
	if err != nil {
		return answer, err
	}
	c := clientOf(home)
	c.Origins, c.Project, c.Dial = origins, project, home.DialRunning
	asked, end := context.WithCancelCause(ctx)
	defer end(nil)
	silent := time.AfterFunc(max(o.patience/silence, leastSilence), func() { end(errSilent) })
	defer silent.Stop()
	if call.Event != "" { // it waits for the page, once the daemon has shown that it works
		asked = httptrace.WithClientTrace(asked, &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error {
			silent.Stop()
			return nil
		}})
	}
	err = c.Hook(asked, api.HookRequest{Moment: call.Moment, Recorded: call.Recorded, Inside: inside(), HookParams: observe.HookParams{
		Session: call.Session, Event: call.Event,
		PatienceMs: int(o.patience.Milliseconds()), TimeoutMs: int(max(o.timeout-hookMargin, o.timeout/2).Milliseconds()),
	}}, answer)
	if errors.Is(context.Cause(asked), errSilent) {
		err = errSilent
	}
	if call.Recorded != nil && answer.Recorded == "" && usererr.CodeOf(err) == usererr.Internal {
		e := *call.Recorded
		if call.Moment != nil {
			e.Moment, _ = json.Marshal(call.Moment) // it has nothing that cannot be JSON
		}
		answer.Recorded = spool(ctx, home, e)
	}
	return answer, err
}

// inside returns the recording of a terminal in which this process runs, nil for none. The daemon checks it.
func inside() *timeline.Inside {
	if id := os.Getenv(terminal.Env); id != "" {
		return &timeline.Inside{Recording: id, Key: os.Getenv(terminal.KeyEnv)}
	}
	return nil
}

// spool keeps an event for the next daemon, if the user allows that, and says what became of it.
func spool(ctx context.Context, h home.Home, e conversation.Event) string {
	err := daemon.Spool(ctx, h, e)
	switch {
	case usererr.CodeOf(err) == usererr.NotAllowed:
		return conversation.NotAllowed
	case err != nil:
		return "the conversation was not recorded: " + err.Error()
	}
	return "the conversation will be recorded by the next daemon"
}

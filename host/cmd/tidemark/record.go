package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/daemon"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/home"
	"tidemark.dev/tidemark/host/internal/milestone"
	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/terminal"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// programEnded is the exit status of a program that was recorded.
type programEnded int

func (p programEnded) Error() string {
	return fmt.Sprintf("the program ended with exit status %d", int(p))
}

func newRecord() *cobra.Command {
	var name string
	var quiet bool
	cmd := &cobra.Command{
		Use:   "record [flags] [-- COMMAND …]",
		Short: "Record a shell or a program in this terminal",
		Long: `Record what a shell or a program shows in this terminal, until it ends. Without COMMAND, your shell ($SHELL) is started.
It needs the grant terminal: tidemark project allow --grant terminal. With the grant input, what you type is recorded
too, except for passwords. Nothing is recorded while the shell is outside of directories with the grant.

In bash, zsh and fish, each command becomes a moment of the timeline, with a snapshot of all files, where the project is
allowed. Your own startup files are read and not changed.

Secrets are masked in the recording. By default, recordings are kept for 7 days, and at most 1 GiB of them.
The exit status is that of COMMAND. See docs/TERMINAL.md.`,
		Example: `  tidemark record
  tidemark record --name fix-cart -- claude
  tidemark timeline export --cast v3 > fix-cart.cast`,
		RunE: func(cmd *cobra.Command, args []string) error { return record(cmd, name, quiet, args) },
	}
	cmd.Flags().StringVar(&name, "name", "", "name of the recording")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "do not print where the recording begins and ends")
	return cmd
}

func record(cmd *cobra.Command, name string, quiet bool, args []string) error {
	if id := os.Getenv(terminal.Env); id != "" {
		return usererr.New(usererr.AlreadyExists, "this terminal is being recorded already, as %s. Leave its shell first.", event.OneLine(id))
	}
	h, err := home.Find(version)
	if err != nil {
		return err
	}
	working, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("the working directory is not known: %w", err)
	}
	dir, err := grants.Resolve(working)
	if err != nil {
		return err
	}
	allowed := recordingAllowed(cmd, h, dir)
	input, err := allowed(dir)
	if err != nil {
		return err
	}
	settings, err := daemon.ReadConfig(h.Config)
	if err != nil {
		return err
	}
	redactor, err := settings.Redactor()
	if err != nil {
		return err
	}
	if len(args) == 0 {
		args = []string{defaultShell()}
	}
	store := recording.Store{Dir: h.Terminals()}
	if _, err := store.Prune(home.Ages(h), settings.Terminals.Policy()); err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "tidemark: cannot delete old recordings: %v\n", err)
	}
	// What a user types to interrupt is for the program. Signals to this process close its terminal.
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGHUP)
	defer stop()
	moments := newCommandMoments(h)
	o := terminal.Options{
		Args: args, Dir: working, Name: name, Store: store, Redactor: redactor, Allowed: allowed, Input: input,
		Ended: moments.add, Serves: milestone.Serves, Ready: moments.ready, In: os.Stdin, Out: os.Stdout,
		Started: func(id string) {
			moments.recording = id
			if !quiet {
				fmt.Fprintf(cmd.ErrOrStderr(), "tidemark: recording %s begins\r\n", id)
			}
		},
	}
	status, err := terminal.Run(ctx, o)
	moments.close()
	if status < 0 {
		return err
	}
	if err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "tidemark: %v\n", err)
	}
	if !quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "tidemark: recording %s ended\n", moments.recording)
	}
	if status != 0 {
		return programEnded(status)
	}
	return nil
}

// recordingAllowed returns a function that reports whether the user allows output and input to be recorded in a directory.
// First is that in which a recording begins; if it is a branch, the decision for its original applies.
func recordingAllowed(cmd *cobra.Command, h home.Home, first string) func(dir string) (input bool, err error) {
	s := storeIn(h)
	return func(dir string) (bool, error) {
		d, err := s.Require(dir, grants.Terminal)
		if usererr.CodeOf(err) == usererr.NotAllowed && grants.Within(dir, first) {
			if o, asked := originOf(cmd, first); asked == nil && o.Of != "" && !grants.Within(d.For, o.Branch) {
				d, err = s.Require(o.Of, grants.Terminal)
			}
		}
		return err == nil && d.Has(grants.Input), err
	}
}

// commandMoments adds commands to the timeline, one after the other, beside the terminal.
type commandMoments struct {
	home      home.Home
	recording string
	queue     chan commandMoment
	done      chan struct{}
	end       context.CancelFunc
}

type commandMoment struct {
	recording.Command
	// address is that of the server that the command started, "" for its end.
	address string
	label   chan string
}

const (
	// maxMoments bounds the commands that wait for the daemon. Those beyond it are only in the recording.
	maxMoments = 64
	// momentPatience bounds the wait for the last moments at the end of a recording.
	momentPatience = 2 * time.Second
)

func newCommandMoments(h home.Home) *commandMoments {
	ctx, end := context.WithCancel(context.Background())
	m := &commandMoments{home: h, queue: make(chan commandMoment, maxMoments), done: make(chan struct{}), end: end}
	go func() {
		defer close(m.done)
		for c := range m.queue {
			c.label <- m.send(ctx, c.Command, c.address)
		}
	}()
	return m
}

// add takes a command. The channel has the label of its moment, once there is one.
func (m *commandMoments) add(c recording.Command) <-chan string { return m.ready(c, "") }

// ready takes a command whose server printed its address.
func (m *commandMoments) ready(c recording.Command, address string) <-chan string {
	next := commandMoment{c, address, make(chan string, 1)}
	select {
	case m.queue <- next:
		return next.label
	default:
		return nil
	}
}

// send adds the moment of a command. It returns a label with its ID, "" without a moment: the recording does not depend on
// the daemon.
func (m *commandMoments) send(ctx context.Context, c recording.Command, address string) string {
	p := timeline.CommandParams{
		Dir: c.Dir, Label: c.String(),
		Terminal: answers.Terminal{Recording: m.recording, Offset: c.Offset, Status: c.Status, Ms: c.Ms},
	}
	if c.Status != nil {
		p.Kind, _ = milestone.Of(c.Text, *c.Status == 0, c.Status)
	}
	if address != "" {
		answering, err := (&net.Dialer{Timeout: momentPatience}).DialContext(ctx, "tcp", address)
		if err != nil {
			return "" // any program can print an address
		}
		_ = answering.Close()
		p.Label, p.Kind = c.Text+": server ready", records.FromServer
	}
	var a timeline.Commanded
	if err := clientOf(m.home).Tool(ctx, "terminal_command", p, &a); err != nil {
		return ""
	}
	return a.Moment + " " + p.Label
}

// close waits for the last moments, but not for long.
func (m *commandMoments) close() {
	close(m.queue)
	late := time.AfterFunc(momentPatience, m.end)
	<-m.done
	late.Stop()
	m.end()
}

func newShellInit() *cobra.Command {
	return &cobra.Command{
		Use:   "shell-init bash|zsh|fish",
		Short: "Print the shell integration",
		Long: `Print the shell integration, which marks where commands begin and end (OSC 133). A shell that tidemark record starts
reads it automatically. Add it to your startup files if you want these marks in other terminals too:

  eval "$(tidemark shell-init bash)"       # ~/.bashrc, at its end
  eval "$(tidemark shell-init zsh)"        # ~/.zshrc
  tidemark shell-init fish | source        # ~/.config/fish/config.fish`,
		Args:      someArgs(1, 1, "one shell: bash, zsh or fish"),
		ValidArgs: terminal.Shells(),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := terminal.Integration(args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		},
	}
}

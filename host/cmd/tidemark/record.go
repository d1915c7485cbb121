package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync/atomic"
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
	"tidemark.dev/tidemark/host/internal/workspace/ownpath"
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
	h, err := home.Find(version)
	if err != nil {
		return err
	}
	store := recording.Store{Dir: h.Terminals()}
	if id := os.Getenv(terminal.Env); store.Live(id) { // a program that outlives a recording keeps the variable
		return usererr.New(usererr.AlreadyExists, "this terminal is being recorded already, as %s. Leave its shell first.", event.OneLine(id))
	}
	working, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("the working directory is not known: %w", err)
	}
	dir, err := grants.Resolve(working)
	if err != nil {
		return err
	}
	working = ownpath.Inside(ownpath.Here(), working)
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
	pruned, err := store.Prune(home.Ages(h), settings.Terminals.Policy())
	if err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "tidemark: cannot delete old recordings: %v\n", err)
	}
	if n := len(pruned.Deleted); n > 0 && !quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "tidemark: deleted %d old recordings of terminals, as [terminals] of config.toml says\n", n)
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
	err = errors.Join(err, moments.close())
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
		dir = outside(dir)
		d, err := s.Require(dir, grants.Terminal)
		if usererr.CodeOf(err) == usererr.NotAllowed && grants.Within(dir, first) {
			if o, asked := originOf(cmd, first); asked == nil && o.Of != "" && !grants.Within(d.For, o.Branch) {
				d, err = s.Require(o.Of, grants.Terminal)
			}
		}
		return err == nil && d.Has(grants.Input), err
	}
}

// commandMoments adds commands to the timeline, one after the other, beside the terminal. Those that the daemon could not record are
// sent again, until the recording ends.
type commandMoments struct {
	home      home.Home
	recording string
	queue     chan commandMoment
	done      chan struct{}
	end       context.CancelFunc
	// full counts the commands that found the queue full.
	full atomic.Int64
	// missing counts the commands that have no moment, and problem is why. They are read after done.
	missing int
	problem error
}

type commandMoment struct {
	recording.Command
	// address is that of the server that the command started, "" for its end.
	address string
	label   chan string
	ended   time.Time
	// late means that the daemon could not record it at once.
	late bool
}

const (
	// maxMoments bounds the commands that wait for the daemon. Those beyond it are only in the recording.
	maxMoments = 64
	// momentPatience bounds the wait for the last moments at the end of a recording.
	momentPatience = 2 * time.Second
	// lateEvery is how often commands are sent again.
	lateEvery = 2 * time.Second
)

func newCommandMoments(h home.Home) *commandMoments {
	ctx, end := context.WithCancel(context.Background())
	m := &commandMoments{home: h, queue: make(chan commandMoment, maxMoments), done: make(chan struct{}), end: end}
	go m.run(ctx)
	return m
}

// run sends commands in their order, until the queue is closed.
func (m *commandMoments) run(ctx context.Context) {
	defer close(m.done)
	again := time.NewTicker(lateEvery)
	defer again.Stop()
	var waiting []commandMoment
	for open := true; open; {
		var next commandMoment
		select {
		case next, open = <-m.queue:
			if open {
				next.late = len(waiting) > 0
				waiting = append(waiting, next)
			}
		case <-again.C:
		}
		for len(waiting) > 0 {
			label, err := m.send(ctx, waiting[0])
			if passing(err) {
				if m.problem = err; ctx.Err() != nil {
					m.problem = errors.New("the daemon did not answer in time")
				}
				for i := range waiting {
					waiting[i].late = true
				}
				break
			}
			waiting[0].label <- label
			waiting = waiting[1:]
		}
		if len(waiting) > maxMoments {
			waiting[0].label <- ""
			waiting, m.missing = waiting[1:], m.missing+1
		}
	}
	m.missing += len(waiting) + int(m.full.Load())
}

// passing reports whether a moment can be recorded later that was not recorded because of an error: the disk may be full, and the
// daemon may not be able to start because of that.
func passing(err error) bool {
	code := usererr.CodeOf(err)
	return err != nil && (code == usererr.Internal || errors.Is(err, home.ErrUnreachable))
}

// add takes a command. The channel has the label of its moment, once there is one.
func (m *commandMoments) add(c recording.Command) <-chan string { return m.ready(c, "") }

// ready takes a command whose server printed its address.
func (m *commandMoments) ready(c recording.Command, address string) <-chan string {
	next := commandMoment{Command: c, address: address, label: make(chan string, 1), ended: time.Now()}
	select {
	case m.queue <- next:
		return next.label
	default:
		m.full.Add(1)
		return nil
	}
}

// send adds the moment of a command. It returns a label with its ID, "" without a moment.
func (m *commandMoments) send(ctx context.Context, c commandMoment) (label string, err error) {
	p := timeline.CommandParams{
		Dir: outside(c.Dir), Label: c.String(),
		Terminal: answers.Terminal{Recording: m.recording, Offset: c.Offset, Status: c.Status, Ms: c.Ms, Command: c.Text},
	}
	if c.late {
		p.Happened = c.ended
	}
	if c.Status != nil {
		p.Kind, _ = milestone.Of(c.Text, *c.Status == 0, c.Status)
	}
	if c.address != "" {
		answering, err := (&net.Dialer{Timeout: momentPatience}).DialContext(ctx, "tcp", c.address)
		if err != nil {
			return "", nil // any program can print an address
		}
		_ = answering.Close()
		p.Label, p.Kind = c.Text+": server ready", records.FromServer
	}
	var a timeline.Commanded
	if err := clientOf(m.home).Tool(ctx, "terminal_command", p, &a); err != nil {
		return "", err
	}
	return a.Moment + " " + p.Label, nil
}

// close waits for the last moments, but not for long. It returns an error if commands have none that the user allows.
func (m *commandMoments) close() error {
	close(m.queue)
	late := time.AfterFunc(momentPatience, m.end)
	<-m.done
	late.Stop()
	m.end()
	if m.missing == 0 {
		return nil
	}
	if m.problem == nil {
		m.problem = errors.New("the daemon was too slow")
	}
	return fmt.Errorf("commands without a moment: %d. %w", m.missing, m.problem)
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

// Package fence runs the user's fence command in workspaces after their file snapshots, so that other machines follow.
//
// It guarantees: the command runs only in a workspace where the user allows it, once at a time in each, and after the
// last snapshot that was reported.
package fence

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/subprocess"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// Limits of a run: its usual time, what a result quotes of the end of its output, and what is looked at for that, in bytes. Secrets are
// masked before the output is cut to what is quoted.
const (
	defaultLimit = time.Minute
	maxOutput    = 500
	maxRead      = 32 << 10
)

// States of a run.
const (
	Done     = "done"
	Failed   = "failed"
	TimedOut = "timed_out"
)

// Result is the result of a run.
type Result struct {
	State      string `json:"state"`
	ExitCode   int    `json:"exitCode"`
	DurationMs int64  `json:"durationMs"`
	// Message says why it failed, with the end of its output.
	Message string `json:"message,omitempty"`
}

func (r *Result) String() string {
	return strings.TrimSuffix(fmt.Sprintf("%s after %d ms: %s", r.State, r.DurationMs, r.Message), ": ")
}

// Options configure [New].
type Options struct {
	// Command is the command with its arguments; none runs nothing. Limit is how long it may take, 0 for a minute.
	Command []string
	Limit   time.Duration
	// Allowed returns why the command may not run in a workspace, nil if it may.
	Allowed func(root string) error
	// Clean removes secrets and control characters from the command's output.
	Clean func(string) string
	Log   *slog.Logger
}

// Fences are the runs in all workspaces. It is safe for concurrent use.
type Fences struct {
	o       Options
	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	roots map[string]*runs
}

// runs are those of one workspace. next follows the running one, for all snapshots until it begins. last is the last one
// that succeeded.
type runs struct{ running, next, last *Run }

// Run is a run of the command after a snapshot.
type Run struct {
	after  uint64
	done   chan struct{}
	result *Result // valid when done is closed
}

// New returns no runs.
func New(o Options) *Fences {
	f := &Fences{o: o, roots: map[string]*runs{}}
	f.life, f.end = context.WithCancel(context.Background())
	return f
}

// Close ends the runs.
func (f *Fences) Close() {
	f.mu.Lock()
	f.end()
	f.mu.Unlock()
	f.running.Wait()
}

// Check returns why the command may not run in a workspace, nil if it may.
func (f *Fences) Check(root string) error {
	if len(f.o.Command) == 0 {
		return usererr.Invalid("no fence command is set. Set fence under [timeline] in config.toml, and run `tidemark stop`: the next daemon reads it.")
	}
	return f.o.Allowed(root)
}

// Taken begins the run after a new snapshot. Numbers begin again where another project is in the directory than before.
func (f *Fences) Taken(root string, number uint64) {
	f.mu.Lock()
	if of := f.roots[root]; of != nil {
		for _, r := range []*Run{of.running, of.next, of.last} {
			if r != nil && r.after > number {
				r.after = 0
			}
		}
	}
	f.mu.Unlock()
	f.After(root, number)
}

// After returns the run after a snapshot by its number, and begins it if there is none.
func (f *Fences) After(root string, number uint64) *Run {
	f.mu.Lock()
	defer f.mu.Unlock()
	of := f.roots[root]
	if of == nil {
		of = &runs{}
		f.roots[root] = of
	}
	for _, r := range []*Run{of.running, of.last} {
		if r != nil && r.after >= number {
			return r
		}
	}
	if of.next != nil {
		of.next.after = max(of.next.after, number)
		return of.next
	}
	of.next = &Run{after: number, done: make(chan struct{})}
	if of.running == nil && f.life.Err() == nil {
		f.beginLocked(root, of)
	}
	return of.next
}

// beginLocked begins the runs of a workspace, until none follows.
func (f *Fences) beginLocked(root string, of *runs) {
	of.running = of.next
	f.running.Go(func() {
		for {
			f.mu.Lock()
			r := of.next
			if of.running, of.next = r, nil; r == nil {
				f.mu.Unlock()
				return
			}
			after := r.after
			f.mu.Unlock()
			r.result = f.run(root, after)
			if r.result.State != Done {
				f.o.Log.Warn("the fence command did not succeed", "workspace", root, "result", r.result.String())
			}
			f.mu.Lock()
			if r.result.State == Done {
				of.last = r
			}
			f.mu.Unlock()
			close(r.done)
		}
	})
}

// Wait returns the result of a run.
func (f *Fences) Wait(ctx context.Context, r *Run) (*Result, error) {
	select {
	case <-r.done:
		return r.result, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-f.life.Done():
		return nil, errors.New("the daemon is stopping")
	}
}

func (f *Fences) run(root string, after uint64) *Result {
	if err := f.Check(root); err != nil {
		return &Result{State: Failed, Message: err.Error()}
	}
	limit := f.o.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	ctx, cancel := context.WithTimeout(f.life, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, f.o.Command[0], f.o.Command[1:]...) //nolint:gosec // the user's own command
	subprocess.Whole(cmd)
	output := subprocess.Tail{Most: maxRead}
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = root, &output, &output, time.Second
	cmd.Env = append(os.Environ(), "TIDEMARK_WORKSPACE="+root, fmt.Sprintf("TIDEMARK_FS_SNAPSHOT=s%d", after))
	began := time.Now()
	err := subprocess.Run(cmd)
	r := &Result{State: Done, DurationMs: time.Since(began).Milliseconds()}
	if err == nil {
		return r
	}
	r.State, r.ExitCode, r.Message = Failed, cmd.ProcessState.ExitCode(), event.OneLine(err.Error())
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		r.State, r.Message = TimedOut, fmt.Sprintf("it took more than %v", limit)
	}
	said := strings.Join(strings.Fields(f.o.Clean(output.String())), " ")
	if said = strings.ToValidUTF8(said[max(0, len(said)-maxOutput):], ""); said != "" {
		r.Message += ": " + said
	}
	return r
}

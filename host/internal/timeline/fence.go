package timeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// Settings are the user's settings for the timeline, the section [timeline] of config.toml.
type Settings struct {
	// Fence is a command that runs in a project after each new file snapshot, with its arguments. None runs nothing.
	Fence []string `toml:"fence"`
	// FenceSeconds is how long it may take. 0 means 60.
	FenceSeconds float64 `toml:"fence_seconds"`
	// OpenIDE is the command with which `tidemark timeline seek --open-ide` opens a directory.
	OpenIDE []string `toml:"open_ide"`
}

const defaultFence = time.Minute

// Check returns an error for a setting that is out of range.
func (s Settings) Check() error {
	switch {
	case s.FenceSeconds < 0 || s.FenceSeconds > 3600:
		return errors.New("fence_seconds must be more than 0, and at most 3600")
	case len(s.Fence) > 0 && s.Fence[0] == "", len(s.OpenIDE) > 0 && s.OpenIDE[0] == "":
		return errors.New(`a command begins with a program, as in ["mutagen", "sync", "flush", "--all"]`)
	}
	return nil
}

// fenceRun is a run of the fence command. after is its snapshot. fenced is valid when done is closed.
type fenceRun struct {
	after  uint64
	done   chan struct{}
	fenced *Fenced
}

// fences are the runs of one workspace, one at a time. The lock of the line guards them.
type fences struct {
	// running is nil while none runs. next follows it, for all snapshots until it begins. last is the last one that
	// succeeded.
	running, next, last *fenceRun
}

// fence returns the run after a snapshot, and begins it if there is none. Without a command it returns nil.
func fence(t *Timeline, l *line, after uint64) *fenceRun {
	if len(t.o.Settings.Fence) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range []*fenceRun{l.fences.running, l.fences.last} {
		if r != nil && r.after >= after {
			return r
		}
	}
	if r := l.fences.next; r != nil {
		r.after = max(r.after, after)
		return r
	}
	r := &fenceRun{after: after, done: make(chan struct{})}
	idle := l.fences.running == nil
	l.fences.next = r
	if idle {
		l.fences.running = r // it is about to
		if err := t.start(func() { runFences(t, l) }); err != nil {
			l.fences.running, l.fences.next = nil, nil
			return nil
		}
	}
	return r
}

// runFences runs what follows until nothing does.
func runFences(t *Timeline, l *line) {
	for {
		l.mu.Lock()
		r := l.fences.next
		l.fences.running, l.fences.next = r, nil
		l.mu.Unlock()
		if r == nil {
			return
		}
		r.fenced = runFence(t, l.root, r.after)
		if r.fenced.State != FenceDone {
			t.o.Log.Warn("the fence command did not succeed", "workspace", l.root, "result", r.fenced.String())
		}
		l.mu.Lock()
		if r.fenced.State == FenceDone {
			l.fences.last = r
		}
		l.mu.Unlock()
		close(r.done)
	}
}

// mayFence returns why the fence command may not run in a workspace, nil if it may.
func mayFence(t *Timeline, root string) error {
	if len(t.o.Settings.Fence) == 0 {
		return usererr.Invalid("no fence command is set. Set fence under [timeline] in config.toml.")
	}
	_, err := t.o.Workspaces.Root(root, grants.Fence)
	return err
}

// maxFenceOutput bounds what a result quotes of the command's output, in bytes.
const maxFenceOutput = 500

func runFence(t *Timeline, root string, after uint64) *Fenced {
	if err := mayFence(t, root); err != nil {
		return &Fenced{State: FenceFailed, Message: err.Error()}
	}
	limit := defaultFence
	if s := t.o.Settings.FenceSeconds; s > 0 {
		limit = time.Duration(s * float64(time.Second))
	}
	ctx, cancel := context.WithTimeout(t.life, limit)
	defer cancel()
	argv := t.o.Settings.Fence
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var output bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = root, &output, &output, time.Second
	cmd.Env = append(os.Environ(), "TIDEMARK_WORKSPACE="+root, "TIDEMARK_FS_SNAPSHOT="+snapshotID(after))
	began := t.o.Elapsed()
	err := cmd.Run()
	f := &Fenced{State: FenceDone, DurationMs: (t.o.Elapsed() - began).Milliseconds()}
	if err == nil {
		return f
	}
	f.State, f.ExitCode = FenceFailed, cmd.ProcessState.ExitCode()
	f.Message = event.OneLine(err.Error())
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		f.State, f.Message = FenceTimedOut, fmt.Sprintf("it took more than %v", limit)
	}
	text := output.Bytes()
	if text = text[max(0, len(text)-maxFenceOutput):]; len(text) > 0 {
		f.Message += ": " + t.o.label(strings.ToValidUTF8(string(text), ""))
	}
	return f
}

// waitFence waits for the fence command after a moment's snapshot.
func waitFence(ctx context.Context, t *Timeline, root string, m *Moment) (*Fenced, error) {
	l, err := t.line(root)
	if err != nil {
		return nil, err
	}
	r := fence(t, l, m.Snapshot)
	if r == nil {
		return nil, errors.New("the daemon is stopping")
	}
	select {
	case <-r.done:
		return r.fenced, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Package timeline keeps sessions of work in workspaces, on one clock: it records what happens in them as moments, lists and
// compares these, and shows their files. Package moments has the moments themselves, operations what goes back to one.
//
// Guarantees:
//   - Nothing of a workspace is recorded or shown without the user's decision for it (package grants).
//   - A snapshot that was lost or deleted is reported as such.
//   - A feed has each event of a session once.
package timeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tidemark.dev/tidemark/host/internal/fence"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/timeline/sessions"
	"tidemark.dev/tidemark/host/internal/workspace"
)

// Options configure [Open].
type Options struct {
	// Path is the file of sessions and moments.
	Path string
	// Branches is the directory in which branches are.
	Branches   string
	Workspaces *workspace.Workspaces
	// Terminals are the recordings of terminals, which TerminalPolicy bounds.
	Terminals      recording.Store
	TerminalPolicy retention.Policy
	Settings       Settings
	// Long is from which time on the copy for a branch is planned first, and confirmed by the user. 0 plans none.
	Long  time.Duration
	Clock func() time.Time
	// Elapsed returns how long this process has run. Nobody sets it back. Nil is the process's clock.
	Elapsed func() time.Duration
	Log     *slog.Logger
	// Uncommit deletes a branch of the repository in a directory, if it is at a commit. Nil leaves it.
	Uncommit func(ctx context.Context, dir, branch, commit string) error
	// Committed reports whether a branch of the repository in a directory is at a commit.
	Committed func(ctx context.Context, dir, branch, commit string) (bool, error)
	// Recommit makes a branch at a commit again in the repository in a directory. Nil makes none.
	Recommit func(ctx context.Context, dir, branch, commit string) error
	// Clean removes secrets and control characters from texts of agents. Nil leaves them.
	Clean func(string) string
}

// Timeline has the sessions of all workspaces. It is safe for concurrent use.
type Timeline struct {
	// Operations are what goes back to a moment, or branches from it.
	Operations *operations.Operations

	o        Options
	db       *records.DB
	lines    *moments.Lines
	sessions *sessions.Registry
	fences   *fence.Fences
	tails    tails
	// course may be nil. It does not change after [SetCourse].
	course Course
	// made may be nil. It does not change after [SetMade].
	made Made
}

// Open opens the file of sessions, and creates it if there is none. A damaged one is set aside, which notice says.
func Open(o Options) (_ *Timeline, notice string, err error) {
	if o.Clean == nil {
		o.Clean = func(s string) string { return s }
	}
	if o.Elapsed == nil {
		began := time.Now()
		o.Elapsed = func() time.Duration { return time.Since(began) }
	}
	system := o.Clock
	o.Clock = func() time.Time { return system().Round(0) } // times count while the machine is suspended
	t := &Timeline{o: o}
	if t.db, notice, err = records.Open(o.Path, o.Clock()); err != nil {
		return nil, notice, err
	}
	if t.sessions, err = sessions.Read(t.db); err != nil {
		return nil, notice, errors.Join(fmt.Errorf("cannot read the sessions: %w", err), t.db.Close())
	}
	for _, s := range t.sessions.All() {
		if from := t.sessions.Origin(s); from != nil && from != s {
			o.Workspaces.Branch(s.Workspace, from.Workspace)
		}
	}
	t.lines = moments.New(moments.Options{
		DB: t.db, Sessions: t.sessions, Workspaces: o.Workspaces, Clock: o.Clock, Elapsed: o.Elapsed, Log: o.Log, Clean: o.Clean, Notice: notice,
	})
	t.Operations = operations.New(operations.Options{
		Lines: t.lines, DB: t.db, Sessions: t.sessions, Workspaces: o.Workspaces, Branches: o.Branches, Long: o.Long, Clock: o.Clock, Log: o.Log,
		Uncommit: o.Uncommit, Committed: o.Committed, Recommit: o.Recommit, Clean: o.Clean,
	})
	t.fences = fence.New(fence.Options{
		Command: o.Settings.Fence, Limit: time.Duration(o.Settings.FenceSeconds * float64(time.Second)), Clean: o.Clean, Log: o.Log,
		Allowed: func(root string) error {
			_, err := o.Workspaces.Root(root, grants.Fence)
			return err
		},
	})
	o.Workspaces.OnTaken(func(root string, number uint64) {
		if t.fences.Check(root) == nil {
			t.fences.Taken(root, number)
		}
	})
	return t, notice, nil
}

// Broken returns a timeline that answers every call with an error.
func Broken(err error) *Timeline {
	return &Timeline{lines: moments.Broken(err), Operations: operations.Broken(err)}
}

// Close ends the timeline, with everything on disk.
func (t *Timeline) Close() error {
	if t.lines.Failed() != nil {
		return nil
	}
	t.lines.Close()
	t.fences.Close()
	return t.db.Close()
}

// Record is [moments.Lines.Record].
func (t *Timeline) Record(ctx context.Context, dir string, m records.Moment) (*records.Moment, error) {
	return t.lines.Record(ctx, dir, m)
}

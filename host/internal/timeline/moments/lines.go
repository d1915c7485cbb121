// Package moments records the moments of workspaces, each with a snapshot of the files, and finds the one that a call names.
//
// Guarantees:
//   - A moment that was returned is on disk. Its snapshot is there, or the moment has the reason why not.
//   - Nothing of a workspace is recorded or found without the user's decision for it (package grants).
//   - Moments and snapshots are never given another meaning: a number is used once, and a snapshot that was lost or deleted
//     is reported as such.
//   - Who has the turn of a line ([Line.Lock]) is alone in recording moments of that workspace and in changing its files.
package moments

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/signal"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/timeline/sessions"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
)

const (
	// SessionGap is how long nothing may happen until the next moment begins another session.
	SessionGap = 12 * time.Hour
	// maxLabel bounds a label in bytes, maxEvent that of an event of a provider, which ends with what the user can do.
	maxLabel = 200
	maxEvent = 2000
	// maxText bounds a text of several lines, in bytes.
	maxText = 16 << 10
)

// Options configure [New].
type Options struct {
	DB         *records.DB
	Sessions   *sessions.Registry
	Workspaces *workspace.Workspaces
	Clock      func() time.Time
	// Elapsed returns how long this process has run. Nobody sets it back.
	Elapsed func() time.Duration
	Log     *slog.Logger
	// Clean removes secrets and control characters from texts of agents.
	Clean func(string) string
	// Notice says that a damaged file of sessions was set aside, "" if none was.
	Notice string
}

// Lines are the moments of all workspaces: a line for each. It is safe for concurrent use.
type Lines struct {
	o        Options
	db       *records.DB
	sessions *sessions.Registry
	// failed is why nothing can be recorded, nil in the usual case.
	failed error
	// life ends when the lines are closed. running are the snapshots that are being taken.
	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup
	// settle may be nil. It does not change after [Lines.OnOpen].
	settle func(*Line, *workspace.Workspace) error
	// changed reports new moments, snapshots and branches.
	changed signal.Signal

	mu sync.Mutex
	// lines are those of workspaces with a request, by directory.
	lines  map[string]*Line
	closed bool
}

// Line has the moments of one workspace. A moment in it is replaced, never changed.
type Line struct {
	// Root is the directory of the workspace, Space its ID in the file.
	Root, Space string
	// turn has room for the one that records.
	turn chan struct{}
	// degraded is [workspace.Workspace.Degraded], logged what of it has a moment. Told is true once that was not
	// nothing. Turn guards them.
	degraded, logged string
	told             bool
	// settled is true once interrupted operations were ended.
	settling sync.Mutex
	settled  bool

	mu      sync.Mutex
	moments []*records.Moment
	// ordered are the moments of sessions by their time, since they were asked for.
	ordered map[string][]*records.Moment
	// read is when the clocks were read last, nil before the first moment.
	read *reading
	// free is when the next snapshot may be taken, minus what a burst may borrow.
	free time.Time
	// waiting are the moments that share the next snapshot.
	waiting []*records.Moment
	// renamings are the last new names of checkpoints.
	renamings []renaming
}

// New returns the lines of a file of sessions and moments. It keeps the snapshots that their moments and operations name.
func New(o Options) *Lines {
	ls := &Lines{o: o, db: o.DB, sessions: o.Sessions, lines: map[string]*Line{}}
	ls.life, ls.end = context.WithCancel(context.Background())
	o.Workspaces.OnKnown(ls.largest)
	o.Workspaces.Refer(ls.References, func(root string, numbers []uint64) {
		l, err := ls.Line(root)
		if err == nil {
			err = ls.Deleting(l, numbers)
		}
		if err != nil {
			o.Log.Error("cannot save which snapshots are deleted", "workspace", root, "error", err)
		}
	})
	return ls
}

// Broken returns lines that answer every call with an error.
func Broken(err error) *Lines { return &Lines{failed: err} }

// Failed returns why nothing can be recorded, nil in the usual case.
func (ls *Lines) Failed() error { return ls.failed }

// Changes wakes those who wait for a change of any session.
func (ls *Lines) Changes() *signal.Signal { return &ls.changed }

// Life ends when the lines are closed.
func (ls *Lines) Life() context.Context { return ls.life }

// Close ends what was started, with every moment on disk.
func (ls *Lines) Close() {
	ls.mu.Lock()
	ls.closed = true
	ls.mu.Unlock()
	ls.end()
	ls.running.Wait()
}

// Start runs a function until it ends, or does not run it because the lines are closed.
func (ls *Lines) Start(f func()) error {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.closed {
		return errors.New("the daemon is stopping")
	}
	ls.running.Go(f)
	return nil
}

// Line returns the moments of a workspace.
func (ls *Lines) Line(root string) (*Line, error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.lines[root]
	if l != nil {
		return l, nil
	}
	l = &Line{Root: root, Space: workspace.ID(root), turn: make(chan struct{}, 1), ordered: map[string][]*records.Moment{}}
	var err error
	if l.moments, err = ls.db.Moments(l.Space); err != nil {
		return nil, fmt.Errorf("cannot read the moments of %s: %w", root, err)
	}
	for i, m := range l.moments {
		if Pending(m) {
			l.moments[i] = m.With(func(m *records.Moment) { m.Reason = "the daemon ended before the snapshot was taken" })
		}
	}
	ls.lines[root] = l
	return l, nil
}

// All returns the moments.
func (l *Line) All() []*records.Moment {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.moments[:len(l.moments):len(l.moments)]
}

// Lock waits for its turn to record. The returned function ends it.
func (l *Line) Lock(ctx context.Context) (unlock func(), err error) {
	select {
	case l.turn <- struct{}{}:
		return func() { <-l.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Label shortens and cleans a label.
func (ls *Lines) Label(text string) string { return labelOf(ls, text, maxLabel) }

// Text cleans a text, and shortens a very long one. It keeps its lines and spaces.
func Text(ls *Lines, text string) string { return shortened(ls.o.Clean(text), maxText) }

func labelOf(ls *Lines, text string, most int) string {
	return shortened(strings.Join(strings.Fields(ls.o.Clean(text)), " "), most)
}

func shortened(text string, most int) string {
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most-len("…")], "") + "…"
	}
	return text
}

// OnOpen has a function end the operations that a daemon which was killed left begun in a workspace. It is called before the
// lines are used.
func (ls *Lines) OnOpen(settle func(*Line, *workspace.Workspace) error) { ls.settle = settle }

// Open opens the workspace of a session. The first time, it ends what was interrupted there ([Lines.OnOpen]). While that fails,
// nothing else begins, and the next call tries again.
func (ls *Lines) Open(ctx context.Context, root string) (*workspace.Workspace, error) {
	w, err := ls.o.Workspaces.Open(ctx, root)
	if err != nil {
		return nil, err
	}
	l, err := ls.Line(root)
	if err != nil {
		return nil, err
	}
	l.settling.Lock()
	defer l.settling.Unlock()
	if !l.settled {
		if err := ls.settle(l, w); err != nil {
			return nil, err
		}
		l.settled = true
	}
	return w, nil
}

// Nothing returns the error of a request about a workspace, or a moment, of which nothing is recorded.
func (ls *Lines) Nothing(format string, args ...any) error {
	if ls.o.Notice != "" {
		format += " Earlier sessions may be in a damaged file: %s."
		args = append(args, ls.o.Notice)
	}
	return usererr.New(usererr.NotFound, format, args...)
}

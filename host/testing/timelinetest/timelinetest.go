// Package timelinetest makes timelines for tests: each over one directory that the user allowed, with a clock that tests move.
package timelinetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/recorder"
	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/dataset"
	"tidemark.dev/tidemark/host/internal/workspace/subvolume"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/disktest"
)

// World is a timeline over one directory that the user allowed.
type World struct {
	T *testing.T
	*timeline.Timeline
	// Top has everything, Dir is the workspace in it.
	Top, Dir   string
	Grants     *grants.Store
	Workspaces *workspace.Workspaces
	Stop       func()
	Settings   timeline.Settings
	// Notice is of the last start. Damaged is true if there has to be one.
	Notice  string
	Damaged bool
	// Clocked is called when a workspace asks for the time, by a scan for each file. It is nil, or set before [World.Start].
	Clocked func()

	mu     sync.Mutex
	offset time.Duration
}

// User is the command line, in no directory.
var User = &checkpoint.Client{Name: "cli", User: true}

// Terminals are the recordings of terminals.
func (w *World) Terminals() recording.Store {
	return recording.Store{Dir: filepath.Join(w.Top, "terminals")}
}

// New makes a world that is started, and that ends with the test.
func New(t *testing.T) *World {
	t.Helper()
	top, err := grants.Resolve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &World{T: t, Top: top, Dir: filepath.Join(top, "shop")}
	on, isDataset := dataset.Of(top)
	switch {
	case subvolume.On(top):
		err = subvolume.Create(w.Dir)
	case isDataset:
		disktest.Zfs(t, "create", "-o", "mountpoint="+w.Dir, on.Name+"/"+strings.ToLower(rand.Text()))
		t.Cleanup(func() { w.destroy(on.Name) })
	default:
		err = os.Mkdir(w.Dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.Grants = &grants.Store{File: filepath.Join(top, "grants.json"), Lock: func(context.Context) (func(), error) { return func() {}, nil }, Clock: w.Now}
	w.Allow(w.Dir)
	w.Start()
	t.Cleanup(func() {
		w.Stop()
		if isDataset {
			return
		}
		if err := tracked.RemoveAll(top); err != nil { // views cannot be written to
			t.Error(err)
		}
	})
	return w
}

// destroy destroys the datasets of a workspace, which is in another dataset, with its views and branches.
func (w *World) destroy(in string) {
	for name := range strings.FieldsSeq(disktest.Zfs(w.T, "list", "-H", "-o", "name", "-r", "-d", "1", in)) {
		if name != in {
			disktest.Zfs(w.T, "destroy", "-R", name)
		}
	}
	if err := tracked.RemoveAll(w.Top); err != nil {
		w.T.Fatal(err)
	}
}

// OnSmallDisk makes a world whose snapshots are on a disk of 12 MiB.
func OnSmallDisk(t *testing.T) *World {
	t.Helper()
	small := disktest.Small(t, "12m")
	w := New(t)
	w.Stop()
	stores := filepath.Join(w.Top, "workspaces")
	if err := errors.Join(os.RemoveAll(stores), os.Symlink(small, stores)); err != nil {
		t.Fatal(err)
	}
	w.Start()
	return w
}

// Allow allows a directory, with grants.
func (w *World) Allow(dir string, grant ...string) {
	w.T.Helper()
	if _, err := w.Grants.Allow(w.T.Context(), dir, grant, nil); err != nil {
		w.T.Fatal(err)
	}
}

// Now is the clock, which tests move.
func (w *World) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.offset)
}

// Pass moves the clock.
func (w *World) Pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.offset += d
}

// Start opens the timeline, as a daemon does.
func (w *World) Start() {
	w.T.Helper()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	clock := w.Now
	if w.Clocked != nil {
		clock = func() time.Time { w.Clocked(); return w.Now() }
	}
	w.Workspaces = workspace.New(workspace.Options{Grants: w.Grants, Dir: filepath.Join(w.Top, "workspaces"), Redactor: redact.Default(), Clock: clock, Age: retention.Wall(w.Now), Log: log})
	var err error
	w.Timeline, w.Notice, err = timeline.Open(timeline.Options{
		Path: filepath.Join(w.Top, "timeline.db"), Branches: filepath.Join(w.Top, "branches"), Workspaces: w.Workspaces, Settings: w.Settings, Clock: w.Now, Log: log,
		Terminals: w.Terminals(),
	})
	if err != nil || (w.Notice != "") != w.Damaged {
		w.T.Fatal(w.Notice, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.Workspaces.Run(ctx, nobody{})
	}()
	w.Stop = func() {
		if err := w.Close(); err != nil {
			w.T.Error(err)
		}
		cancel()
		<-done
	}
}

// Restart ends the timeline and opens it again.
func (w *World) Restart() {
	w.T.Helper()
	w.Stop()
	w.Start()
}

// Write writes a file of the workspace.
func (w *World) Write(path, content string) {
	w.T.Helper()
	path = filepath.Join(w.Dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.T.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.T.Fatal(err)
	}
}

// WriteLarge writes a file that cannot be compressed, of a size in MiB.
func (w *World) WriteLarge(path string, size int) {
	w.T.Helper()
	large := make([]byte, size<<20)
	_, _ = rand.Read(large)
	w.Write(path, string(large))
}

// Read reads a file anywhere.
func (w *World) Read(path string) string {
	w.T.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		w.T.Fatal(err)
	}
	return string(data)
}

// Edit records the moment of an agent's edit.
func (w *World) Edit(label string) *records.Moment {
	w.T.Helper()
	m, err := w.Record(w.T.Context(), w.Dir, records.Moment{Label: label, Source: records.FromEdit})
	if err != nil {
		w.T.Fatal(err)
	}
	return m
}

// Moment adds a moment of the user, at a time of the session where that is given.
func (w *World) Moment(label, kind string, ts ...float64) (*answers.Added, error) {
	p := timeline.AddParams{Where: w.Here(), Label: label, Kind: kind}
	if len(ts) > 0 {
		p.TS = &ts[0]
	}
	return w.Add(w.T.Context(), User, p)
}

// Here names the workspace in calls.
func (w *World) Here() moments.Where { return moments.Where{Dir: w.Dir} }

// Listed lists the session.
func (w *World) Listed() *answers.List {
	w.T.Helper()
	a, err := w.List(w.T.Context(), User, timeline.ListParams{Where: w.Here(), Limit: 1000})
	if err != nil {
		w.T.Fatal(err)
	}
	return a
}

// Sought returns a file of a moment.
func (w *World) Sought(id, name string) string {
	w.T.Helper()
	s, err := w.Seek(w.T.Context(), User, timeline.SeekParams{Where: w.Here(), To: id})
	if err != nil {
		w.T.Fatal(err)
	}
	return w.Read(filepath.Join(s.Mount, name))
}

// CheckClean fails the test unless all snapshots are whole.
func (w *World) CheckClean() {
	w.T.Helper()
	if c, err := w.Check(w.T.Context(), User, timeline.SessionParams{Where: w.Here()}); err != nil || len(c.Damages) > 0 {
		w.T.Error(c, err)
	}
}

// Wants fails the test unless an error has a code and contains a text.
func Wants(t *testing.T, err error, code usererr.Code, part string) {
	t.Helper()
	if usererr.CodeOf(err) != code || !strings.Contains(fmt.Sprint(err), part) {
		t.Errorf("%q is the error %v, want %s with %q", usererr.CodeOf(err), err, code, part)
	}
}

// nobody takes what is recorded.
type nobody struct{ recorder.Sink }

func (nobody) Append(context.Context, ...event.Event) error { return nil }
func (nobody) Miss(event.Subject, string, time.Time, int)   {}

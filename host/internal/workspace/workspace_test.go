package workspace_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/recorder"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/compare"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// TestSnapshotsOfWhatAnotherProcessEdits: one that is taken while it pauses, restored elsewhere, is the workspace bit by
// bit. In one that is taken while it edits, each path has a state that it had.
func TestSnapshotsOfWhatAnotherProcessEdits(t *testing.T) {
	whatAnotherProcessEdits(t, t.TempDir(), func(dir string) error { return os.Mkdir(dir, 0o755) })
}

func whatAnotherProcessEdits(t *testing.T, base string, make func(dir string) error) {
	editor := treetest.StartEditor(t)
	base, err := grants.Resolve(base)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		top, err := os.MkdirTemp(base, "case")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tracked.RemoveAll(top) }()
		dir := filepath.Join(top, "workspace")
		if err := make(dir); err != nil {
			t.Fatal(err)
		}
		w, end := open(t, top, dir)
		defer end()
		take := func() tracked.Snapshot {
			s, _, err := w.Take(context.Background(), "test", "", false)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		elsewhere := func(s tracked.Snapshot, see func(dir string)) {
			out := filepath.Join(top, "elsewhere")
			if err := w.Clone(context.Background(), s.Number, out); err != nil {
				t.Fatal(err)
			}
			see(out)
			if err := tracked.RemoveAll(out); err != nil {
				t.Fatal(err)
			}
		}
		was := map[uint64][]string{}
		pause := func() {
			s := take()
			if len(s.Problems) > 0 {
				t.Fatal(s.Problems)
			}
			was[s.Number] = treetest.Read(t, dir)
		}
		for range rapid.IntRange(1, 4).Draw(t, "pauses") {
			for range rapid.IntRange(0, 12).Draw(t, "edits") {
				editor.Edit(t, dir)
			}
			if rapid.IntRange(0, 2).Draw(t, "without pauses") == 0 {
				seed := rapid.Uint64().Draw(t, "seed")
				editor.Run(dir, seed)
				var running []tracked.Snapshot
				for range 10 {
					running = append(running, take())
				}
				states := editor.Pause()
				for _, s := range running {
					var uncertain []string
					for _, problem := range s.Problems {
						path, _, _ := strings.Cut(problem, ": ")
						uncertain = append(uncertain, path)
					}
					elsewhere(s, func(out string) {
						for _, line := range treetest.States(t, out, uncertain...) {
							if !slices.Contains(states, line) {
								t.Fatalf("s%d, with the problems %q, has\n%s\nwhich is none of its states", s.Number, s.Problems, line)
							}
						}
					})
				}
			}
			pause()
		}
		for _, n := range slices.Sorted(maps.Keys(was)) {
			elsewhere(tracked.Snapshot{Number: n}, func(out string) {
				if got := treetest.Read(t, out); !slices.Equal(got, was[n]) {
					t.Fatalf("s%d is\n%s\nand was\n%s", n, strings.Join(got, "\n"), strings.Join(was[n], "\n"))
				}
			})
		}
	})
}

// open opens a workspace that the user allowed. End closes it.
func open(t treetest.Fataler, top, dir string) (w *workspace.Workspace, end func()) {
	t.Helper()
	w, end, _ = opened(t, top, dir, workspace.Settings{})
	return w, end
}

// opened is open with settings. All has the workspace.
func opened(t treetest.Fataler, top, dir string, settings workspace.Settings) (w *workspace.Workspace, end func(), all *workspace.Workspaces) {
	t.Helper()
	store := &grants.Store{File: filepath.Join(top, "grants.json"), Lock: func(context.Context) (func(), error) { return func() {}, nil }, Clock: time.Now}
	if _, err := store.Allow(context.Background(), dir, nil, nil); err != nil {
		t.Fatal(err)
	}
	all = workspace.New(workspace.Options{
		Grants: store, Dir: filepath.Join(top, "home"), Redactor: redact.Default(), Settings: settings, Clock: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	w, err := all.Open(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return w, func() { all.CloseDir(dir) }, all
}

// TestNothingIsPrunedAgainAndAgain: a deletion, which reads the records of all snapshots, is due only if it would delete some.
func TestNothingIsPrunedAgainAndAgain(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, later := filepath.Join(top, "workspace"), time.Duration(0)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	store := &grants.Store{File: filepath.Join(top, "grants.json"), Lock: func(context.Context) (func(), error) { return func() {}, nil }, Clock: time.Now}
	if _, err := store.Allow(t.Context(), dir, nil, nil); err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return time.Now().Add(later) }
	all := workspace.New(workspace.Options{
		Grants: store, Dir: filepath.Join(top, "home"), Redactor: redact.Default(), Clock: clock, Age: retention.Wall(clock), Log: slog.New(slog.DiscardHandler),
		Settings: workspace.Settings{Count: 20, Days: 7},
	})
	references := map[uint64]string{1: "m1, mine"}
	all.Refer(func(string) map[uint64]string { return references }, nil)
	w, err := all.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer all.CloseDir(dir)
	take := func(n int) {
		t.Helper()
		for range n {
			if err := os.WriteFile(filepath.Join(dir, "a"), []byte(rand.Text()), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, _, err := w.Take(t.Context(), "", "", false); err != nil {
				t.Fatal(err)
			}
		}
	}
	due := func(want bool, kept int) {
		t.Helper()
		if got := workspace.Due(w); got != want {
			t.Errorf("with %v: due %v, want %v", references, got, want)
		}
		done, err := w.Prune(t.Context(), workspace.Settings{Count: 20, Days: 7}.Policy(), retention.Wall(clock))
		if err != nil || done.Kept != kept || done.Referred != len(references) {
			t.Errorf("%+v, %v", done, err)
		}
		if workspace.Due(w) {
			t.Error("it is due again")
		}
	}
	take(2)
	later = 8 * 24 * time.Hour
	due(false, 2) // one is referred to, the other is the newest
	take(1)
	due(true, 2)
	take(18)
	due(false, 20)
	take(3)
	due(true, 20)
	references = map[uint64]string{}
	list, err := w.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		references[s.Number] = "mine"
	}
	take(6)
	due(true, 21)
}

// TestWhatAKilledProcessLeftBesideViewsIsRemoved: a copy of the files, and a view that nobody has asked for. A view in use stays.
func TestWhatAKilledProcessLeftBesideViewsIsRemoved(t *testing.T) {
	top, err := grants.Resolve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "shop")
	write := func(text string) {
		t.Helper()
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "cart.ts"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	w, end := open(t, top, dir)
	first, _, err := w.Take(t.Context(), "first", "", false)
	if err != nil {
		t.Fatal(err)
	}
	write("two")
	second, _, err := w.Take(t.Context(), "second", "", false)
	if err != nil {
		t.Fatal(err)
	}
	view := func(n uint64) string {
		t.Helper()
		v, err := w.View(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	old, used := view(first.Number), view(second.Number)
	t.Cleanup(func() { _ = tracked.RemoveAll(filepath.Dir(used)) }) // a view cannot be written to
	var copied string
	if err := w.Temporarily(t.Context(), first.Number, func(dir string) error {
		copied = dir
		return os.WriteFile(filepath.Join(dir, "cart.ts"), []byte("changed"), 0o600)
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(copied); err == nil {
		t.Errorf("%s is left", copied)
	}
	// As a kill leaves it.
	if err := os.Mkdir(copied, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied+".used", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-2 * time.Hour)
	for _, path := range []string{copied, old} {
		if err := os.Chtimes(path+".used", long, long); err != nil {
			t.Fatal(err)
		}
	}
	end()
	_, end = open(t, top, dir)
	defer end()
	left, err := os.ReadDir(filepath.Dir(used))
	if err != nil || len(left) != 2 || left[0].Name() != filepath.Base(used) || left[1].Name() != filepath.Base(used)+".used" {
		t.Errorf("%v is left, %v", left, err)
	}
}

// sink has the changes of files that were recorded.
type sink struct {
	recorder.Sink
	mu    sync.Mutex
	paths map[string]bool
	all   []*event.FileChange
}

func (s *sink) Append(_ context.Context, events ...event.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		s.paths[e.(*event.FileChange).Path] = true
		s.all = append(s.all, e.(*event.FileChange))
	}
	return nil
}

func (*sink) Miss(event.Subject, string, time.Time, int) {}

// TestASnapshotThatIsTheSameHasItsChangesRecorded: also where another call took it at the same time.
func TestASnapshotThatIsTheSameHasItsChangesRecorded(t *testing.T) {
	top, err := grants.Resolve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "shop")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	all, to, end := recorded(t, top, dir)
	defer end()
	w, err := all.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Take(t.Context(), "", "", false); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		path := strconv.Itoa(i)
		if err := os.WriteFile(filepath.Join(dir, path), []byte(strings.Repeat("x\n", 20_000)), 0o600); err != nil {
			t.Fatal(err)
		}
		var taking sync.WaitGroup
		for range 2 {
			taking.Go(func() {
				if _, _, err := w.Take(t.Context(), "", "Edit "+path, false); err != nil {
					t.Error(err)
				}
				if err := all.Flush(t.Context()); err != nil {
					t.Error(err)
				}
				to.mu.Lock()
				defer to.mu.Unlock()
				if !to.paths[path] {
					t.Errorf("%s is not recorded", path)
				}
			})
		}
		taking.Wait()
	}
}

// recorded returns workspaces of which some directories are allowed, with what they record. Nothing of before is lost.
func recorded(t *testing.T, top string, dirs ...string) (all *workspace.Workspaces, to *sink, end func()) {
	t.Helper()
	return recordedAfter(t, top, nil, dirs...)
}

// recordedAfter is [recorded] after a process that recorded something.
func recordedAfter(t *testing.T, top string, before func(string) (uint64, time.Time), dirs ...string) (all *workspace.Workspaces, to *sink, end func()) {
	t.Helper()
	store := &grants.Store{File: filepath.Join(top, "grants.json"), Lock: func(context.Context) (func(), error) { return func() {}, nil }, Clock: time.Now}
	for _, dir := range dirs {
		if _, err := store.Allow(t.Context(), dir, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	all = workspace.New(workspace.Options{
		Grants: store, Dir: filepath.Join(top, "home"), Redactor: redact.Default(), Recorded: before, Clock: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	ctx, stop := context.WithCancel(t.Context())
	to = &sink{paths: map[string]bool{}}
	ended := make(chan error)
	go func() { ended <- all.Run(ctx, to) }()
	return all, to, func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestWhatSnapshotsAtOnceFindIsRecorded: what changed after the first snapshot is recorded, also if the second one was taken
// before the first one's changes were looked at.
func TestWhatSnapshotsAtOnceFindIsRecorded(t *testing.T) {
	top, err := grants.Resolve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for i := range 20 {
		dirs = append(dirs, filepath.Join(top, strconv.Itoa(i)))
		if err := os.Mkdir(dirs[i], 0o755); err != nil {
			t.Fatal(err)
		}
	}
	all, to, end := recorded(t, top, dirs...)
	defer end()
	for i, dir := range dirs {
		w, err := all.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		var taking sync.WaitGroup
		for j := range 2 {
			taking.Go(func() {
				for k := range 5 {
					if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d-%d-%d", i, j, k)), nil, 0o600); err != nil {
						t.Error(err)
					}
					if _, _, err := w.Take(t.Context(), "", "", false); err != nil {
						t.Error(err)
					}
				}
			})
		}
		taking.Wait()
		if err := all.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		list, err := w.List()
		if err != nil {
			t.Fatal(err)
		}
		d, err := w.Diff(t.Context(), list[0].Number, list[len(list)-1].Number, compare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range d.Files {
			if !to.paths[f.Path] {
				t.Errorf("%s is not recorded", f.Path)
			}
		}
	}
}

// TestChangesThatAKillLostAreRecordedAgain: each of its own snapshot, once, and without who made a later one. What the journal has,
// and what is older, is not.
func TestChangesThatAKillLostAreRecordedAgain(t *testing.T) {
	top, err := grants.Resolve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "shop")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	take := func(w *workspace.Workspace, path string) tracked.Snapshot {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, path), []byte("1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s, _, err := w.Take(t.Context(), "", "Bash", false)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	all, _, end := recorded(t, top, dir)
	w, err := all.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var last tracked.Snapshot
	for i := range 4 {
		last = take(w, strconv.Itoa(i))
	}
	end()
	for _, c := range []struct {
		number uint64
		saved  time.Time
		lost   []uint64
	}{
		{0, time.Now(), []uint64{2, 3, 4}},
		{2, last.At.Add(-time.Minute), []uint64{3, 4}},
		{4, last.At.Add(-time.Minute), nil},
		{0, last.At.Add(time.Minute), nil},
	} {
		all, to, end := recordedAfter(t, top, func(root string) (uint64, time.Time) {
			if root != dir {
				t.Errorf("asked about %s", root)
			}
			return c.number, c.saved
		}, dir)
		w, err := all.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, same, err := w.Take(t.Context(), "", "Edit 3", true); !same || err != nil {
			t.Errorf("same %v, %v", same, err)
		}
		if err := all.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		to.mu.Lock()
		var got []uint64
		for _, e := range to.all {
			got = append(got, e.Snapshot)
			if want := strconv.FormatUint(e.Snapshot-1, 10); e.Path != want || e.Change != event.FileAdded || e.By != "" {
				t.Errorf("%+v, want %s", e, want)
			}
		}
		to.mu.Unlock()
		if !slices.Equal(got, c.lost) {
			t.Errorf("after %d: %v, want %v", c.number, got, c.lost)
		}
		end()
	}
}

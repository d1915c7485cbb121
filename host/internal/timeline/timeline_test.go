package timeline_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/recorder"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/subvolume"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// world is a timeline over one directory that the user allowed.
type world struct {
	t *testing.T
	*timeline.Timeline
	top, dir   string
	grants     *grants.Store
	workspaces *workspace.Workspaces
	stop       func()
	mu         sync.Mutex
	offset     time.Duration
	settings   timeline.Settings
}

// user is the command line, in no directory.
var user = &checkpoint.Client{Name: "cli", User: true}

func newWorld(t *testing.T) *world {
	t.Helper()
	top, err := grants.Resolve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, top: top, dir: filepath.Join(top, "shop")}
	if subvolume.On(top) {
		err = subvolume.Create(w.dir)
	} else {
		err = os.Mkdir(w.dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.grants = &grants.Store{File: filepath.Join(top, "grants.json"), Lock: func(context.Context) (func(), error) { return func() {}, nil }, Clock: w.now}
	w.allow(w.dir)
	w.start()
	t.Cleanup(func() {
		w.stop()
		if err := tracked.RemoveAll(top); err != nil { // views cannot be written to
			t.Error(err)
		}
	})
	return w
}

func (w *world) allow(dir string, grant ...string) {
	w.t.Helper()
	if _, err := w.grants.Allow(w.t.Context(), dir, grant, nil); err != nil {
		w.t.Fatal(err)
	}
}

// now is the clock, which tests move.
func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.offset)
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.offset += d
}

func (w *world) start() {
	w.t.Helper()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	w.workspaces = workspace.New(workspace.Options{Grants: w.grants, Dir: filepath.Join(w.top, "workspaces"), Redactor: redact.Default(), Clock: w.now, Log: log})
	var notice string
	var err error
	w.Timeline, notice, err = timeline.Open(timeline.Options{
		Path: filepath.Join(w.top, "timeline.db"), Branches: filepath.Join(w.top, "branches"), Workspaces: w.workspaces, Settings: w.settings, Clock: w.now, Log: log,
	})
	if err != nil || notice != "" {
		w.t.Fatal(notice, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.workspaces.Run(ctx, nobody{})
	}()
	w.stop = func() {
		if err := w.Close(); err != nil {
			w.t.Error(err)
		}
		cancel()
		<-done
	}
}

func (w *world) restart() {
	w.t.Helper()
	w.stop()
	w.start()
}

func (w *world) write(path, content string) {
	w.t.Helper()
	path = filepath.Join(w.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(path string) string {
	w.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

func (w *world) record(label string) *timeline.Moment {
	w.t.Helper()
	m, err := w.Record(w.t.Context(), w.dir, timeline.Moment{Label: label, Source: records.FromEdit})
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

func (w *world) here() timeline.Where { return timeline.Where{Dir: w.dir} }

func (w *world) list() *timeline.List {
	w.t.Helper()
	a, err := w.List(w.t.Context(), user, timeline.ListParams{Where: w.here(), Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

func wants(t *testing.T, err error, code usererr.Code, part string) {
	t.Helper()
	if usererr.CodeOf(err) != code || !strings.Contains(fmt.Sprint(err), part) {
		t.Errorf("%q is the error %v, want %s with %q", usererr.CodeOf(err), err, code, part)
	}
}

func TestMomentsOfABurstShareASnapshot(t *testing.T) {
	w := newWorld(t)
	began := time.Now()
	for i := range 20 {
		w.write("a", fmt.Sprint(i))
		w.record(fmt.Sprint("edit ", i))
	}
	var a *timeline.List
	deadline := time.Now().Add(30 * time.Second)
	for a = w.list(); a.Moments[len(a.Moments)-1].FsSnapshot == false; a = w.list() {
		if time.Now().After(deadline) {
			t.Fatal("the last moment never got a snapshot")
		}
		time.Sleep(10 * time.Millisecond) // the snapshot is taken by another goroutine
	}
	took := time.Since(began)
	if n, most := len(a.FsSnapshots), 5+int(took/(300*time.Millisecond)); n < 4 || n > most { // four at once, then one every 0.3 s
		t.Errorf("20 moments of %s have %d snapshots, want at most %d", took, n, most)
	}
	for i, m := range a.Moments {
		if m.FsSnapshot == false {
			t.Errorf("moment %d has no snapshot: %s", i, m.Reason)
		}
	}
	s, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: w.here(), To: a.Moments[len(a.Moments)-1].ID})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.read(filepath.Join(s.Mount, "a")); got != "19" {
		t.Errorf("the last moment has %q", got)
	}
}

// Each moment is the state at its time, also where several come close together.
func TestAMomentHasTheFilesOfItsTime(t *testing.T) {
	w := newWorld(t)
	w.write("a", "one")
	first := w.record("first")
	w.write("a", "two")
	second := w.record("second")
	for m, want := range map[*timeline.Moment]string{first: "one", second: "two"} {
		s, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: w.here(), To: m.ID()})
		if err != nil {
			t.Fatal(err)
		}
		if got := w.read(filepath.Join(s.Mount, "a")); got != want {
			t.Errorf("%s has %q, want %q", m.Label, got, want)
		}
	}
}

// Each moment has the change before it, of a file deep in directories that were there from the start.
func TestNoMomentMissesAChange(t *testing.T) {
	w := newWorld(t)
	path := func(i int) string { return fmt.Sprintf("src/%d/deep/%d", i%5, i%7) }
	for i := range 35 {
		w.write(path(i), "before")
	}
	before := w.record("before").ID()
	for i := range 20 {
		w.write(path(i), fmt.Sprint(i))
		w.pass(time.Second) // each moment has a snapshot of its own
		m := w.record("edit")
		d, err := w.Diff(t.Context(), user, timeline.DiffParams{Where: w.here(), From: before, To: m.ID()})
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Files) != 1 || d.Files[0].Path != path(i) {
			t.Fatalf("after a change of %s, %s has changes of %+v", path(i), m.ID(), d.Files)
		}
		before = m.ID()
	}
}

func TestNothingIsRecordedWithoutTheUsersDecision(t *testing.T) {
	w := newWorld(t)
	other := filepath.Join(w.top, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := w.Record(t.Context(), other, timeline.Moment{Label: "x"})
	wants(t, err, usererr.NotAllowed, "does not have the grant workspace")
	w.record("x")
	if _, err := w.grants.Deny(t.Context(), w.dir); err != nil {
		t.Fatal(err)
	}
	_, err = w.Record(t.Context(), w.dir, timeline.Moment{Label: "x"})
	wants(t, err, usererr.NotAllowed, "the user denied it")
	_, err = w.List(t.Context(), user, timeline.ListParams{Where: w.here()})
	wants(t, err, usererr.NotAllowed, "the user denied it")
	w.workspaces.Sweep()
	if dirs := w.workspaces.Dirs(); len(dirs) > 0 {
		t.Errorf("%q is still watched", dirs)
	}
	if entries, err := os.ReadDir(filepath.Join(w.top, "workspaces")); err != nil || len(entries) != 1 {
		t.Errorf("stores of %v, %v", entries, err)
	}
}

// What .tidemark.toml or a decision leaves out is in no snapshot, from the next one on.
func TestExcludedFilesAreInNoSnapshot(t *testing.T) {
	w := newWorld(t)
	w.write("a", "a")
	w.write("secrets/key", "key")
	w.write("dist/out", "out")
	w.record("before")
	w.write(".tidemark.toml", "[files]\nexclude = [\"dist/\"]\n")
	if _, err := w.grants.Deny(t.Context(), filepath.Join(w.dir, "secrets")); err != nil {
		t.Fatal(err)
	}
	m := w.record("after")
	s, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: w.here(), To: m.ID()})
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(s.Mount)
	if err != nil || len(entries) != 2 || entries[0].Name() != ".tidemark.toml" || entries[1].Name() != "a" {
		t.Errorf("the snapshot has %v, %v", entries, err)
	}
	w.write(".tidemark.toml", "[files]\nexclude = 1\n")
	if m = w.record("broken"); m.Snapshot != 0 || !strings.Contains(m.Reason, "files.exclude must be a list") {
		t.Errorf("with a damaged settings file the moment has s%d, %q", m.Snapshot, m.Reason)
	}
}

// A restore leaves alone what is excluded now, and what was excluded then. Its plan says so, and that it changes what is
// excluded.
func TestARestoreLeavesExcludedFilesAlone(t *testing.T) {
	w := newWorld(t)
	w.write("a", "one")
	w.write("dist/out", "old")
	w.write("logs/x/deep.log", "old")
	before := w.record("before")
	w.write(".tidemark.toml", "[files]\nexclude = [\"dist/\", \"*.log\"]\n")
	w.write("a", "two")
	w.write("dist/out", "new")
	w.write("dist/more", "more")
	w.write("new/only.log", "log")
	after := w.record("after")
	files := func(want map[string]string) {
		t.Helper()
		for path, content := range want {
			if got, err := os.ReadFile(filepath.Join(w.dir, path)); string(got) != content || content == "" && err == nil {
				t.Errorf("%s has %q, want %q", path, got, content)
			}
		}
	}
	check := func(a *timeline.Restored, err error, dropped, added []string, differs ...string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if a.Exclusions == nil || !slices.Equal(a.Exclusions.Dropped, dropped) || !slices.Equal(a.Exclusions.Added, added) {
			t.Errorf("the exclusions change by %+v, want %q, %q", a.Exclusions, dropped, added)
		}
		if !slices.Equal(a.Differs, differs) {
			t.Errorf("%q stay as they are, want %q", a.Differs, differs)
		}
	}
	const now = "it is excluded from snapshots now"
	excluded := []string{"dist/", "*.log"}
	back := timeline.RestoreParams{Where: w.here(), To: before.ID()}
	for _, back.Confirm = range []bool{false, true} {
		a, err := w.Restore(t.Context(), user, back)
		check(a, err, excluded, nil, "dist: "+now, "logs/x/deep.log: "+now, `new: it has "only.log" in it, which is part of no snapshot`)
	}
	kept := map[string]string{"dist/out": "new", "dist/more": "more", "logs/x/deep.log": "old", "new/only.log": "log"}
	files(kept)
	files(map[string]string{"a": "one", ".tidemark.toml": ""})

	w.write("late/y/z.log", "late")
	w.write("late/plain", "late")
	undo := timeline.UndoParams{Where: w.here()}
	then := "it was excluded from snapshots when " + fmt.Sprint("s", after.Snapshot) + " was taken"
	for _, undo.Confirm = range []bool{false, true} {
		a, err := w.Undo(t.Context(), user, undo)
		check(a, err, nil, excluded, "dist: "+then, `late: it has "late/y" in it, which stays`, `late/y: it has "late/y/z.log" in it, which stays`, "late/y/z.log: "+then, "logs/x/deep.log: "+then, "new/only.log: "+then)
	}
	kept["late/y/z.log"] = "late"
	files(kept)
	files(map[string]string{"a": "two", "late/plain": "", ".tidemark.toml": "[files]\nexclude = [\"dist/\", \"*.log\"]\n"})

	back.Paths = []string{"dist"}
	_, err := w.Restore(t.Context(), user, back)
	if err == nil || !strings.Contains(err.Error(), `cannot restore "dist": it is excluded from snapshots now`) {
		t.Error(err)
	}
	back.Paths, back.Confirm = []string{"a"}, false
	if a, err := w.Restore(t.Context(), user, back); err != nil || a.Exclusions != nil || len(a.Differs) > 0 {
		t.Error(a, err)
	}
}

func TestAnAgentReachesOnlyItsWorkspace(t *testing.T) {
	w := newWorld(t)
	other := filepath.Join(w.top, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	w.allow(other)
	w.write("a", "one")
	m := w.record("first")
	session := w.list().ID
	agent := &checkpoint.Client{Name: "agent", Scope: checkpoint.Scope{Workspace: other}}
	_, err := w.List(t.Context(), agent, timeline.ListParams{Where: timeline.Where{Session: session}})
	wants(t, err, usererr.NotAllowed, "is not of this client's workspace")
	_, err = w.List(t.Context(), agent, timeline.ListParams{Where: w.here()})
	wants(t, err, usererr.InvalidArgument, "dir is for the user's own programs")
	_, err = w.List(t.Context(), &checkpoint.Client{Name: "agent"}, timeline.ListParams{})
	wants(t, err, usererr.InvalidArgument, "this client has no workspace")

	agent.Scope.Workspace = w.dir
	if _, err := w.Seek(t.Context(), agent, timeline.SeekParams{To: m.ID()}); err != nil {
		t.Fatal(err)
	}
	_, err = w.Restore(t.Context(), agent, timeline.RestoreParams{To: m.ID(), Confirm: true})
	wants(t, err, usererr.NotAllowed, "agents-restore")
	_, err = w.Branch(t.Context(), agent, timeline.BranchParams{From: m.ID(), Name: "b"})
	wants(t, err, usererr.NotAllowed, "agents-branch")
	w.allow(w.dir, grants.AgentsRestore, grants.AgentsBranch)
	if _, err := w.Restore(t.Context(), agent, timeline.RestoreParams{To: m.ID(), Confirm: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Branch(t.Context(), agent, timeline.BranchParams{From: m.ID(), Name: "b"}); err != nil {
		t.Fatal(err)
	}
}

func TestABranchIsAWorkspaceOfItsOwn(t *testing.T) {
	w := newWorld(t)
	w.write("src/a", "one")
	m := w.record("first")
	b, err := w.Branch(t.Context(), user, timeline.BranchParams{Where: w.here(), From: m.ID(), Name: "other", Message: "use a map"})
	if err != nil {
		t.Fatal(err)
	}
	w.restart() // the branch is known after it
	if err := os.WriteFile(filepath.Join(b.Workspace, "src", "a"), []byte("branched"), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := w.Record(t.Context(), filepath.Join(b.Workspace, "src"), timeline.Moment{Label: "Edit src/a", Source: records.FromEdit})
	if err != nil || in.Session != b.ID {
		t.Fatal(in, err)
	}
	a, err := w.List(t.Context(), user, timeline.ListParams{Where: timeline.Where{Session: b.ID}})
	if err != nil || len(a.Moments) != 2 || a.Message != "use a map" || a.BranchOf.Session != w.list().ID || a.BranchOf.Moment != m.ID() {
		t.Fatalf("%+v, %v", a, err)
	}
	if got := w.read(filepath.Join(w.dir, "src/a")); got != "one" {
		t.Errorf("the original has %q", got)
	}
	// The decision for the original is that for the branch.
	if _, err := w.grants.Deny(t.Context(), w.dir); err != nil {
		t.Fatal(err)
	}
	_, err = w.Record(t.Context(), b.Workspace, timeline.Moment{Label: "x"})
	wants(t, err, usererr.NotAllowed, "the user denied it")
	w.allow(w.dir)
	if _, err := w.Undo(t.Context(), user, timeline.UndoParams{Where: w.here(), Confirm: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(b.Workspace); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the branch was not removed: %v", err)
	}
	_, err = w.List(t.Context(), user, timeline.ListParams{Where: timeline.Where{Session: b.ID}})
	wants(t, err, usererr.NotFound, "there is no session")
}

// Who observes files is told when the user takes the permission back, for as long as a session would last.
func TestARevokedPermissionIsReported(t *testing.T) {
	w := newWorld(t)
	sub := filepath.Join(w.dir, "src")
	sync := func(want string) {
		t.Helper()
		if err := w.Sync(t.Context(), sub); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	w.write("src/a", "one")
	if _, err := w.grants.Forget(t.Context(), w.dir); err != nil {
		t.Fatal(err)
	}
	sync("") // it was never allowed
	w.allow(w.dir)
	w.record("first")
	sync("")
	for _, take := range []func(context.Context, string) error{
		func(ctx context.Context, dir string) error { _, err := w.grants.Deny(ctx, dir); return err },
		func(ctx context.Context, dir string) error { _, err := w.grants.Forget(ctx, dir); return err },
		func(ctx context.Context, dir string) error {
			_, err := w.grants.Allow(ctx, dir, nil, []string{grants.Workspace})
			return err
		},
	} {
		if err := take(t.Context(), w.dir); err != nil {
			t.Fatal(err)
		}
		sync("the user no longer allows Tidemark to watch " + w.dir)
	}
	w.pass(13 * time.Hour)
	sync("")
	w.pass(-13 * time.Hour)
	w.allow(w.dir)
	sync("")
}

// A branch has the decision of its original, and of its parts, unless the user decided about the branch.
func TestABranchCanBeDecidedAbout(t *testing.T) {
	w := newWorld(t)
	w.write("src/a", "one")
	b, err := w.Branch(t.Context(), user, timeline.BranchParams{Where: w.here(), From: w.record("first").ID(), Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	src := filepath.Join(b.Workspace, "src")
	record := func() (*timeline.Moment, error) {
		return w.Record(t.Context(), b.Workspace, timeline.Moment{Label: "x", Source: records.FromUser})
	}
	if _, err := w.grants.Deny(t.Context(), src); err != nil {
		t.Fatal(err)
	}
	m, err := record()
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: timeline.Where{Dir: b.Workspace}, To: m.ID()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(s.Mount, "src")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a part of the branch that was denied is in its snapshot: %v", err)
	}
	_, err = w.Record(t.Context(), src, timeline.Moment{Label: "x"})
	wants(t, err, usererr.NotAllowed, "the user denied it for "+src)
	if _, err := w.grants.Deny(t.Context(), b.Workspace); err != nil {
		t.Fatal(err)
	}
	_, err = record()
	wants(t, err, usererr.NotAllowed, "the user denied it for "+b.Workspace)
	if _, err := w.grants.Deny(t.Context(), w.top); err != nil { // above both
		t.Fatal(err)
	}
	if _, err := w.grants.Forget(t.Context(), b.Workspace); err != nil {
		t.Fatal(err)
	}
	if _, err := record(); err != nil {
		t.Error(err)
	}
}

// A workspace that was moved is found by what the directory is. Its new place is allowed, and has its moments, only when the
// user says so.
func TestAMovedWorkspaceKeepsItsMoments(t *testing.T) {
	w := newWorld(t)
	w.write("src/a", "one")
	first := w.record("first")
	b, err := w.Branch(t.Context(), user, timeline.BranchParams{Where: w.here(), From: first.ID(), Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	w.write("src/a", "two")
	w.record("second")
	w.stop() // Windows moves no directory that is open
	old, place := w.dir, filepath.Join(w.top, "elsewhere", "store")
	if err := errors.Join(os.Mkdir(filepath.Dir(place), 0o755), os.Rename(old, place)); err != nil {
		t.Fatal(err)
	}
	w.start()
	_, err = w.Record(t.Context(), filepath.Join(place, "src"), timeline.Moment{Label: "x"})
	wants(t, err, usererr.NotAllowed, place+" is not allowed: it is "+old+", which was moved. The user can allow it and keep its snapshots: run `tidemark project allow --moved-from "+old+" "+place+"`.")
	_, err = w.Record(t.Context(), filepath.Dir(place), timeline.Moment{Label: "x"})
	wants(t, err, usererr.NotAllowed, "nobody has allowed it yet")

	call := func(name, args string) (any, error) {
		for _, tool := range timeline.UserTools {
			if tool.Name == name {
				return tool.Call(t.Context(), w.Timeline, user, []byte(args))
			}
		}
		t.Fatal(name)
		return nil, nil
	}
	quote := func(path string) string { return strings.ReplaceAll(path, `\`, `\\`) }
	o, err := call("workspace_origin", `{"dir":"`+quote(place)+`"}`)
	if err != nil || *o.(*timeline.Origin) != (timeline.Origin{Moved: place, MovedFrom: old}) {
		t.Fatal(o, err)
	}
	move := func(from string) (any, error) {
		return call("workspace_move", `{"from":"`+quote(from)+`","to":"`+quote(place)+`"}`)
	}
	_, err = move(b.Workspace)
	wants(t, err, usererr.AlreadyExists, "still exists")
	_, err = move(old + "x")
	wants(t, err, usererr.NotFound, "there are no snapshots of "+old+"x")
	a, err := move(old)
	if err != nil || a.(*timeline.Moved).Sessions != 1 {
		t.Fatal(a, err)
	}
	if _, err = w.Record(t.Context(), place, timeline.Moment{Label: "x"}); usererr.CodeOf(err) != usererr.NotAllowed {
		t.Errorf("a move allowed the directory: %v", err)
	}
	if err := w.grants.Move(t.Context(), old, place); err != nil {
		t.Fatal(err)
	}
	w.dir = place
	for range 2 {
		third := w.record("third")
		if l := w.list(); l.Workspace != place || l.Moments[1].ID != first.ID() || l.Moments[1].FsSnapshot != "s1" || !slices.ContainsFunc(l.Moments, func(m timeline.ListMoment) bool { return m.ID == third.ID() }) {
			t.Fatalf("%+v", l)
		}
		s, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: w.here(), To: first.ID()})
		if err != nil || w.read(filepath.Join(s.Mount, "src", "a")) != "one" {
			t.Error(s, err)
		}
		in, err := w.Record(t.Context(), b.Workspace, timeline.Moment{Label: "in the branch"})
		if err != nil || in.Session != b.ID {
			t.Error(in, err)
		}
		w.restart()
	}
	c, err := w.Check(t.Context(), user, timeline.SessionParams{Where: w.here()})
	if err != nil || len(c.Damages) > 0 {
		t.Error(c, err)
	}
	if _, err := w.Undo(t.Context(), user, timeline.UndoParams{Where: w.here(), Confirm: true}); err != nil {
		t.Error(err)
	}
	if runtime.GOOS == "windows" {
		return // Wine gives a new directory the identity of one that was removed
	}
	// Another directory in the old place is another workspace.
	if err := os.Mkdir(old, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = w.Record(t.Context(), old, timeline.Moment{Label: "x"})
	wants(t, err, usererr.NotAllowed, "nobody has allowed it yet")
}

// The directory above a workspace was moved: its branches beside it and the workspaces inside of it come along, in one step.
func TestAMovedWorkspaceTakesItsBranchesAlong(t *testing.T) {
	w := newWorld(t)
	inner := filepath.Join(w.dir, "packages", "cart")
	w.write("a", "one")
	w.write("packages/cart/b", "inner")
	w.allow(inner)
	first := w.record("first")
	in, err := w.Record(t.Context(), inner, timeline.Moment{Label: "inner"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := w.Branch(t.Context(), user, timeline.BranchParams{Where: w.here(), From: first.ID(), Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	of, err := w.Branch(t.Context(), user, timeline.BranchParams{Where: timeline.Where{Session: b.ID}, From: "start", Name: "other-still"})
	if err != nil {
		t.Fatal(err)
	}
	w.stop()
	above := filepath.Join(w.top, "above")
	if err := errors.Join(os.Mkdir(above, 0o755), os.Rename(w.dir, filepath.Join(above, "shop")), os.Rename(filepath.Join(w.top, "branches"), filepath.Join(above, "branches"))); err != nil {
		t.Fatal(err)
	}
	w.start()
	there := func(dir string) string { return above + strings.TrimPrefix(dir, w.top) }
	for _, sessions := range []int{4, 0} { // again, as after an interruption
		a, err := timeline.MoveAll(t.Context(), w.Timeline, timeline.MoveParams{From: w.dir, To: there(w.dir)})
		if err != nil || a.Sessions != sessions {
			t.Fatal(a, err)
		}
		if err := w.grants.Move(t.Context(), w.dir, there(w.dir)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		for dir, session := range map[string]string{w.dir: first.Session, inner: in.Session, b.Workspace: b.ID, of.Workspace: of.ID} {
			m, err := w.Record(t.Context(), there(dir), timeline.Moment{Label: "moved"})
			if err != nil || m.Session != session {
				t.Errorf("%s: %+v, %v", there(dir), m, err)
				continue
			}
			s, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: timeline.Where{Session: session}, To: "start"})
			if err != nil {
				t.Error(s, err)
			}
			if was := timeline.Formerly(w.Timeline, there(dir)); !slices.Contains(was, dir) {
				t.Errorf("%s was %q", there(dir), was)
			}
		}
		w.restart()
	}
}

func TestLongPausesBeginAnotherSession(t *testing.T) {
	w := newWorld(t)
	w.record("today")
	first := w.list().ID
	w.pass(13 * time.Hour)
	w.record("tomorrow")
	second := w.list()
	if second.ID == first || second.Moments[0].Source != records.FromStart {
		t.Errorf("%s goes on after 13 hours: %+v", first, second)
	}
	all, err := w.Sessions(t.Context(), user, timeline.SessionsParams{Dir: w.dir})
	if err != nil || len(all.Sessions) != 2 || all.Sessions[1].Ended == nil {
		t.Errorf("%+v, %v", all, err)
	}
	// A moment of an earlier session is reached by its ID.
	if _, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: w.here(), To: "m2"}); err != nil {
		t.Error(err)
	}
}

// Each time that commands print is a moment: the last snapshot until the end of that second.
func TestTimesThatCommandsPrintAreMoments(t *testing.T) {
	w := newWorld(t)
	for i, pause := range []time.Duration{0, 2 * time.Second, time.Minute, 11 * time.Hour, 11 * time.Hour} {
		w.pass(pause)
		w.write("a", fmt.Sprint(i))
		w.record("edit")
	}
	w.pass(time.Second)
	a := w.list()
	for _, m := range a.Moments[1:] {
		local := m.At.Local()
		for _, text := range []string{
			local.Format(time.TimeOnly), local.Format(time.DateTime), local.Format("2006-01-02T15:04:05"), local.Format(time.RFC3339),
			m.At.UTC().Format(time.RFC3339Nano), "+" + records.Elapsed(m.TS), fmt.Sprint(m.TS + 0.001),
		} {
			s, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: w.here(), To: text})
			if err != nil || s.FsSnapshot != m.FsSnapshot {
				t.Errorf("%s is %+v, %v, want %s", text, s, err, m.FsSnapshot)
			}
		}
	}
	for _, text := range []string{"+1:2:3", "+0:00:61", "+", "25:00:00", "10:31", "-5"} {
		_, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: w.here(), To: text})
		wants(t, err, usererr.NotFound, "is not a moment of session")
	}
	for n, m := range a.Moments {
		rest, err := w.List(t.Context(), user, timeline.ListParams{Where: w.here(), After: m.At.Local().Format(time.DateTime)})
		if err != nil || n > 0 && len(rest.Moments) != len(a.Moments)-n-1 {
			t.Errorf("after %s: %+v, %v", m.ID, rest, err)
		}
	}
}

func TestALostSnapshotIsNotTakenForAnother(t *testing.T) {
	w := newWorld(t)
	w.write("a", "one")
	w.record("first")
	w.write("a", "two")
	lost := w.record("second")
	w.stop()
	// A loss of power took the last snapshot, and another one gets its number.
	stores, err := filepath.Glob(filepath.Join(w.top, "workspaces", "*", "store"))
	if err != nil || len(stores) != 1 {
		t.Fatal(stores, err)
	}
	if err := os.RemoveAll(stores[0]); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.write("a", "three")
	w.record("third")
	w.write("a", "four")
	w.record("fourth")
	for _, m := range w.list().Moments {
		if m.ID == lost.ID() && (m.FsSnapshot != false || !strings.Contains(m.Reason, "lost")) {
			t.Errorf("the lost snapshot is listed as %v, %q", m.FsSnapshot, m.Reason)
		}
	}
	_, err = w.Seek(t.Context(), user, timeline.SeekParams{Where: w.here(), To: lost.ID()})
	wants(t, err, usererr.NotFound, "s2 was lost when the machine ended")
	c, err := w.Check(t.Context(), user, timeline.SessionParams{Where: w.here()})
	if err != nil || !slices.ContainsFunc(c.Damages, func(d string) bool { return strings.HasPrefix(d, lost.ID()+":") }) {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestPrunedSnapshotsAreNotDamaged(t *testing.T) {
	w := newWorld(t)
	w.write("a", "first")
	kept, err := w.Add(t.Context(), user, timeline.AddParams{Where: w.here(), Label: "kept"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		w.write("a", fmt.Sprint(i))
		w.pass(time.Minute)
		w.record(fmt.Sprint("edit ", i))
	}
	agent := &checkpoint.Client{Name: "agent", Scope: checkpoint.Scope{Workspace: w.dir}}
	if a, err := w.Add(t.Context(), agent, timeline.AddParams{Label: "an agent's"}); err != nil || a.Source != records.FromAgent {
		t.Fatal(a, err)
	}
	p, err := w.Prune(t.Context(), user, timeline.PruneParams{Where: w.here(), Count: 2})
	if err != nil || len(p.Deleted) != 3 {
		t.Fatal(p, err)
	}
	w.restart()
	c, err := w.Check(t.Context(), user, timeline.SessionParams{Where: w.here()})
	if err != nil || len(c.Damages) > 0 {
		t.Error(c, err)
	}
	pruned := 0
	for _, m := range w.list().Moments {
		if m.FsSnapshot == false {
			if pruned++; !strings.HasSuffix(m.Reason, " was pruned") {
				t.Errorf("%s: %q", m.ID, m.Reason)
			}
		}
	}
	if pruned != 3 {
		t.Errorf("%d moments lost their snapshot", pruned)
	}
	if _, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: w.here(), To: kept.ID}); err != nil {
		t.Error(err)
	}
}

// The system reports no change through a hard link from elsewhere. A moment that the user adds has it all the same, and so
// has a restore that met it.
func TestAMomentOfTheUserComparesAllFiles(t *testing.T) {
	w := newWorld(t)
	w.write("a", "one")
	outside := filepath.Join(w.top, "outside")
	if err := os.Link(filepath.Join(w.dir, "a"), outside); err != nil {
		t.Skip(err)
	}
	first := w.record("first")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(outside, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("another")
	m, err := w.Add(t.Context(), user, timeline.AddParams{Where: w.here(), Label: "asked for"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: w.here(), To: m.ID})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.read(filepath.Join(s.Mount, "a")); got != "another" {
		t.Errorf("the moment has %q", got)
	}
	write("unseen again")
	back := timeline.RestoreParams{Where: w.here(), To: first.ID(), Confirm: true}
	if _, err := w.Restore(t.Context(), user, back); err != nil { // it noticed the change
		if _, err = w.Restore(t.Context(), user, back); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.read(filepath.Join(w.dir, "a")); got != "one" {
		t.Errorf("the restored file has %q", got)
	}
}

func TestADeletedWorkspaceSaysHowToComeBack(t *testing.T) {
	w := newWorld(t)
	w.write("a", "one")
	m := w.record("first")
	session := timeline.Where{Session: w.list().ID}
	agent := &checkpoint.Client{Name: "agent", Scope: checkpoint.Scope{Workspace: w.dir}} // names no session
	_, err := w.Blame(t.Context(), agent, timeline.BlameParams{Path: "a"})
	wants(t, err, usererr.InvalidArgument, "line is 0")
	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	_, err = w.Seek(t.Context(), user, timeline.SeekParams{Where: session, To: m.ID()})
	wants(t, err, usererr.NotFound, "no longer exists. Its snapshots are still there. Create the directory again")
	for name, call := range map[string]func() error{
		"timeline_list": func() error { _, err := w.List(t.Context(), agent, timeline.ListParams{}); return err },
		"moment_add":    func() error { _, err := w.Add(t.Context(), agent, timeline.AddParams{Label: "x"}); return err },
		"blame": func() error {
			_, err := w.Blame(t.Context(), agent, timeline.BlameParams{Path: "a", Line: 1})
			return err
		},
		"a report": func() error {
			_, _, err := timeline.Moments{Timeline: w.Timeline}.When(agent.Scope, m.ID())
			return err
		},
		"session_list": func() error {
			_, err := w.Sessions(t.Context(), user, timeline.SessionsParams{Dir: filepath.Join(w.dir, "src")})
			return err
		},
		"session_start": func() error {
			_, err := w.StartSession(t.Context(), user, timeline.SessionParams{Where: w.here()})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			wants(t, call(), usererr.NotFound, "then restore a moment of session "+session.Session)
		})
	}
	_, err = w.List(t.Context(), user, timeline.ListParams{Where: timeline.Where{Dir: filepath.Join(w.top, "nothing")}})
	wants(t, err, usererr.NotFound, "cannot find the directory")
	if err := os.Mkdir(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Restore(t.Context(), user, timeline.RestoreParams{Where: session, To: m.ID(), Confirm: true}); err != nil {
		t.Fatal(err)
	}
	if got := w.read(filepath.Join(w.dir, "a")); got != "one" {
		t.Errorf("it has %q", got)
	}
	if runtime.GOOS == "windows" {
		return // it does not move a directory that is watched
	}
	moved := filepath.Join(w.top, "moved") // it is another directory than before, and known as the same workspace
	if err := os.Rename(w.dir, moved); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Minute)
	_, err = w.Record(t.Context(), moved, timeline.Moment{Label: "x"})
	wants(t, err, usererr.NotAllowed, "which was moved")
}

func TestADamagedTimelineIsSetAside(t *testing.T) {
	w := newWorld(t)
	w.record("first")
	w.stop()
	path := filepath.Join(w.top, "timeline.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("not a database ", 5000)), 0o600); err != nil {
		t.Fatal(err)
	}
	l, notice, err := timeline.Open(timeline.Options{Path: path, Workspaces: w.workspaces, Clock: w.now, Log: slog.New(slog.DiscardHandler)})
	if err != nil || !strings.Contains(notice, "was set aside as "+path+".damaged-") {
		t.Fatal(notice, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	w.start()
	w.record("second")
}

func TestACallThatDoesNotWaitIsRecordedAllTheSame(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Record(ctx, w.dir, timeline.Moment{Label: "in a hurry", Source: records.FromEdit}); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		if a, err := w.List(t.Context(), user, timeline.ListParams{Where: w.here()}); err == nil && len(a.Moments) > 0 && a.Moments[len(a.Moments)-1].Label == "in a hurry" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the moment was never recorded")
		}
		time.Sleep(5 * time.Millisecond) // another goroutine records it
	}
}

// Whatever is edited, restored, branched, undone and restarted: each moment's files are those of its time.
func TestEachMomentIsWhatTheWorkspaceWas(t *testing.T) {
	editor := treetest.StartEditor(t)
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		defer func() { _ = tracked.RemoveAll(w.dir) }()
		was := map[string][]string{}
		note := func() {
			m, err := w.Record(t.Context(), w.dir, timeline.Moment{Label: "moment", Kind: records.Manual, Source: records.FromUser})
			if err != nil {
				rt.Fatal(err)
			}
			if m.Snapshot == 0 {
				rt.Fatal(m.Reason)
			}
			was[m.ID()] = treetest.Read(rt, w.dir)
		}
		compare := func(id, dir string) {
			if now := treetest.Read(rt, dir); !slices.Equal(now, was[id]) {
				rt.Fatalf("%s is\n%s\nand was\n%s", id, strings.Join(now, "\n"), strings.Join(was[id], "\n"))
			}
		}
		any := func() string { return rapid.SampledFrom(slices.Sorted(keysOf(was))).Draw(rt, "moment") }
		note()
		branches := 0
		rt.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) {},
			"edit": func(rt *rapid.T) {
				for range rapid.IntRange(1, 5).Draw(rt, "edits") {
					editor.Edit(rt, w.dir)
				}
				note()
			},
			"restart": func(*rapid.T) { w.restart() },
			"restore and undo": func(rt *rapid.T) {
				note()
				before, id := treetest.Read(rt, w.dir), any()
				a, err := w.Restore(t.Context(), user, timeline.RestoreParams{Where: w.here(), To: id, Confirm: true})
				if err != nil {
					rt.Fatal(err)
				}
				compare(id, w.dir)
				if a.Operation == "" || rapid.Bool().Draw(rt, "keep") {
					return
				}
				if _, err := w.Undo(t.Context(), user, timeline.UndoParams{Where: w.here(), Confirm: true}); err != nil {
					rt.Fatal(err)
				}
				if now := treetest.Read(rt, w.dir); !slices.Equal(now, before) {
					rt.Fatalf("after the undo it is\n%s\nand was\n%s", strings.Join(now, "\n"), strings.Join(before, "\n"))
				}
			},
			"branch": func(rt *rapid.T) {
				id := any()
				branches++
				b, err := w.Branch(t.Context(), user, timeline.BranchParams{Where: w.here(), From: id, Name: fmt.Sprint("b", branches)})
				if err != nil {
					rt.Fatal(err)
				}
				compare(id, b.Workspace)
			},
		})
		c, err := w.Check(t.Context(), user, timeline.SessionParams{Where: w.here()})
		if err != nil || len(c.Damages) > 0 {
			rt.Fatal(c, err)
		}
		w.stop()
		w.stop = func() {}
	})
}

func keysOf[V any](m map[string]V) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// nobody takes what is recorded, and forgets it.
type nobody struct{ recorder.Sink }

func (nobody) Append(context.Context, ...event.Event) error { return nil }
func (nobody) Miss(event.Subject, string, time.Time, int)   {}

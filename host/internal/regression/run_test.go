package regression_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/recorder"
	"tidemark.dev/tidemark/host/internal/redact"
	"tidemark.dev/tidemark/host/internal/regression"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// world is a project with a timeline, in which moments are numbered from 1.
type world struct {
	regression.Finder
	dir, branches string
	grants        *grants.Store
	workspaces    *workspace.Workspaces
}

// newWorld makes a project whose file `state` has each text in turn, with a moment after each.
func newWorld(t *testing.T, texts ...string) *world {
	t.Helper()
	w := start(t, time.Now)
	for i, text := range texts {
		w.write(t, "state", text)
		w.moment(t, fmt.Sprintf("edit %d", i))
	}
	return w
}

// start makes an empty project, whose changes of files nobody takes.
func start(t *testing.T, clock func() time.Time) *world {
	t.Helper()
	return startInto(t, clock, nobody{})
}

// startInto makes an empty project, whose changes of files are recorded.
func startInto(t *testing.T, clock func() time.Time, sink recorder.Sink) *world {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are those of sh")
	}
	top, err := grants.Resolve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{dir: filepath.Join(top, "shop"), branches: filepath.Join(top, "branches")}
	if err := os.Mkdir(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w.grants = &grants.Store{File: filepath.Join(top, "grants.json"), Lock: func(context.Context) (func(), error) { return func() {}, nil }, Clock: clock}
	if _, err := w.grants.Allow(t.Context(), w.dir, nil, nil); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	workspaces := workspace.New(workspace.Options{Grants: w.grants, Dir: filepath.Join(top, "workspaces"), Redactor: redact.Default(), Clock: clock, Log: log})
	w.Timeline, _, err = timeline.Open(timeline.Options{Path: filepath.Join(top, "timeline.db"), Branches: w.branches, Workspaces: workspaces, Clock: clock, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	w.workspaces = workspaces
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = workspaces.Run(ctx, sink)
	}()
	t.Cleanup(func() {
		if err := w.Timeline.Close(); err != nil {
			t.Error(err)
		}
		cancel()
		<-done
	})
	return w
}

func (w *world) write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, path), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// moment adds a moment and returns its ID, and the number of its snapshot.
func (w *world) moment(t *testing.T, label string) (id string, snapshot uint64) {
	t.Helper()
	added, err := w.Timeline.Add(t.Context(), user, timeline.AddParams{Where: moments.Where{Dir: w.dir}, Label: label})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(fmt.Sprint(added.FsSnapshot), "s%d", &snapshot); err != nil {
		t.Fatal(err)
	}
	return added.ID, snapshot
}

// record adds a moment as a hook does.
func (w *world) record(t *testing.T, label string) *records.Moment {
	t.Helper()
	m, err := w.Timeline.Record(t.Context(), w.dir, records.Moment{Label: label, Kind: records.Auto, Source: records.FromEdit})
	if err != nil || m.Snapshot == 0 {
		t.Fatal(m, err)
	}
	return m
}

var user = &checkpoint.Client{Name: "cli", User: true}

// nobody takes what is recorded.
type nobody struct{ recorder.Sink }

func (nobody) Append(context.Context, ...event.Event) error { return nil }
func (nobody) Miss(event.Subject, string, time.Time, int)   {}

func (w *world) run(t *testing.T, command string) *regression.Regression {
	t.Helper()
	a, err := w.Find(t.Context(), user, regression.Params{Where: moments.Where{Dir: w.dir}, Run: command})
	if err != nil {
		t.Fatal(err)
	}
	w.noCopies(t)
	return a
}

// noCopies fails where a copy of the project is left.
func (w *world) noCopies(t *testing.T) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(filepath.Dir(w.dir), "workspaces", "*", "views", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("copies are left: %q, %v", left, err)
	}
}

func TestACommandFindsTheMomentAfterWhichItFails(t *testing.T) {
	for bad := 1; bad < 9; bad++ {
		texts := make([]string, 9)
		for i := range texts {
			texts[i] = fmt.Sprintf("good %d\n", i)
			if i >= bad {
				texts[i] = fmt.Sprintf("bad %d\n", i)
			}
		}
		w := newWorld(t, texts...)
		a := w.run(t, "echo looked at $(cat state) in $(pwd); grep -q good state")
		if a.Verdict != regression.Found || a.Label != fmt.Sprintf("edit %d", bad) || !strings.Contains(a.Diff.Text, fmt.Sprintf("+bad %d", bad)) || len(a.Runs) > 6 {
			t.Errorf("it broke at %d: %+v", bad, a)
		}
		if last := a.Runs[0]; last.Exit != 1 || !strings.Contains(last.Output, "looked at bad 8") || !strings.Contains(last.Output, "/views/copy-") {
			t.Errorf("the run says %+v", last)
		}
		if state, err := os.ReadFile(filepath.Join(w.dir, "state")); err != nil || string(state) != texts[8] {
			t.Errorf("the project has %q, %v", state, err)
		}
	}
}

func TestACommandThatDecidesNothingIsNoVerdict(t *testing.T) {
	w := newWorld(t, "a 1\n", "b 2\n", "c 3\n", "d 4\n", "e 5\n")
	for command, want := range map[string]string{
		"true":  regression.Clean + " the command succeeds",
		"false": regression.Unknown + " the command already fails",
		"test $(cut -c1 state) != c || exit 125; grep -q '[ab]' state": regression.Unknown + " it is one of the 2 moments",
		"exit 125": regression.Unknown + " the command cannot test",
		"test $(cut -c1 state) != b || exit 125; grep -q '[abc]' state": regression.Found,
	} {
		if a := w.run(t, command); !strings.HasPrefix(a.Verdict+" "+a.Reason, want) {
			t.Errorf("%q: %s %s, want %s", command, a.Verdict, a.Reason, want)
		}
	}
}

func TestAnAgentsCommandNeedsTheGrant(t *testing.T) {
	w := newWorld(t, "good\n", "bad\n")
	agent := &checkpoint.Client{Name: "agent", Scope: checkpoint.Scope{Workspace: w.dir}}
	p := regression.Params{Run: "grep -q good state"}
	if _, err := w.Find(t.Context(), agent, p); usererr.CodeOf(err) != usererr.NotAllowed || !strings.Contains(err.Error(), grants.AgentsRun) {
		t.Errorf("without the grant: %v", err)
	}
	if _, err := w.grants.Allow(t.Context(), w.dir, []string{grants.AgentsRun}, nil); err != nil {
		t.Fatal(err)
	}
	if a, err := w.Find(t.Context(), agent, p); err != nil || a.Verdict != regression.Found || a.Label != "edit 1" {
		t.Errorf("with it: %+v, %v", a, err)
	}
}

// What a command leaves running would answer the next run with the files of this one.
func TestWhatACommandLeavesRunningEndsWithIt(t *testing.T) {
	w := newWorld(t, "good", "good", "bad")
	pids := filepath.Join(t.TempDir(), "pids")
	if a := w.run(t, "sleep 600 & echo $! >> '"+pids+"'; test $(cat state) = good"); a.Verdict != regression.Found || a.Label != "edit 2" {
		t.Errorf("%+v", a)
	}
	data, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range strings.Fields(string(data)) {
		if err := testbed.Eventually(t.Context(), func() (bool, error) { // a signal takes effect soon
			stat, err := os.ReadFile("/proc/" + pid + "/stat")
			return err != nil || strings.Contains(string(stat), ") Z "), nil
		}); err != nil {
			t.Errorf("%s runs: %v", pid, err)
		}
	}
}

func TestACommandEndsWithItsCaller(t *testing.T) {
	w := newWorld(t, "good\n", "bad\n")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := w.Find(ctx, user, regression.Params{Where: moments.Where{Dir: w.dir}, Run: "sleep 60; true"}); err == nil || time.Since(began) > 45*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}

// TestARegressionOfADeletedWorkspaceIsFound from its snapshots, by a command and from what was recorded.
func TestARegressionOfADeletedWorkspaceIsFound(t *testing.T) {
	w := newWorld(t, "good 0\n", "good 1\n", "bad 2\n", "bad 3\n")
	list, err := w.Timeline.List(t.Context(), user, timeline.ListParams{Where: moments.Where{Dir: w.dir}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	p := regression.Params{Where: moments.Where{Session: list.ID}, Run: "grep -q good state"}
	a, err := w.Find(t.Context(), user, p)
	if err != nil || a.Verdict != regression.Found || a.Label != "edit 2" || a.Diff == nil || !strings.Contains(a.Diff.Problem, "no longer exists") {
		t.Errorf("%+v, %v", a, err)
	}
	w.noCopies(t)
	// The moment may name the session, and the caller be elsewhere.
	a, err = w.Find(t.Context(), user, regression.Params{Where: moments.Where{Dir: t.TempDir()}, From: "m1@" + list.ID, Run: p.Run})
	if err != nil || a.Label != "edit 2" {
		t.Errorf("%+v, %v", a, err)
	}
	agent := &checkpoint.Client{Name: "agent", Scope: checkpoint.Scope{Workspace: w.dir}}
	if _, err := w.Find(t.Context(), agent, regression.Params{Run: p.Run}); usererr.CodeOf(err) != usererr.NotAllowed || !strings.Contains(err.Error(), grants.AgentsRun) {
		t.Errorf("without the grant: %v", err)
	}
}

package timeline_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/fence"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/internal/timeline/operations"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/host/testing/timelinetest"
)

// Two agents in one workspace share its session. Each moment names its agent.
func TestTwoAgentsInOneWorkspaceShareItsSession(t *testing.T) {
	w := timelinetest.New(t)
	for i, agent := range []string{"claude", "codex", "claude"} {
		w.Write("a", string(rune('a'+i)))
		w.Hook(t.Context(), timeline.HookMoment{Dir: w.Dir, Source: records.FromEdit, Label: "Edit a", Anchor: answers.Anchor{Agent: agent, Session: agent + "-1"}})
	}
	deadline := time.Now().Add(time.Minute)
	for len(w.Listed().Moments) < 4 { // a hook does not wait on a busy machine
		if time.Now().After(deadline) {
			t.Fatalf("%+v", w.Listed().Moments)
		}
		time.Sleep(time.Millisecond)
	}
	a := w.Listed()
	var agents []string
	for _, m := range a.Moments[1:] {
		agents = append(agents, m.Anchor.Agent)
	}
	if !slices.Equal(agents, []string{"claude", "codex", "claude"}) {
		t.Errorf("the moments are of %q", agents)
	}
	for _, name := range []string{"claude", "codex"} {
		client := &checkpoint.Client{Name: name, Scope: checkpoint.Scope{Workspace: w.Dir}}
		if seen, err := w.List(t.Context(), client, timeline.ListParams{}); err != nil || seen.ID != a.ID || len(seen.Moments) != 4 {
			t.Errorf("%s sees %+v, %v", name, seen, err)
		}
	}
	if all, err := w.Sessions(t.Context(), timelinetest.User, timeline.SessionsParams{}); err != nil || len(all.Sessions) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestAgentsThatLookAtOnceFindTheSameMoment: each call returns when the newest change has a moment.
func TestAgentsThatLookAtOnceFindTheSameMoment(t *testing.T) {
	w := timelinetest.New(t)
	w.Edit("first")
	space, err := w.Workspaces.Open(t.Context(), w.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		w.Write("a", string(rune('a'+i)))
		var agents sync.WaitGroup
		var ids [2]string
		for j := range ids {
			agents.Go(func() {
				if _, err := w.Sync(t.Context(), w.Dir); err != nil {
					t.Error(err)
				}
				all, err := space.List()
				if err != nil {
					t.Error(err)
				}
				ids[j], _ = timeline.OfChange(w.Timeline, &event.FileChange{Head: event.Head{Subject: event.InWorkspace(w.Dir)}, Snapshot: all[len(all)-1].Number})
			})
		}
		agents.Wait()
		if !strings.HasPrefix(ids[0], "m") || ids[0] != ids[1] {
			t.Errorf("the change is of %q", ids)
		}
		if i%3 == 0 {
			w.Pass(time.Second) // else the moments are of a burst
		}
	}
}

// TestAChangeIsOfTheMomentThatNamesItsFile: the edits of two agents share a snapshot, which the first of their hooks had taken.
func TestAChangeIsOfTheMomentThatNamesItsFile(t *testing.T) {
	w := timelinetest.New(t)
	w.Edit("first")
	w.Write("src/App.css", "one")
	w.Write("src/lib/money.js", "one")
	css, money := w.Edit("Edit src/App.css"), w.Edit("Edit src/lib/money.js")
	if css.Snapshot != money.Snapshot {
		t.Fatalf("they do not share a snapshot: %+v, %+v", css, money)
	}
	for _, c := range []struct{ path, by, want string }{
		{"src/App.css", "Edit src/App.css", css.ID()},
		{"src/lib/money.js", "", money.ID()},
		{"src/lib/money.js", "Bash npm", money.ID()},
		{"src/other.js", "", css.ID()},
	} {
		e := &event.FileChange{Head: event.Head{Subject: event.InWorkspace(w.Dir)}, Snapshot: css.Snapshot, Path: c.path, By: c.by}
		if id, _ := timeline.OfChange(w.Timeline, e); id != c.want {
			t.Errorf("the change of %s by %q is of %s, want %s", c.path, c.by, id, c.want)
		}
	}
	for path, want := range map[string]string{"src/App.css": css.ID(), "src/lib/money.js": money.ID()} {
		if b, err := w.Blame(t.Context(), timelinetest.User, timeline.BlameParams{Where: w.Here(), Path: path}); err != nil || len(b.Lines) != 1 || b.Lines[0].Moment != want {
			t.Errorf("the line of %s is of %+v, want %s: %v", path, b, want, err)
		}
	}
}

// TestAMomentOfFilesIsWhenTheyWereWritten: what they broke before anybody looked is after it.
func TestAMomentOfFilesIsWhenTheyWereWritten(t *testing.T) {
	w := timelinetest.New(t)
	w.Edit("first")
	written := w.Now().Add(time.Second).Truncate(time.Millisecond)
	for i, path := range []string{"dist/built", "b", "a"} {
		w.Write(path, "one")
		at := written.Add(time.Duration(i-1) * 100 * time.Millisecond)
		if err := os.Chtimes(filepath.Join(w.Dir, path), at, at); err != nil {
			t.Fatal(err)
		}
	}
	w.Pass(3 * time.Second)
	if _, err := w.Sync(t.Context(), w.Dir); err != nil {
		t.Fatal(err)
	}
	a := w.Listed()
	if m := a.Moments[len(a.Moments)-1]; m.Label != "files changed" || !m.At.Equal(written) || m.LateSec != 0 {
		t.Errorf("%+v, want %s", m, written)
	}
	w.Write("a", "two")
	if err := os.Chtimes(filepath.Join(w.Dir, "a"), written, written); err != nil { // while the snapshot before was taken
		t.Fatal(err)
	}
	w.Edit("later")
	w.Write("a", "three")
	if _, err := w.Sync(t.Context(), w.Dir); err != nil {
		t.Fatal(err)
	}
	a = w.Listed()
	for i, m := range a.Moments[1:] {
		if m.TS < a.Moments[i].TS || m.At.Before(a.Moments[i].At.Time) {
			t.Errorf("%+v is before %+v", m, a.Moments[i])
		}
	}
}

// The session of a workspace that was moved or deleted says so, and continues when the directory is there again. Where it
// was moved to is another project, which the user decides about.
func TestAWorkspaceThatIsMovedOrDeleted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not move a directory that is watched")
	}
	w := timelinetest.New(t)
	w.Write("a", "one")
	m := w.Edit("first")
	session := w.Listed().ID
	moved := filepath.Join(w.Top, "moved")
	if err := os.Rename(w.Dir, moved); err != nil {
		t.Fatal(err)
	}
	if a, err := w.List(t.Context(), timelinetest.User, timeline.ListParams{Where: moments.Where{Session: session}}); err != nil || !strings.Contains(a.Problem, "no longer exists") {
		t.Errorf("%+v, %v", a, err)
	}
	_, err := w.Record(t.Context(), moved, records.Moment{Label: "x"})
	timelinetest.Wants(t, err, usererr.NotAllowed, "which was moved")
	all, err := w.Sessions(t.Context(), timelinetest.User, timeline.SessionsParams{})
	if err != nil || len(all.Sessions) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	if err := os.Mkdir(w.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := w.Operations.Restore(t.Context(), timelinetest.User, operations.RestoreParams{Where: moments.Where{Session: session}, To: m.ID(), Confirm: true})
	if err != nil || !r.Done || w.Read(filepath.Join(w.Dir, "a")) != "one" {
		t.Errorf("%+v, %v", r, err)
	}
}

// A workspace that is mounted read-only is recorded, seen and branched. A restore says why it cannot be.
func TestAWorkspaceThatIsMountedReadOnly(t *testing.T) {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("mounts a directory, as root on Linux")
	}
	w := timelinetest.New(t)
	w.Write("a", "one")
	first := w.Edit("first")
	w.Write("a", "two")
	for _, args := range [][]string{{"--bind", w.Dir, w.Dir}, {"-o", "remount,bind,ro", w.Dir}} {
		if out, err := exec.Command("mount", args...).CombinedOutput(); err != nil {
			t.Skipf("cannot mount: %s", out)
		}
		if args[0] == "--bind" {
			t.Cleanup(func() {
				w.Workspaces.CloseDir(w.Dir)
				if out, err := exec.Command("umount", "-l", w.Dir).CombinedOutput(); err != nil {
					t.Errorf("%s", out)
				}
			})
		}
	}
	if m := w.Edit("second"); m.Snapshot == 0 {
		t.Errorf("no snapshot: %s", m.Reason)
	}
	s, err := w.Seek(t.Context(), timelinetest.User, timeline.SeekParams{Where: w.Here(), To: first.ID()})
	if err != nil || w.Read(filepath.Join(s.Mount, "a")) != "one" {
		t.Errorf("%+v, %v", s, err)
	}
	b, err := w.Operations.Branch(t.Context(), timelinetest.User, operations.BranchParams{Where: w.Here(), From: first.ID(), Name: "b"})
	if err != nil || w.Read(filepath.Join(b.Workspace, "a")) != "one" {
		t.Errorf("%+v, %v", b, err)
	}
	if plan, err := w.Operations.Restore(t.Context(), timelinetest.User, operations.RestoreParams{Where: w.Here(), To: first.ID()}); err != nil || len(plan.Blocked) != 1 || plan.Blocked[0] != operations.Whole+": cannot write to it: read-only file system" {
		t.Errorf("the plan is %+v, %v", plan, err)
	}
	if r, err := w.Operations.Restore(t.Context(), timelinetest.User, operations.RestoreParams{Where: w.Here(), To: first.ID(), Confirm: true}); err == nil {
		t.Errorf("it was restored: %+v", r)
	} else if want := "cannot restore the workspace: cannot write to it: read-only file system."; !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "tidemark timeline session-branch") {
		t.Errorf("a restore fails with %v", err)
	}
	if got := w.Read(filepath.Join(w.Dir, "a")); got != "two" {
		t.Errorf("after the restore that failed: %q", got)
	}
}

// The fence command runs after a snapshot where the user allows it, and a call can wait for it.
func TestTheFenceCommandRunsAfterASnapshot(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("runs a shell")
	}
	w := timelinetest.New(t)
	ran := filepath.Join(w.Top, "ran")
	w.Settings = timeline.Settings{Fence: []string{"sh", "-c", `echo "$TIDEMARK_FS_SNAPSHOT $PWD" >> "$0"; test ! -e fail || { echo no follower >&2; exit 3; }`, ran}}
	w.Restart()
	add := func() (*answers.Added, error) {
		return w.Add(t.Context(), timelinetest.User, timeline.AddParams{Where: w.Here(), Label: "x", WaitFence: true})
	}
	w.Write("a", "one")
	_, err := add()
	timelinetest.Wants(t, err, usererr.NotAllowed, "does not have the grant fence")
	if _, err := os.Stat(ran); err == nil {
		t.Error("it ran without the grant")
	}
	w.Allow(w.Dir, grants.Fence)
	m, err := add()
	if err != nil || m.Fence == nil || m.Fence.State != fence.Done || w.Read(ran) != "s1 "+w.Dir+"\n" {
		t.Fatalf("%+v %+v, %v", m, m.Fence, err)
	}
	w.Write("a", "two")
	if _, err := w.Operations.Restore(t.Context(), timelinetest.User, operations.RestoreParams{Where: w.Here(), To: "s1", Confirm: true}); err != nil {
		t.Fatal(err)
	}
	follows := func(want string) {
		t.Helper()
		if err := testbed.Eventually(t.Context(), func() (bool, error) { return strings.HasSuffix(w.Read(ran), want+" "+w.Dir+"\n"), nil }); err != nil {
			t.Errorf("%v: it ran for %q, want %s last", err, w.Read(ran), want)
		}
	}
	follows("s3") // the state before the restore was s2
	if _, err := w.Operations.Undo(t.Context(), timelinetest.User, operations.UndoParams{Where: w.Here(), Confirm: true}); err != nil {
		t.Fatal(err)
	}
	follows("s4")
	w.Write("a", "three")
	if _, err := w.Diff(t.Context(), timelinetest.User, timeline.DiffParams{Where: w.Here(), From: "s1"}); err != nil { // takes a snapshot of now
		t.Fatal(err)
	}
	follows("s5")
	w.Write("fail", "")
	if m, err = add(); err != nil || m.FsSnapshot != "s6" || m.Fence.State != fence.Failed || m.Fence.ExitCode != 3 || m.Fence.Message != "exit status 3: no follower" {
		t.Errorf("%+v %+v, %v", m, m.Fence, err)
	}
	w.Settings = timeline.Settings{Fence: []string{"sleep", "60"}, FenceSeconds: 0.05}
	w.Restart()
	if m, err = add(); err != nil || m.Fence.State != fence.TimedOut {
		t.Errorf("%+v %+v, %v", m, m.Fence, err)
	}
	w.Settings = timeline.Settings{}
	w.Restart()
	_, err = add()
	timelinetest.Wants(t, err, usererr.InvalidArgument, "no fence command is set")
}

// A hook that got no answer in time leaves its event for later, and the daemon may have got it all the same.
func TestAnEventThatArrivesTwiceIsOneMoment(t *testing.T) {
	w := timelinetest.New(t)
	for range 2 {
		for _, event := range []string{"a", "b", "c"} {
			m, err := w.Record(t.Context(), w.Dir, records.Moment{Label: "prompt " + event, Source: records.FromPrompt, Anchor: &records.Anchor{Agent: "gemini", Session: "g"}, Event: event})
			if err != nil || m.Label != "prompt "+event {
				t.Fatalf("%+v, %v", m, err)
			}
		}
		w.Restart()
	}
	if a := w.Listed(); len(a.Moments) != 4 {
		t.Errorf("%d moments of a start and three prompts", len(a.Moments))
	}
}

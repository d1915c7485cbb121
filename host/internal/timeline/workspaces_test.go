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
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// Two agents in one workspace share its session. Each moment names its agent.
func TestTwoAgentsInOneWorkspaceShareItsSession(t *testing.T) {
	w := newWorld(t)
	for i, agent := range []string{"claude", "codex", "claude"} {
		w.write("a", string(rune('a'+i)))
		w.Hook(t.Context(), timeline.HookMoment{Dir: w.dir, Source: records.FromEdit, Label: "Edit a", Anchor: timeline.Anchor{Agent: agent, Session: agent + "-1"}})
	}
	deadline := time.Now().Add(time.Minute)
	for len(w.list().Moments) < 4 { // a hook does not wait on a busy machine
		if time.Now().After(deadline) {
			t.Fatalf("%+v", w.list().Moments)
		}
		time.Sleep(time.Millisecond)
	}
	a := w.list()
	var agents []string
	for _, m := range a.Moments[1:] {
		agents = append(agents, m.Anchor.Agent)
	}
	if !slices.Equal(agents, []string{"claude", "codex", "claude"}) {
		t.Errorf("the moments are of %q", agents)
	}
	for _, name := range []string{"claude", "codex"} {
		client := &checkpoint.Client{Name: name, Scope: checkpoint.Scope{Workspace: w.dir}}
		if seen, err := w.List(t.Context(), client, timeline.ListParams{}); err != nil || seen.ID != a.ID || len(seen.Moments) != 4 {
			t.Errorf("%s sees %+v, %v", name, seen, err)
		}
	}
	if all, err := w.Sessions(t.Context(), user, timeline.SessionsParams{}); err != nil || len(all.Sessions) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestAgentsThatLookAtOnceFindTheSameMoment: each call returns when the newest change has a moment.
func TestAgentsThatLookAtOnceFindTheSameMoment(t *testing.T) {
	w := newWorld(t)
	w.record("first")
	space, err := w.workspaces.Open(t.Context(), w.dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		w.write("a", string(rune('a'+i)))
		var agents sync.WaitGroup
		var ids [2]string
		for j := range ids {
			agents.Go(func() {
				if err := w.Sync(t.Context(), w.dir); err != nil {
					t.Error(err)
				}
				all, err := space.List()
				if err != nil {
					t.Error(err)
				}
				ids[j], _ = timeline.OfChange(w.Timeline, &event.FileChange{Head: event.Head{Subject: event.InWorkspace(w.dir)}, Snapshot: all[len(all)-1].Number})
			})
		}
		agents.Wait()
		if !strings.HasPrefix(ids[0], "m") || ids[0] != ids[1] {
			t.Errorf("the change is of %q", ids)
		}
		if i%3 == 0 {
			w.pass(time.Second) // else the moments are of a burst
		}
	}
}

// TestAChangeIsOfTheMomentThatNamesItsFile: the edits of two agents share a snapshot, which the first of their hooks had taken.
func TestAChangeIsOfTheMomentThatNamesItsFile(t *testing.T) {
	w := newWorld(t)
	w.record("first")
	w.write("src/App.css", "one")
	w.write("src/lib/money.js", "one")
	css, money := w.record("Edit src/App.css"), w.record("Edit src/lib/money.js")
	if css.Snapshot != money.Snapshot {
		t.Fatalf("they do not share a snapshot: %+v, %+v", css, money)
	}
	for _, c := range []struct{ path, by, want string }{
		{"src/App.css", "Edit src/App.css", css.ID()},
		{"src/lib/money.js", "", money.ID()},
		{"src/lib/money.js", "Bash npm", money.ID()},
		{"src/other.js", "", css.ID()},
	} {
		e := &event.FileChange{Head: event.Head{Subject: event.InWorkspace(w.dir)}, Snapshot: css.Snapshot, Path: c.path, By: c.by}
		if id, _ := timeline.OfChange(w.Timeline, e); id != c.want {
			t.Errorf("the change of %s by %q is of %s, want %s", c.path, c.by, id, c.want)
		}
	}
	for path, want := range map[string]string{"src/App.css": css.ID(), "src/lib/money.js": money.ID()} {
		if b, err := w.Blame(t.Context(), user, timeline.BlameParams{Where: w.here(), Path: path}); err != nil || len(b.Lines) != 1 || b.Lines[0].Moment != want {
			t.Errorf("the line of %s is of %+v, want %s: %v", path, b, want, err)
		}
	}
}

// TestAMomentOfFilesIsWhenTheyWereWritten: what they broke before anybody looked is after it.
func TestAMomentOfFilesIsWhenTheyWereWritten(t *testing.T) {
	w := newWorld(t)
	w.record("first")
	written := w.now().Add(time.Second).Truncate(time.Millisecond)
	for i, path := range []string{"dist/built", "b", "a"} {
		w.write(path, "one")
		at := written.Add(time.Duration(i-1) * 100 * time.Millisecond)
		if err := os.Chtimes(filepath.Join(w.dir, path), at, at); err != nil {
			t.Fatal(err)
		}
	}
	w.pass(3 * time.Second)
	if err := w.Sync(t.Context(), w.dir); err != nil {
		t.Fatal(err)
	}
	a := w.list()
	if m := a.Moments[len(a.Moments)-1]; m.Label != "files changed" || !m.At.Equal(written) || m.LateSec != 0 {
		t.Errorf("%+v, want %s", m, written)
	}
	w.write("a", "two")
	if err := os.Chtimes(filepath.Join(w.dir, "a"), written, written); err != nil { // while the snapshot before was taken
		t.Fatal(err)
	}
	w.record("later")
	w.write("a", "three")
	if err := w.Sync(t.Context(), w.dir); err != nil {
		t.Fatal(err)
	}
	a = w.list()
	for i, m := range a.Moments[1:] {
		if m.TS < a.Moments[i].TS || m.At.Before(a.Moments[i].At.Time) {
			t.Errorf("%+v is before %+v", m, a.Moments[i])
		}
	}
}

// A directory below a workspace with a decision of its own is a workspace of its own: neither has the other's files.
func TestNestedWorkspacesHaveSessionsOfTheirOwn(t *testing.T) {
	w := newWorld(t)
	inner := filepath.Join(w.dir, "packages", "cart")
	w.write("a", "outer")
	w.write("packages/cart/b", "inner")
	w.record("outer")
	w.allow(inner)
	m, err := w.Record(t.Context(), filepath.Join(inner), timeline.Moment{Label: "inner", Source: records.FromEdit})
	if err != nil || m.Session == w.list().ID {
		t.Fatal(m, err)
	}
	s, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: timeline.Where{Session: m.Session}, To: m.ID()})
	if err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(s.Mount); err != nil || len(entries) != 1 || entries[0].Name() != "b" {
		t.Errorf("the inner workspace has %v, %v", entries, err)
	}
	// An agent of the outer one reaches the inner one, which is below it; an agent beside them reaches neither.
	outer := &checkpoint.Client{Name: "agent", Scope: checkpoint.Scope{Workspace: w.dir}}
	if _, err := w.List(t.Context(), outer, timeline.ListParams{Where: timeline.Where{Session: m.Session}}); err != nil {
		t.Error(err)
	}
	_, err = w.List(t.Context(), &checkpoint.Client{Name: "agent", Scope: checkpoint.Scope{Workspace: filepath.Join(w.top, "other")}}, timeline.ListParams{Where: timeline.Where{Session: m.Session}})
	wants(t, err, usererr.NotAllowed, "is not of this client's workspace")
}

// The session of a workspace that was moved or deleted says so, and continues when the directory is there again. Where it
// was moved to is another project, which the user decides about.
func TestAWorkspaceThatIsMovedOrDeleted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not move a directory that is watched")
	}
	w := newWorld(t)
	w.write("a", "one")
	m := w.record("first")
	session := w.list().ID
	moved := filepath.Join(w.top, "moved")
	if err := os.Rename(w.dir, moved); err != nil {
		t.Fatal(err)
	}
	_, err := w.List(t.Context(), user, timeline.ListParams{Where: timeline.Where{Session: session}})
	wants(t, err, usererr.NotFound, "no longer exists")
	_, err = w.Seek(t.Context(), user, timeline.SeekParams{Where: timeline.Where{Session: session}, To: m.ID()})
	wants(t, err, usererr.NotFound, "Create the directory again")
	_, err = w.Record(t.Context(), moved, timeline.Moment{Label: "x"})
	wants(t, err, usererr.NotAllowed, "which was moved")
	all, err := w.Sessions(t.Context(), user, timeline.SessionsParams{})
	if err != nil || len(all.Sessions) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	if err := os.Mkdir(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := w.Restore(t.Context(), user, timeline.RestoreParams{Where: timeline.Where{Session: session}, To: m.ID(), Confirm: true})
	if err != nil || !r.Done || w.read(filepath.Join(w.dir, "a")) != "one" {
		t.Errorf("%+v, %v", r, err)
	}
}

// A workspace that is mounted read-only is recorded, seen and branched. A restore says why it cannot be.
func TestAWorkspaceThatIsMountedReadOnly(t *testing.T) {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("mounts a directory, as root on Linux")
	}
	w := newWorld(t)
	w.write("a", "one")
	first := w.record("first")
	w.write("a", "two")
	for _, args := range [][]string{{"--bind", w.dir, w.dir}, {"-o", "remount,bind,ro", w.dir}} {
		if out, err := exec.Command("mount", args...).CombinedOutput(); err != nil {
			t.Skipf("cannot mount: %s", out)
		}
		if args[0] == "--bind" {
			t.Cleanup(func() {
				w.workspaces.CloseDir(w.dir)
				if out, err := exec.Command("umount", "-l", w.dir).CombinedOutput(); err != nil {
					t.Errorf("%s", out)
				}
			})
		}
	}
	if m := w.record("second"); m.Snapshot == 0 {
		t.Errorf("no snapshot: %s", m.Reason)
	}
	s, err := w.Seek(t.Context(), user, timeline.SeekParams{Where: w.here(), To: first.ID()})
	if err != nil || w.read(filepath.Join(s.Mount, "a")) != "one" {
		t.Errorf("%+v, %v", s, err)
	}
	b, err := w.Branch(t.Context(), user, timeline.BranchParams{Where: w.here(), From: first.ID(), Name: "b"})
	if err != nil || w.read(filepath.Join(b.Workspace, "a")) != "one" {
		t.Errorf("%+v, %v", b, err)
	}
	if r, err := w.Restore(t.Context(), user, timeline.RestoreParams{Where: w.here(), To: first.ID(), Confirm: true}); err == nil {
		t.Errorf("it was restored: %+v", r)
	} else {
		t.Logf("a restore fails with %v", err)
	}
	if got := w.read(filepath.Join(w.dir, "a")); got != "two" {
		t.Errorf("after the restore that failed: %q", got)
	}
}

// The fence command runs after a snapshot where the user allows it, and a call can wait for it.
func TestTheFenceCommandRunsAfterASnapshot(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("runs a shell")
	}
	w := newWorld(t)
	ran := filepath.Join(w.top, "ran")
	w.settings = timeline.Settings{Fence: []string{"sh", "-c", `echo "$TIDEMARK_FS_SNAPSHOT $PWD" >> "$0"; test ! -e fail || { echo no follower >&2; exit 3; }`, ran}}
	w.restart()
	add := func() (*timeline.Added, error) {
		return w.Add(t.Context(), user, timeline.AddParams{Where: w.here(), Label: "x", WaitFence: true})
	}
	w.write("a", "one")
	_, err := add()
	wants(t, err, usererr.NotAllowed, "does not have the grant fence")
	if _, err := os.Stat(ran); err == nil {
		t.Error("it ran without the grant")
	}
	w.allow(w.dir, grants.Fence)
	m, err := add()
	if err != nil || m.Fence == nil || m.Fence.State != fence.Done || w.read(ran) != "s1 "+w.dir+"\n" {
		t.Fatalf("%+v %+v, %v", m, m.Fence, err)
	}
	w.write("a", "two")
	if _, err := w.Restore(t.Context(), user, timeline.RestoreParams{Where: w.here(), To: "s1", Confirm: true}); err != nil {
		t.Fatal(err)
	}
	follows := func(want string) {
		t.Helper()
		if err := testbed.Eventually(t.Context(), func() (bool, error) { return strings.HasSuffix(w.read(ran), want+" "+w.dir+"\n"), nil }); err != nil {
			t.Errorf("%v: it ran for %q, want %s last", err, w.read(ran), want)
		}
	}
	follows("s3") // the state before the restore was s2
	if _, err := w.Undo(t.Context(), user, timeline.UndoParams{Where: w.here(), Confirm: true}); err != nil {
		t.Fatal(err)
	}
	follows("s4")
	w.write("a", "three")
	if _, err := w.Diff(t.Context(), user, timeline.DiffParams{Where: w.here(), From: "s1"}); err != nil { // takes a snapshot of now
		t.Fatal(err)
	}
	follows("s5")
	w.write("fail", "")
	if m, err = add(); err != nil || m.FsSnapshot != "s6" || m.Fence.State != fence.Failed || m.Fence.ExitCode != 3 || m.Fence.Message != "exit status 3: no follower" {
		t.Errorf("%+v %+v, %v", m, m.Fence, err)
	}
	w.settings = timeline.Settings{Fence: []string{"sleep", "60"}, FenceSeconds: 0.05}
	w.restart()
	if m, err = add(); err != nil || m.Fence.State != fence.TimedOut {
		t.Errorf("%+v %+v, %v", m, m.Fence, err)
	}
	w.settings = timeline.Settings{}
	w.restart()
	_, err = add()
	wants(t, err, usererr.InvalidArgument, "no fence command is set")
}

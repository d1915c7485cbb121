package branches

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/moments"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// beside returns the directory in which branches are.
func (w *world) beside() string {
	w.Helper()
	return filepath.Dir(w.branch("first", "").Workspace)
}

// ran waits until an agent has written to a file of its branch.
func (w *world) ran(path, want string) {
	w.Helper()
	if err := testbed.Eventually(w.Context(), func() (bool, error) {
		got, err := os.ReadFile(path)
		return string(got) == want, ignoreMissing(err)
	}); err != nil {
		w.Errorf("%s does not become %q: %v", path, want, err)
	}
}

// The daemon is killed when the branch is ready and its agent is not started yet. The request is repeated to the next one, which
// starts the agent, with the message as the user wrote it.
func TestTheAgentOfABranchStartsAfterAKill(t *testing.T) {
	w := newWorld(t, "")
	w.edited("toolu_1")
	dir := w.beside()
	log := filepath.Join(dir, "other-way.agent.log")
	if err := syscall.Mkfifo(log, 0o600); err != nil { // to open it waits for a reader, which never comes
		t.Fatal(err)
	}
	asked := make(chan testbed.Ran, 1)
	go func() {
		asked <- w.try("timeline", "session-branch", "--moment", "now", "--name", "other-way", "--message", "password: hunter2x; run: echo ran >> ran.txt", "--json")
	}()
	if err := testbed.Eventually(t.Context(), func() (bool, error) { return len(w.list()) == 2, nil }); err != nil {
		t.Fatal(err)
	}
	if err := testbed.Eventually(t.Context(), func() (bool, error) { return w.operations() == "branch done\nbranch done\n", nil }); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	e2etest.KillDaemon(t, w.World.World)
	r := <-asked
	var b answers.Branched
	if err := json.Unmarshal([]byte(r.Out), &b); err != nil || r.Code != 0 || b.Agent == nil || b.Agent.PID == 0 || b.Agent.Problem != "" || b.Agent.Log != log {
		t.Fatalf("%+v, %v", r, err)
	}
	w.ran(filepath.Join(b.Workspace, "ran.txt"), "ran\n")
	w.ended()
	w.has(filepath.Join(b.Workspace, "ran.txt"), "ran\n")
	if said, _ := os.ReadFile(filepath.Join(b.Workspace, "arguments.txt")); !strings.Contains(string(said), "password: hunter2x") {
		t.Errorf("the agent got %s", said)
	}
	if list := w.list(); len(list) != 2 || list[0].ID != b.ID {
		t.Errorf("the branches are %+v", list)
	}
	if log := w.operations(); log != "branch done\nbranch done\n" {
		t.Errorf("what was done is %s", log)
	}
}

// The agent is the first to live on: it kills the daemon that starts it. It is not started again. Where it still runs, the answer names
// its process, and else what to do.
func TestAnAgentThatOutlivesItsDaemonIsNotStartedAgain(t *testing.T) {
	for _, c := range []struct {
		name, then string
		runs       bool
	}{{"runs", "sleep 60", true}, {"ended", "true", false}} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, "")
			w.edited("toolu_1")
			p := branches.Params{Where: moments.Where{Dir: w.project}, From: "now", Name: "other-way", Message: "run: kill -9 $PPID; echo ran >> ran.txt; " + c.then, Env: os.Environ()}
			var b answers.Branched
			if err := w.call("timeline_branch", p, &b, false); err != nil || b.Agent == nil {
				t.Fatalf("%+v, %v", b, err)
			}
			w.ran(filepath.Join(b.Workspace, "ran.txt"), "ran\n")
			switch {
			case b.Agent.PID != 0 && b.Agent.Problem == "": // it was kept before the kill, or found
			case c.runs || !strings.Contains(b.Agent.Problem, "it is not known whether the agent was started") || !strings.Contains(b.Agent.Problem, "`tidemark branch open other-way`"):
				t.Errorf("the agent is %+v", b.Agent)
			}
			if c.runs {
				if text := w.run("branch", "list"); !strings.Contains(text, "claude runs") {
					t.Errorf("the list is %s", text)
				}
				w.run("branch", "rm", "other-way", "--force")
				w.gone(b.Agent.PID)
				return
			}
			w.ended()
			w.has(filepath.Join(b.Workspace, "ran.txt"), "ran\n")
		})
	}
}

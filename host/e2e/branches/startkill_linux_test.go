package branches

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
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

// The daemon is killed when tmux has opened the window of an agent, and before it reads which. The agent is found there, whether the
// request is repeated or not: it is not started again, and is ended as any other.
func TestAnAgentInTmuxThatOutlivesItsDaemonIsFound(t *testing.T) {
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("tmux is not installed")
	}
	for name, kill := range map[string]string{"repeated": "kill -9 $PPID", "not repeated": "kill -9 $ASKS $PPID"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMUX_TMPDIR", t.TempDir())
			t.Setenv("TMUX", "")
			t.Cleanup(func() { _ = exec.Command(tmux, "kill-server").Run() }) //nolint:noctx // the test has ended
			bin := t.TempDir()
			script := fmt.Sprintf("#!/bin/sh\n%s \"$@\"\nstatus=$?\ncase $1 in new-*) %s ;; esac\nexit $status\n", tmux, kill)
			if err := os.WriteFile(filepath.Join(bin, "tmux"), []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, `terminal = "tmux"`)
			w.edited("toolu_1")
			asks := w.Command("timeline", "session-branch", "--moment", "now", "--name", "other-way", "--message", "run: echo ran >> ran.txt; sleep 600", "--json")
			cmd := exec.CommandContext(t.Context(), "/bin/sh", append([]string{"-c", `export ASKS=$$; exec "$@"`, "sh"}, asks.Args...)...)
			cmd.Dir, cmd.Env = w.project, append(asks.Env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			out, err := cmd.Output()
			if name == "repeated" {
				var b answers.Branched
				if json.Unmarshal(out, &b) != nil || err != nil || b.Agent == nil || b.Agent.PID == 0 || b.Agent.Problem != "" || !strings.HasPrefix(b.Agent.Terminal, "tidemark-other-way:") {
					t.Fatalf("%s, %v", out, err)
				}
			} else if err == nil {
				t.Fatalf("the command answers %s", out)
			}
			if text := w.run("branch", "list"); !strings.Contains(text, "claude runs") {
				t.Errorf("the list is %s", text)
			}
			b := w.list()[0]
			if r := w.try("branch", "open", "other-way"); r.Code == 0 || !strings.Contains(r.Err, fmt.Sprintf("claude already runs in branch other-way (process %d)", b.Agent.PID)) {
				t.Errorf("while it runs, it is opened: %+v", r)
			}
			w.ran(filepath.Join(b.Workspace, "ran.txt"), "ran\n")
			w.run("branch", "rm", "other-way", "--force")
			w.gone(b.Agent.PID)
			if out, _ := exec.CommandContext(t.Context(), tmux, "list-windows", "-a").CombinedOutput(); strings.Contains(string(out), "[") {
				t.Errorf("tmux has windows of the removed branch: %s", out)
			}
		})
	}
}

//go:build !windows

package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/testing/e2etest"
)

// hookOf runs the real hook with the input of an agent, and returns what it prints and how long it took. It must exit with 0.
func (w *world) hookOf(input string, user *syscall.Credential, env ...string) (string, time.Duration) {
	w.Helper()
	cmd := w.Command("hook")
	cmd.Dir, cmd.Stdin = w.project, strings.NewReader(input)
	cmd.Env = append(cmd.Env, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	began := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(began)
	if err != nil {
		w.Errorf("the hook fails: %v: %s", err, out)
	}
	return string(out), took
}

// inputs are those of an agent's hooks, each with a secret. n makes them those of a session of its own.
func (w *world) inputs(n int) map[string]string {
	about := func(event, more string) string {
		return fmt.Sprintf(`{"session_id":"s%d","transcript_path":"/x/projects/y/z.jsonl","cwd":%q,"prompt_id":"p1","hook_event_name":%q,%s}`, n, w.project, event, more)
	}
	const result = `"tool_name":"Bash","tool_use_id":"t1","tool_input":{"command":"echo password: unreachable-pw"},"tool_response":{"stdout":"password: unreachable-pw"}`
	return map[string]string{
		"start": about("SessionStart", `"source":"startup"`), "prompt": about("UserPromptSubmit", `"prompt":"password: unreachable-pw"`),
		"call": about("PostToolUse", result), "failed call": about("PostToolUseFailure", result), "stop": about("Stop", `"last_assistant_message":"done"`),
		"subagent": about("SubagentStop", `"agent_id":"a1"`), "compaction": about("PreCompact", `"trigger":"auto"`), "end": about("SessionEnd", `"reason":"exit"`),
	}
}

// With a daemon that is stopped, and with a full spool beside it, no hook costs an agent an error, or more than 100 ms above
// what a process costs on this machine.
func TestAStoppedDaemonCostsAnAgentNothing(t *testing.T) {
	w := newWorld(t)
	spool := filepath.Join(w.Home, "recordings", conversation.SpoolName)
	pid := e2etest.DaemonPID(t, w.World.World)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	const rounds = 20
	process := time.Hour
	for range rounds {
		began := time.Now()
		if out, err := w.Command("--version").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		process = min(process, time.Since(began))
	}
	most := process + 100*time.Millisecond
	for _, full := range []bool{false, true} {
		if full {
			data := strings.Repeat("x", conversation.MaxSpool)
			if err := os.WriteFile(spool, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for name := range w.inputs(0) {
			least := time.Hour // on a busy machine a run may take longer, but not each of them
			for n := 0; n < rounds && least > most; n++ {
				out, took := w.hookOf(w.inputs(n)[name], nil)
				if least = min(least, took); out != "" {
					t.Errorf("%s: the agent gets %q", name, out)
				}
			}
			if t.Logf("%s, full spool %t: %s", name, full, least); least > most {
				t.Errorf("%s: each of %d hooks took more than %s", name, rounds, most)
			}
		}
		data, err := os.ReadFile(spool)
		if err != nil || strings.Contains(string(data), "unreachable-pw") || !full && !strings.Contains(string(data), "[masked]") {
			t.Errorf("the spool has %d bytes, %v", len(data), err)
		}
	}
}

// Another user of the machine, whose agent is told of this home, gets nothing recorded in it, and no error.
func TestAnotherUserIsNotRecordedHere(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be two users")
	}
	w := newWorld(t)
	const nobody = 65534
	theirs, err := os.MkdirTemp("", "tmo")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(theirs) })
	data, err := os.ReadFile(w.Binary)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(theirs, "tidemark")
	if err := os.WriteFile(program, data, 0o755); err != nil {
		t.Fatal(err)
	}
	// Only the checks of users shall stand between.
	open := []string{theirs, w.project, filepath.Dir(w.project), w.Home, filepath.Join(w.Home, "run")}
	chmod := func(mode os.FileMode) {
		t.Helper()
		for _, dir := range open {
			if err := os.Chmod(dir, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	own := w.Binary
	for _, daemon := range []bool{true, false} {
		chmod(0o777)
		w.Binary = program
		for name, input := range w.inputs(1) {
			if out, _ := w.hookOf(input, &syscall.Credential{Uid: nobody, Gid: nobody}, "HOME="+theirs); out != "" {
				t.Errorf("%s: the agent gets %q", name, out)
			}
		}
		w.Binary = own
		chmod(0o700)
		if found, _ := filepath.Glob(filepath.Join(w.Home, "recordings", "*")); len(found) > 0 {
			t.Errorf("with a daemon %t there are %q", daemon, found)
		}
		if daemon {
			w.tidemark("stop")
		}
	}
}

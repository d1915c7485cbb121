//go:build !windows

package agents

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tidemark.dev/tidemark/host/testing/modelserver"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// claudeWith writes the hooks of Claude Code and returns its environment with a scripted model.
func (w *world) claudeWith(turns ...modelserver.Turn) []string {
	w.Helper()
	config := filepath.Join(w.home, "claude")
	if err := os.MkdirAll(config, 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "settings.json"), []byte(w.settings(claudeEvents...)), 0o600); err != nil {
		w.Fatal(err)
	}
	return claudeEnv(config, modelserver.Start(w.T, turns...))
}

// A call that was not permitted is denied, whoever did not permit it: it has not run.
func TestCallsThatAreNotPermitted(t *testing.T) {
	t.Run("claude", func(t *testing.T) {
		w := newWorld(t)
		env := w.claudeWith(modelserver.Turn{Calls: []modelserver.Call{bash("toolu_01", "echo x > asked.txt", false)}},
			modelserver.Turn{Calls: []modelserver.Call{bash("toolu_02", "true", false)}}, modelserver.Turn{Text: "done"})
		w.run(env, program(t, "claude"), "-p", "go", "--permission-mode", "default", "--allowedTools", "Bash(true)")
		equal(t, "the calls", calls(w.recording()), []string{"toolu_01|$ echo x > asked.txt|denied|transcript", "toolu_02|$ true|ok|both"})
	})
	t.Run("codex", func(t *testing.T) {
		w := newWorld(t)
		server := modelserver.Start(t, modelserver.Turn{Calls: []modelserver.Call{call("call_01", "exec_command", map[string]any{"cmd": "echo x > a.txt", "sandbox_permissions": "require_escalated", "justification": "x"})}},
			modelserver.Turn{Calls: []modelserver.Call{call("call_02", "apply_patch", "*** Begin Patch\n*** Add File: f.js\n+x\n*** End Patch\n")}}, modelserver.Turn{Text: "done"})
		w.run(w.codexEnv(server, w.settings(codexEvents...)), program(t, "codex"), "exec", "--skip-git-repo-check", "--sandbox", "read-only", "--dangerously-bypass-hook-trust", "go")
		equal(t, "the calls", calls(w.recording()), []string{"call_01|$ echo x > a.txt|denied|transcript", "call_02|apply_patch f.js|denied|transcript"})
	})
}

// interrupted runs an agent that is interrupted while its command runs.
func (w *world) interrupted(env []string, name string, args ...string) {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = w.project
	cmd.Env = append(append(clean(os.Environ()), "HOME="+w.home, "PWD="+w.project, "TIDEMARK_HOME="+w.Home), env...)
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	if err := testbed.Eventually(ctx, func() (bool, error) {
		_, err := os.Stat(filepath.Join(w.project, "before.txt"))
		return err == nil, nil
	}); err != nil {
		w.Errorf("the command does not begin: %v", err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		w.Error(err)
	}
	_ = cmd.Wait() // it may fail
}

// A command that the user interrupted has run: it failed, and what it had changed is below it. The session is then resumed.
func TestAnInterruptedSessionThatIsResumed(t *testing.T) {
	const command, second = "echo x > before.txt; sleep 100; echo y > after.txt", "echo x > second.txt"
	for agent, run := range map[string]func(w *world) (first, other string){
		"claude": func(w *world) (first, other string) {
			program := program(w.T, "claude")
			env := w.claudeWith(modelserver.Turn{Calls: []modelserver.Call{bash("toolu_01", command, false)}}, modelserver.Turn{Calls: []modelserver.Call{bash("toolu_02", second, false)}}, modelserver.Turn{Text: "done"})
			args := []string{"--permission-mode", "acceptEdits", "--allowedTools", "Bash"}
			w.interrupted(env, program, append([]string{"-p", "one"}, args...)...)
			w.run(env, program, append([]string{"-p", "two", "--continue"}, args...)...)
			return "toolu_01", "toolu_02"
		},
		"codex": func(w *world) (first, other string) {
			program := program(w.T, "codex")
			server := modelserver.Start(w.T, modelserver.Turn{Calls: []modelserver.Call{call("call_01", "exec_command", map[string]any{"cmd": command, "yield_time_ms": 30000})}},
				modelserver.Turn{Calls: []modelserver.Call{call("call_02", "exec_command", map[string]any{"cmd": second})}}, modelserver.Turn{Text: "done"})
			env := w.codexEnv(server, w.settings(codexEvents...))
			args := []string{"--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"}
			w.interrupted(env, program, append(append([]string{"exec"}, args...), "one")...)
			w.run(env, program, append(append([]string{"exec", "resume", "--last"}, args...), "two")...)
			return "call_01", "call_02"
		},
	} {
		t.Run(agent, func(t *testing.T) {
			w := newWorld(t)
			first, other := run(w)
			w.equalMade(w.joined(2), "before.txt", first, "second.txt", other)
			o := w.recording()
			equal(t, "the calls", calls(o), []string{first + "|$ " + command + "|failed|transcript", other + "|$ " + second + "|ok|both"})
			if len(o.Turns) != 2 || o.Turns[0].Prompt != "one" || o.Turns[1].Prompt != "two" {
				t.Errorf("the turns are %s", w.tidemark("recordings", "show", o.ID))
			}
		})
	}
}

// A message of several texts is one prompt. A secret in one of them may have its name in the one before.
func TestAMessageOfSeveralTextsIsOnePrompt(t *testing.T) {
	w := newWorld(t)
	env := w.claudeWith(modelserver.Turn{Text: "done"})
	cmd := exec.CommandContext(t.Context(), program(t, "claude"), "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
	cmd.Dir, cmd.Stdin = w.project, strings.NewReader(`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"Log in, the password:"},{"type":"text","text":"hunter2Bx7Qz9Lm"},{"type":"text","text":"and go on"}]}}`+"\n")
	cmd.Env = append(append(clean(os.Environ()), "HOME="+w.home, "PWD="+w.project, "TIDEMARK_HOME="+w.Home), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if o := w.recording(); len(o.Turns) != 1 || o.Turns[0].Prompt != "Log in, the password:\n[masked]\nand go on" || o.Turns[0].Source != "hook" || o.Coverage.OnlyTranscript != 0 {
		t.Errorf("the turns are %s, the coverage %+v", w.tidemark("recordings", "show", o.ID), o.Coverage)
	}
	w.nothingSecret("hunter2Bx7Qz9Lm")
}

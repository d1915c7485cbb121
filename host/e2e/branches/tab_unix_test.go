//go:build !windows

package branches

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/testing/testbed"
)

// An agent starts in the terminal that the user's command opens: behind its arguments, or quoted in one of them.
func TestAnAgentStartsInATerminalOfTheUsersChoice(t *testing.T) {
	for _, c := range []struct{ name, program, shell, command string }{
		{"tmux", "tmux", "sh", `["tmux", "new-session", "-d", "-s", "{name}", "-c", "{dir}", "--"]`},
		{"script with bash", "script", "bash", `["script", "-qfc", "{command}", "/dev/null"]`},
		{"script with sh", "script", "sh", `["script", "-qfc", "{command}", "/dev/null"]`}, // dash stays, and has no job control
	} {
		t.Run(c.name, func(t *testing.T) {
			program, command := c.program, c.command
			path, err := exec.LookPath(program)
			if err != nil {
				t.Skip(program + " is not installed")
			}
			shell, err := exec.LookPath(c.shell)
			if err != nil {
				t.Skip(c.shell + " is not installed")
			}
			t.Setenv("SHELL", shell)
			t.Setenv("TMUX_TMPDIR", t.TempDir())
			t.Setenv("TMUX", "")
			if program == "tmux" {
				t.Cleanup(func() { _ = exec.Command(path, "kill-server").Run() }) //nolint:noctx // the test has ended
			}
			w := newWorldIn(t, filepath.Join(t.TempDir(), "a user's project"), "terminal_command = "+command)
			w.edited("toolu_1")
			b := w.branch("other-way", "password: hunter2x; run: test -t 0 && echo yes > terminal.txt; sleep 600")
			if b.Agent == nil || b.Agent.Problem != "" || b.Agent.PID == 0 || !b.Agent.Tab {
				t.Fatalf("the agent is %+v", b.Agent)
			}
			if err := testbed.Eventually(t.Context(), func() (bool, error) {
				got, err := os.ReadFile(filepath.Join(b.Workspace, "terminal.txt"))
				return string(got) == "yes\n", ignoreMissing(err)
			}); err != nil {
				t.Fatal(err)
			}
			w.has(filepath.Join(b.Workspace, "env.txt"), "TIDEMARK_BRANCH=other-way\nTIDEMARK_PORT_OFFSET=100\n")
			if arguments, _ := os.ReadFile(filepath.Join(b.Workspace, "arguments.txt")); strings.Contains(string(arguments), "--print") || !strings.Contains(string(arguments), "password: hunter2x") {
				t.Errorf("the arguments are %s", arguments)
			}
			if text := w.run("branch", "list"); !strings.Contains(text, "claude runs") {
				t.Errorf("the list is %s", text)
			}
			if r := w.try("branch", "attach", "other-way"); r.Code == 0 || !strings.Contains(r.Err, "claude works in another terminal (process ") {
				t.Errorf("attach: %+v", r)
			}
			if r := w.try("branch", "rm", "other-way"); r.Code == 0 || !strings.Contains(r.Err, "sleep (process") {
				t.Errorf("it is removed while its agent runs: %+v", r)
			}
			w.run("branch", "rm", "other-way", "--force")
			w.gone(b.Agent.PID)
		})
	}
}

// A terminal that does not open is named, with what it said. The branch is there all the same, and can be opened.
func TestATerminalThatDoesNotOpenIsNamed(t *testing.T) {
	w := newWorld(t, `terminal_command = ["sh", "-c", "echo no display >&2; exit 3"]`)
	w.edited("toolu_1")
	b := w.branch("other-way", "run: true")
	if b.Agent == nil || b.Agent.PID != 0 || b.Agent.Problem != "the agent was not started: sh: exit status 3: no display. Start it with `tidemark branch open other-way`." {
		t.Fatalf("the agent is %+v", b.Agent)
	}
	w.run("branch", "open", "other-way")
	arguments, _ := os.ReadFile(filepath.Join(b.Workspace, "arguments.txt"))
	if !strings.Contains(string(arguments), "run: true") {
		t.Errorf("the arguments are %s", arguments)
	}
}

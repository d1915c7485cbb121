package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The first command that needs a decision about a project asks for it at a terminal, and no later one does. Without an answer nothing is
// recorded.
func TestTheFirstCommandThatNeedsADecisionAsksForIt(t *testing.T) {
	for answer, want := range map[string]string{"y\n": "allowed", "n\n": "denied", "\x04": "undecided"} {
		t.Run(want, func(t *testing.T) {
			home, project := t.TempDir(), t.TempDir()
			if err := os.Mkdir(filepath.Join(project, ".git"), 0o700); err != nil {
				t.Fatal(err)
			}
			command := func(args ...string) *exec.Cmd {
				cmd := exec.Command("tidemark", args...)
				cmd.Path, cmd.Dir = binary(t), project
				cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "TIDEMARK_HOME="+filepath.Join(home, "tidemark"), "NO_COLOR=1")
				return cmd
			}
			t.Cleanup(func() { _ = command("stop").Run() })
			atTerminal := func() (out string, failed bool) {
				control, terminal := openTerminal(t)
				cmd := command("timeline", "moment", "add", "--label", "mine")
				cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
				if _, err := control.WriteString(answer); err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				_ = terminal.Close()
				ended := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
				defer ended.Stop()
				said, _ := io.ReadAll(control) // ends with an error when the program closes the terminal
				return string(said), cmd.Wait() != nil
			}
			out, failed := atTerminal()
			if !strings.Contains(out, "[y/N]") || failed == (want == "allowed") {
				t.Errorf("it did not ask, or failed %v:\n%s", failed, out)
			}
			if again, failed := atTerminal(); strings.Contains(again, "[y/N]") != (want == "undecided") || failed == (want == "allowed") {
				t.Errorf("the next command, which failed %v:\n%s", failed, again)
			}
			shown, err := command("project", "show").CombinedOutput()
			if err != nil || !strings.Contains(string(shown), ": "+want) {
				t.Errorf("%v\n%s", err, shown)
			}
			stores, _ := os.ReadDir(filepath.Join(home, "tidemark", "workspaces"))
			if (len(stores) > 0) != (want == "allowed") {
				t.Errorf("stores of %v for a project that is %s", stores, want)
			}
		})
	}
}

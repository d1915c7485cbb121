package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openTerminal returns both ends of a new terminal.
func openTerminal(t *testing.T) (control, terminal *os.File) {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = control.Close() })
	if err := unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skip(err)
	}
	n, err := unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Skip(err)
	}
	if terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Skip(err)
	}
	return control, terminal
}

// Install asks about the project once, and only a user at a terminal.
func TestInstallAsksAboutTheProjectOnce(t *testing.T) {
	const question = "Allow Tidemark to take snapshots of the files of this project"
	const recording = "keeps prompts, calls of tools and their results for 7 days in "
	for _, c := range []struct {
		name, answer, outcome, state string
		args                         []string
		outside, file, recorded      bool
	}{
		{name: "yes", answer: "y\ny\n", outcome: "recorded. Run `tidemark project allow --revoke", state: "allowed", recorded: true},
		{name: "yes and no", answer: "y\nn\n", outcome: "not recorded. Run", state: "allowed"},
		{name: "yes and no answer", answer: "y\n\x04", outcome: "not recorded. Run", state: "allowed"},
		{name: "no", answer: "n\n", outcome: "denied. Run `tidemark project allow`", state: "denied"},
		{name: "no answer", answer: "\x04", outcome: "nothing was decided", state: "undecided"},
		{name: "--yes", args: []string{"--yes"}, state: "undecided"},
		{name: "--dry-run", args: []string{"--dry-run"}, state: "undecided"},
		{name: "outside a project", outside: true, state: "undecided"},
		{name: "output to a file", file: true, state: "undecided"},
	} {
		t.Run(c.name, func(t *testing.T) {
			home, project := t.TempDir(), t.TempDir()
			if !c.outside {
				if err := os.Mkdir(filepath.Join(project, ".git"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			command := func(args ...string) *exec.Cmd {
				cmd := exec.Command("tidemark", args...)
				cmd.Dir = project
				cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "TIDEMARK_HOME="+filepath.Join(home, "tidemark"), "NO_COLOR=1", "PATH="+filepath.Dir(binary(t)))
				return cmd
			}
			install := func() string {
				control, terminal := openTerminal(t)
				cmd := command(append([]string{"install"}, c.args...)...)
				cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
				if c.file {
					f, err := os.Create(filepath.Join(home, "out"))
					if err != nil {
						t.Fatal(err)
					}
					defer func() { _ = f.Close() }()
					cmd.Stdout = f
				}
				if _, err := control.WriteString(c.answer); err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				_ = terminal.Close()
				ended := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
				defer ended.Stop()
				out, _ := io.ReadAll(control) // ends with an error when the program closes the terminal
				if err := cmd.Wait(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
				return string(out)
			}
			out := install()
			if asks := c.outcome != ""; strings.Contains(out, question) != asks || !strings.Contains(out, c.outcome) {
				t.Errorf("got\n%s", out)
			}
			if strings.Contains(out, recording+filepath.Join(home, "tidemark", "recordings")) != (c.state == "allowed") {
				t.Errorf("the question about conversations:\n%s", out)
			}
			shown, err := command("project", "show").CombinedOutput()
			if err != nil || !strings.Contains(string(shown), ": "+c.state) || regexp.MustCompile(`conversation +on`).Match(shown) != c.recorded {
				t.Errorf("%v\n%s", err, shown)
			}
			if c.state != "undecided" {
				if again := install(); strings.Contains(again, question) {
					t.Errorf("it asks again:\n%s", again)
				}
			}
		})
	}
}

// binary returns the path of the program under test.
func binary(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("tidemark")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

//go:build !windows

package terminal_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/recording/screen"
	"tidemark.dev/tidemark/host/internal/terminal"
)

// TestShellsWithinAShellAreOneCommand: a shell in the recorded shell, by ssh and in tmux, also one that has the integration. Commands
// that are typed there make no moment. The commands of the recorded shell are whole after it.
func TestShellsWithinAShellAreOneCommand(t *testing.T) {
	for _, outer := range terminal.Shells() {
		t.Run(outer, func(t *testing.T) {
			path := requireShell(t, outer)
			dir := t.TempDir()
			text, err := terminal.Integration("bash")
			if err != nil {
				t.Fatal(err)
			}
			integrated := filepath.Join(dir, "integrated")
			if err := os.WriteFile(integrated, []byte("PS1='inner> '\n"+text), 0o600); err != nil {
				t.Fatal(err)
			}
			inner := []struct {
				name, line string
				status     int
			}{
				// The shell's echo of the line is not the prompt: what is typed too early reaches a terminal in the outer shell's mode.
				{"sh", "env PS1='inn''er> ' ENV= sh -i", 3},
				{"bash", "env PS1='inn''er> ' bash --norc -i", 3},
				{"a bash that has the integration", "bash --rcfile " + integrated + " -i", 3},
			}
			if ssh := sshTo(t, dir); ssh != "" {
				inner = append(inner, struct {
					name, line string
					status     int
				}{"ssh", ssh + " -tt localhost \"bash --rcfile " + integrated + " -i\"", 3})
			}
			if _, err := exec.LookPath("tmux"); err == nil {
				inner = append(inner, struct {
					name, line string
					status     int
				}{"tmux", "tmux -f /dev/null -S " + filepath.Join(dir, "s") + " new-session 'bash --rcfile " + integrated + " -i'", 0})
			}
			u := record(t, setup{dir: dir}, path)
			u.see("$ ")
			for _, c := range inner {
				before := len(u.ended)
				u.typed(c.line + "\r")
				u.see("inner> ")
				u.typed("echo in''side\r")
				u.see("inside")
				u.typed("false\r")
				u.typed("exit 3\r")
				u.until("the end of "+c.name, func() bool { return len(u.ended) > before })
				if got := u.ended[len(u.ended)-1]; len(u.ended) != before+1 || got.Text != c.line || got.Status == nil || *got.Status != c.status || got.Dir != dir {
					t.Errorf("%s: %+v", c.name, u.ended[before:])
				}
				u.see("$ ")
				if got := u.command("sh -c 'exit 4'"); got.Text != "sh -c 'exit 4'" || got.Status == nil || *got.Status != 4 {
					t.Errorf("after %s: %+v", c.name, got)
				}
				u.see("$ ")
			}
			u.typed("exit\r")
			u.exit()
		})
	}
}

// TestTheEndOfACommandHasItsText, so that it is known where the terminal dropped the mark of its beginning.
func TestTheEndOfACommandHasItsText(t *testing.T) {
	end := regexp.MustCompile("\x1b]6973;[^;]+;D;4;[^;]+;[^;]*;([^;\a]+)\a")
	for _, shell := range terminal.Shells() {
		t.Run(shell, func(t *testing.T) {
			u := record(t, setup{}, requireShell(t, shell))
			u.see("$ ")
			const line = `echo "50% ü"; sh -c 'exit 4'`
			u.typed(line + "\r")
			var m [][]byte
			u.until("the mark of the end", func() bool { m = end.FindSubmatch(u.seen); return m != nil })
			if text, err := url.PathUnescape(string(m[1])); text != line || err != nil {
				t.Errorf("%q, %v", text, err)
			}
			u.typed("exit\r")
			u.exit()
		})
	}
}

// TestTheShellIsInteractiveAndNoLoginShell, so that it reads the user's files as in any terminal.
func TestTheShellIsInteractiveAndNoLoginShell(t *testing.T) {
	for shell, line := range map[string]string{
		"bash": "[[ $- == *i* ]] && ! shopt -q login_shell", "zsh": "[[ -o interactive && ! -o login ]]", "fish": "status is-interactive; and not status is-login",
	} {
		t.Run(shell, func(t *testing.T) {
			u := record(t, setup{}, requireShell(t, shell))
			u.see("$ ")
			if c := u.command(line); c.Status == nil || *c.Status != 0 {
				t.Errorf("%+v", c)
			}
			u.typed("exit 0\r")
			u.exit()
		})
	}
}

// TestBashHasTheLinesOfALoopWhereItsHistoryKeepsThem: by default its history joins them.
func TestBashHasTheLinesOfALoopWhereItsHistoryKeepsThem(t *testing.T) {
	path := requireShell(t, "bash")
	startup(t, "bash", "shopt -s lithist\n")
	u := record(t, setup{}, path)
	u.see("$ ")
	if c := u.command("for i in 1 2; do\recho $i\rdone"); c.Text != "for i in 1 2; do\necho $i\ndone" {
		t.Errorf("%+v", c)
	}
	u.typed("exit\r")
	u.exit()
}

// TestBashPreexecKeepsWorking has bash-preexec, with functions of the user, in the startup file and loaded later.
func TestBashPreexecKeepsWorking(t *testing.T) {
	script, err := filepath.Abs("testdata/bash-preexec/bash-preexec.sh")
	if err != nil {
		t.Fatal(err)
	}
	path := requireShell(t, "bash")
	startup(t, "bash", "HISTCONTROL=ignoreboth\n. "+script+"\npreexec() { echo \"started=$1\"; }\nprecmd() { echo \"status=$?\"; }\n")
	u := record(t, setup{}, path)
	u.see("$ ")
	for _, w := range []want{{typed: "sh -c 'exit 4'", status: 4}, {typed: "true"}, {typed: "true"}, {typed: " echo spaced"}, {typed: "sh -c 'exit 6'", status: 6}, {typed: "echo a; false", status: 1}} {
		if c := u.command(w.typed); c.Text != w.typed || c.Status == nil || *c.Status != w.status {
			t.Errorf("%q: %+v", w.typed, c)
		}
		u.see("started=" + w.typed)
		u.see(fmt.Sprintf("status=%d", w.status))
		u.see("$ ")
	}
	u.typed("exit\r")
	u.exit()
}

// TestStarshipKeepsWorking: its prompt shows the status of the command before.
func TestStarshipKeepsWorking(t *testing.T) {
	if _, err := exec.LookPath("starship"); err != nil {
		t.Skip("starship is not installed")
	}
	for _, shell := range terminal.Shells() {
		t.Run(shell, func(t *testing.T) {
			path := requireShell(t, shell)
			config := filepath.Join(t.TempDir(), "starship.toml")
			if err := os.WriteFile(config, []byte("format = \"star$status $ \"\n[status]\ndisabled = false\nformat = \"=$status\"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("STARSHIP_CONFIG", config)
			startup(t, shell, map[string]string{"bash": `eval "$(starship init bash)"`, "zsh": `eval "$(starship init zsh)"`, "fish": "starship init fish | source"}[shell]+"\n")
			u := record(t, setup{}, path)
			u.see("$ ")
			if c := u.command("sh -c 'exit 4'"); c.Text != "sh -c 'exit 4'" || c.Status == nil || *c.Status != 4 {
				t.Errorf("%+v", c)
			}
			u.see("star=4")
			u.typed("exit\r")
			u.exit()
		})
	}
}

// TestAStormOfSizesIsRecorded: a program draws a screen of up to 400 columns, with wide characters, emoji and text from right to left,
// after each of many new sizes. The frame at the end is what the program drew last, and each frame is what replaying everything shows.
func TestAStormOfSizesIsRecorded(t *testing.T) {
	const last = "漢字 😀 שלום مرحبا é"
	// A signal can come while it draws: it then draws again, not within what it draws.
	script := `stty -echo
		draw() {
			again=1
			[ "$drawing" ] && return
			drawing=1
			while [ "$again" ]; do
				again=
				set -- $(stty size)
				printf '\033[2J\033[H%sx%s ` + last + `\033[%s;1H' "$2" "$1" "$1"
				printf "%*s" $(($2 - 1)) end
			done
			drawing=
			[ ! "$again" ] || draw
		}
		trap draw WINCH; draw; echo; echo ready; while [ ! -e "$0" ]; do sleep 0.02; done` // in read, sh may miss a signal
	end := filepath.Join(t.TempDir(), "end")
	u := record(t, setup{}, "sh", "-c", script, end)
	u.see("ready")
	r := rand.New(rand.NewPCG(8, 8))
	cols, rows := 0, 0
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for n := range 200 {
		cols, rows = 20+r.IntN(380), 3+r.IntN(60)
		if n == 199 {
			cols, rows = 400, 50
		}
		if err := u.outer.Resize(cols, rows); err != nil {
			t.Fatal(err)
		}
		if err := sendResize(self); err != nil {
			t.Fatal(err)
		}
		if n%5 == 4 { // those between may be passed over
			u.see(fmt.Sprintf("%dx%d "+last, cols, rows))
		}
	}
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	u.exit()
	events, _ := u.recorded()
	rec, err := u.store.Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rec.Close() }()
	replayed := screen.New(rec.Summary().Cols, rec.Summary().Rows)
	sizes := 0
	for i, e := range events {
		recording.Apply(replayed, e)
		if e.Code == recording.Resize {
			sizes++
		}
		if i+1 < len(events) && events[i+1].At == e.At || r.IntN(4) > 0 && i+1 < len(events) {
			continue
		}
		frame, err := rec.Frame(e.At)
		if err != nil {
			t.Fatal(err)
		}
		if frame.Dump() != replayed.Dump() {
			t.Fatalf("the frame at %s differs", e.At)
		}
	}
	lines := replayed.Text()
	if c, n := replayed.Size(); sizes < 40 || c != 400 || n != 50 || lines[0] != "400x50 "+last || !strings.HasSuffix(lines[49], "end") || len(lines[49]) != 399 {
		t.Errorf("%d sizes, %dx%d, %q %q", sizes, c, n, lines[0], lines[len(lines)-1])
	}
	if !bytes.Contains([]byte(output(events)), []byte("400x50 "+last)) {
		t.Error("the last screen is not recorded")
	}
}

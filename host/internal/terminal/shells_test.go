//go:build !windows

package terminal_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/recording"
	"tidemark.dev/tidemark/host/internal/terminal"
)

// requireShell returns the path of a shell. The user's startup files are empty.
func requireShell(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	home := t.TempDir()
	for _, env := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"} {
		t.Setenv(env, home)
	}
	// Without it, fish writes its completions there at its first start, beside the test and after it.
	if err := os.MkdirAll(filepath.Join(home, "fish", "generated_completions"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PS1", "$ ")
	t.Setenv("ZDOTDIR", "")
	t.Setenv("TERM", "xterm")
	startup(t, name, map[string]string{"bash": "PS1='$ '\n", "zsh": "PS1='$ '\n", "fish": "function fish_prompt; echo -n '$ '; end\nset -g fish_greeting\n"}[name])
	return path
}

// startup writes the user's startup file of a shell.
func startup(t *testing.T, shell, text string) {
	t.Helper()
	path := filepath.Join(os.Getenv("HOME"), map[string]string{"bash": ".bashrc", "zsh": ".zshrc", "fish": "fish/config.fish"}[shell])
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// want is a command with what the shell reports of it. A dir is below the first one.
type want struct {
	typed, text string
	status      int
	dir         string
}

// shellCommands are commands whose report is the same in all shells.
var shellCommands = []want{
	{typed: "true"},
	{typed: "false", status: 1},
	{typed: "sh -c 'exit 42'", status: 42},
	{typed: "echo 'a;b%c'"},
	{typed: "echo \"tab\" | tr a-z A-Z"},
	{typed: "true && false", status: 1},
	{typed: "mkdir -p 'x y;ü%41'"},
	{typed: "cd 'x y;ü%41'"},
	{typed: "pwd", dir: "x y;ü%41"},
	{typed: "cd ..", dir: "x y;ü%41"},
	{typed: "true"},
	{typed: "true"}, // the history may ignore it
	{typed: "sleep 0.01 &"},
	{typed: "no-such-program-of-tidemark", status: 127},
	{typed: "sh -c 'kill -TERM $$'", status: 143},
	{typed: "echo"},
	{typed: "echo one; echo two"},
	{typed: "echo one; false; echo two"},
	{typed: "false || true"},
	{typed: "true | false", status: 1},
	{typed: "false | true"},
	{typed: "echo '%s %d %%' \"%41\""},
	{typed: "echo 'Ünïcödé 漢字 🚀'"},
	{typed: "printf 'no line feed'"},
	{typed: "printf '\\033[31mred\\033[0m\\n'"},
	{typed: "printf '\\033]133;D;7\\007'"}, // a mark that is not the shell's
	{typed: "printf '\\033]6973;P;/forged\\007'"},
	{typed: "printf 'a\\rb\\n'"},
	{typed: "echo error >&2"},
	{typed: "echo to-a-file >file"},
	{typed: "cat file"},
	{typed: "cat <file"},
	{typed: "cat no-such-file", status: 1},
	{typed: "test -f file"},
	{typed: "test -d file", status: 1},
	{typed: "rm file"},
	{typed: "env VARIABLE=value sh -c 'exit 7'", status: 7},
	{typed: "sh -c 'exit 255'", status: 255},
	{typed: "sh -c 'kill -KILL $$'", status: 137},
	{typed: "sh -c 'kill -INT $$'", status: 130},
	{typed: "sh -c 'kill -SEGV $$'", status: 139},
	{typed: "sh -c 'printf \"%s\\n\" \"$0\"' ';'"},
	{typed: "ls /"},
	{typed: "seq 1 200 | tail -n 1"},
	{typed: "seq 1 2000"},
	{typed: "printf '\\033[?1049h'; printf '\\033[?1049l'"}, // a program of the whole screen
	{typed: "cd /", dir: ""},
	{typed: "cd -", dir: "//"},
	{typed: "sh -c 'exit 1'; echo after"},
	{typed: "sleep 0.01; sh -c 'exit 2'", status: 2},
	{typed: "sleep 0.01 & sh -c 'exit 8'", status: 8},
	{typed: "true # a comment", text: "true # a comment"},
	{typed: "false", status: 1},
	{typed: "false", status: 1},
}

// bourneCommands are more of them, which bash and zsh share.
var bourneCommands = []want{
	{typed: "(exit 3)", status: 3},
	{typed: "f() { return 6; }"},
	{typed: "f", status: 6},
	{typed: "! true", status: 1},
	{typed: "{ echo a; false; }", status: 1},
	{typed: "[[ a == b ]]", status: 1},
	{typed: "((0))", status: 1},
	{typed: "cat <<END\rtext\rEND", text: "cat <<END\ntext\nEND"},
	{typed: "(cd /; exit 9)", status: 9},
	{typed: "eval 'f'", status: 6},
	{typed: "v=$(exit 3)", status: 3},
}

func TestCommandsOfShells(t *testing.T) {
	for shell, more := range map[string][]want{
		"bash": {
			{typed: "for i in 1 2; do\recho $i\rdone", text: "for i in 1 2; do echo $i; done"},
			{typed: "x=\"a\rb\"", text: "x=\"a\nb\""},
			{typed: "cat <<< $x"},
			{typed: "echo $(exit 3)"},
			{typed: "time false", status: 1},
			{typed: "sh -c \"exit $?\"", status: 1}, // nothing of the integration is between two commands
			{typed: "false | true"},
			{typed: "(exit ${PIPESTATUS[0]})", status: 1},
			{typed: "sleep 0.01 & pid=$!"},
			{typed: "[[ $! == $pid ]]"},
		},
		"zsh": {
			{typed: "for i in 1 2; do\recho $i\rdone", text: "for i in 1 2; do\necho $i\ndone"},
			{typed: " echo ignored by the history", text: " echo ignored by the history"},
			{typed: "cat <<< a"},
			{typed: "echo =ls"},
			{typed: "repeat 2 echo again"},
		},
		"fish": {
			{typed: "for i in 1 2\recho $i\rend", text: "for i in 1 2\necho $i\nend"},
			{typed: "sh -c 'exit 3'", status: 3},
			{typed: "function f; return 6; end"},
			{typed: "f", status: 6},
			{typed: "not true", status: 1},
			{typed: "begin; echo a; false; end", status: 1},
			{typed: "string match -q a b", status: 1},
			{typed: "math 1 + 1"},
			{typed: "set x 1"},
			{typed: "if true; echo yes; end"},
			{typed: "echo (false)"},
			{typed: "eval f", status: 6},
			{typed: "for i in 1; f; end", status: 6},
			{typed: "echo \"$x\""},
			{typed: "cat (echo a | psub)"},
			{typed: " echo ignored by the history"},
		},
	} {
		if shell != "fish" {
			more = append(more, bourneCommands...)
		}
		for name, hooks := range map[string]string{"": "", " with hooks of the user": userHooks[shell]} {
			t.Run(shell+name, func(t *testing.T) { testCommands(t, shell, hooks, more) })
		}
	}
}

// userHooks are startup files that use what the integration uses.
var userHooks = map[string]string{
	"bash": "PROMPT_COMMAND='echo \"status=$?\"'; PS0='started\\n'; trap 'debugged=yes' DEBUG\n",
	"zsh":  "precmd() { echo status=$? }; preexec() { echo started }; trap 'debugged=yes' DEBUG\n",
	"fish": "function mine --on-event fish_postexec; echo status=$status; end; function mine2 --on-event fish_preexec; echo started; end\n",
}

// testCommands types commands, and compares what is recorded of them.
func testCommands(t *testing.T, shell, hooks string, more []want) {
	path := requireShell(t, shell)
	startup(t, shell, hooks)
	if shell == "zsh" {
		startup(t, shell, "setopt hist_ignore_space\n")
	}
	dir := t.TempDir()
	u := record(t, setup{dir: dir}, path)
	u.see("$ ")
	all := append(shellCommands[:len(shellCommands):len(shellCommands)], more...)
	if len(all) < 60 {
		t.Errorf("only %d commands are tried", len(all))
	}
	for _, w := range all {
		c := u.command(w.typed)
		if w.text == "" {
			w.text = w.typed
		}
		where := filepath.Join(dir, w.dir)
		if w.dir == "//" {
			where = "/"
		}
		if c.Text != w.text || c.Status == nil || *c.Status != w.status || c.Dir != where {
			t.Errorf("%q: %+v, %v", w.typed, c, c)
		}
	}
	u.see("$ ")
	u.typed("\r") // nothing
	u.see("$ ")
	u.typed("gave-up") // a line that is given up
	u.see("gave-up")
	// fish shows the line several times in its colours, and a signal meanwhile is lost. So it is pressed again, as a person would.
	asked := 0
	u.eventually("a prompt after the line is given up", func() bool {
		if asked++; asked%20 == 1 {
			u.typed("\x03")
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		return bytes.Contains(u.seen, []byte("$ "))
	})
	u.command("sh -c 'exit 9'")
	u.command("wait") // a shell does not leave while it has jobs
	u.typed("exit 5\r")
	if status := u.exit(); status != 5 {
		t.Errorf("exit status %d", status)
	}
	if n := len(u.ended); n != len(all)+3 {
		t.Errorf("%d commands, want %d: %+v", n, len(all)+3, u.ended)
	}
	events, data := u.recorded()
	if strings.Contains(strings.ReplaceAll(data, "\x1b]6973;P;/forged\a", ""), "\x1b]6973") {
		t.Error("the shell's reports are recorded")
	}
	ended, labels := 0, 0
	for _, e := range events {
		switch e.Code {
		case recording.Ended:
			ended++
		case recording.Marker:
			labels++
		}
	}
	if ended != len(all)+3 || labels != len(all)+3 {
		t.Errorf("%d commands and %d labels are recorded", ended, labels)
	}
}

// TestHooksOfTheUserKeepWorking has startup files that use what the integration uses.
func TestHooksOfTheUserKeepWorking(t *testing.T) {
	for name, c := range map[string]struct{ shell, startup string }{
		"a string":  {"bash", "set -u; " + userHooks["bash"]},
		"an array":  {"bash", "PROMPT_COMMAND=('echo \"status=$?\"' ':'); PS0='started\\n'; trap 'debugged=yes' DEBUG\n"},
		"of zsh":    {"zsh", userHooks["zsh"]},
		"of fish":   {"fish", userHooks["fish"]},
		"exported":  {"bash", "set -u; export PROMPT_COMMAND='echo \"status=$?\"'; PS0='started\\n'; trap 'debugged=yes' DEBUG\n"},
		"none":      {"bash", "set -u; PS0='started\\n'; PS1='status=$?$ '\n"},
		"preloaded": {"bash", "PROMPT_COMMAND='echo \"status=$?\"'; PS0='started\\n'; eval \"$(cat \"$INTEGRATION\")\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			path := requireShell(t, c.shell)
			text, err := terminal.Integration(c.shell)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "integration")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("INTEGRATION", file)
			startup(t, c.shell, c.startup)
			u := record(t, setup{}, path)
			u.see("$ ")
			if got := u.command("sh -c 'exit 4'"); got.Text != "sh -c 'exit 4'" || got.Status == nil || *got.Status != 4 {
				t.Errorf("%+v", got)
			}
			u.see("started")
			u.see("status=4")
			u.see("$ ")
			if strings.Contains(c.startup, "DEBUG") {
				u.typed("echo \"[$debugged]\"\r")
				u.see("[yes]")
			}
			u.typed("exit\r")
			u.exit()
		})
	}
}

// TestOutputCannotForgeACommand prints marks as the integration does, without its number.
func TestOutputCannotForgeACommand(t *testing.T) {
	u := record(t, setup{}, requireShell(t, "bash"))
	u.see("$ ")
	u.command(`printf '\e]6973;0;C;/;forged\a\e]6973;;D;0;/;new;forged\a\e]133;C\a\e]133;D;0\a'; env >environment; set >all`)
	u.command("bash --norc -i -c 'env; set' >inner; grep -c nonce environment inner")
	u.typed("exit\r")
	u.exit()
	if len(u.ended) != 3 {
		t.Errorf("%+v", u.ended)
	}
	for _, c := range u.ended {
		if strings.HasPrefix(c.Text, "forged") {
			t.Errorf("%+v", c)
		}
	}
	if !strings.Contains(output(first(u.recorded())), "environment:0\r\ninner:0\r\n") {
		t.Errorf("programs can read the number: %q", output(first(u.recorded())))
	}
}

// TestTheIntegrationIsRemovedAtThePrompt: its file has the number that programs must not read.
func TestTheIntegrationIsRemovedAtThePrompt(t *testing.T) {
	for _, shell := range terminal.Shells() {
		t.Run(shell, func(t *testing.T) {
			path := requireShell(t, shell)
			dir := t.TempDir()
			t.Setenv("TMPDIR", dir)
			u := record(t, setup{}, path)
			u.see("$ ")
			u.eventually("the integration is removed", func() bool {
				left, err := filepath.Glob(filepath.Join(dir, "tidemark-*"))
				return err == nil && len(left) == 0
			})
			if c := u.command("true"); c.Text != "true" {
				t.Errorf("%+v", c)
			}
			u.typed("exit\r")
			u.exit()
		})
	}
}

func first(events []recording.Event, _ string) []recording.Event { return events }

// TestTheLastCommandHasTheStatusOfTheShell, whose program another one may have replaced.
func TestTheLastCommandHasTheStatusOfTheShell(t *testing.T) {
	for _, shell := range terminal.Shells() {
		t.Run(shell, func(t *testing.T) {
			for typed, want := range map[string]int{"exec sh -c 'echo re''placed; exit 6'": 6, "exit 7": 7} {
				u := record(t, setup{}, requireShell(t, shell))
				u.see("$ ")
				u.typed(typed + "\r")
				if status := u.exit(); status != want {
					t.Errorf("exit status %d", status)
				}
				if len(u.ended) != 1 || u.ended[0].Status == nil || *u.ended[0].Status != want || u.ended[0].Text != typed {
					t.Errorf("%q: %+v", typed, u.ended)
				}
			}
		})
	}
}

// TestAKilledShellSaysNothingOfItsCommand.
func TestAKilledShellSaysNothingOfItsCommand(t *testing.T) {
	for _, shell := range terminal.Shells() {
		t.Run(shell, func(t *testing.T) {
			u := record(t, setup{}, requireShell(t, shell))
			u.see("$ ")
			typed := "sh -c 'kill -KILL $PPID'"
			u.typed(typed + "\r")
			u.exit()
			if len(u.ended) != 1 || u.ended[0].Status != nil || u.ended[0].Text != typed {
				t.Errorf("%+v", u.ended)
			}
		})
	}
}

// TestThePipelineReachesTheUsersHooks, as prompts show the status of each of its commands.
func TestThePipelineReachesTheUsersHooks(t *testing.T) {
	for name, hooks := range map[string]string{
		"a string": `PROMPT_COMMAND='echo "pipe=${PIPESTATUS[*]} $?"'`, "an array": `PROMPT_COMMAND=('echo "pipe=${PIPESTATUS[*]} $?"' :)`,
	} {
		t.Run(name, func(t *testing.T) {
			path := requireShell(t, "bash")
			startup(t, "bash", hooks+"\n")
			u := record(t, setup{}, path)
			u.see("$ ")
			u.command("false | true | (exit 3)")
			u.see("pipe=1 0 3 3")
			u.typed("exit 0\r")
			u.exit()
		})
	}
}

// TestRepeatedAndHiddenCommands is about bash, whose history is the only place that has the command line.
func TestRepeatedAndHiddenCommands(t *testing.T) {
	path := requireShell(t, "bash")
	startup(t, "bash", "HISTCONTROL=ignoreboth\n")
	u := record(t, setup{}, path)
	u.see("$ ")
	for _, w := range []want{{typed: "echo one"}, {typed: "echo one"}, {typed: "\x1b[A", text: "echo one"}, {typed: " echo one", text: ""}, {typed: " echo hidden"}, {typed: "echo two"}} {
		if w.text == "" && !strings.HasPrefix(w.typed, " ") {
			w.text = w.typed
		}
		if c := u.command(w.typed); c.Text != w.text {
			t.Errorf("%q is %q", w.typed, c.Text)
		}
		u.see("$ ")
	}
	u.typed("exit\r")
	u.exit()
}

// TestAShellThatAnotherProgramIntegrates has a shell that Tidemark does not integrate, whose prompt has the marks of OSC 133.
func TestAShellThatAnotherProgramIntegrates(t *testing.T) {
	path := requireShell(t, "bash")
	rc := filepath.Join(t.TempDir(), "rc")
	text := `PS0='\e]133;C\a'` + "\n" + `PS1='\[\e]133;D;$?\a\e]7;file://host$PWD\a\e]133;A\a\]$ \[\e]133;B\a\]'` + "\n"
	if err := os.WriteFile(rc, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	u := record(t, setup{dir: "/"}, path, "--rcfile", rc, "-i")
	for _, line := range []string{"cd /usr", "sh -c 'exit 3'"} {
		u.see("$ ")
		u.typed(line + "\r")
	}
	u.see("$ ")
	u.typed("exit\r")
	u.exit()
	var got []string
	for _, e := range first(u.recorded()) {
		if e.Code == recording.Ended {
			var c recording.Command
			if err := json.Unmarshal(e.Data, &c); err != nil {
				t.Fatal(err)
			}
			got = append(got, c.Dir+" "+c.String())
		}
	}
	want := "/ cd /usr (by marks in the output)|/usr sh -c 'exit 3' (exit 3) (by marks in the output)|/usr exit (no exit status) (by marks in the output)"
	if s := strings.Join(got, "|"); s != want || len(u.ended) != 0 {
		t.Errorf("%s\nwant %s, and %v is passed on", s, want, u.ended)
	}
}

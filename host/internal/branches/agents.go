package branches

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/subprocess"
	"tidemark.dev/tidemark/host/internal/timeline/records"
)

// agent is how a program is started.
type agent struct {
	// home is the variable with the directory of its settings and records, usual that directory below the user's own one; ""
	// where it has none.
	home, usual string
	// start returns the arguments with which it starts. Alone is true where nobody sees its terminal. The message follows them.
	start func(g *records.Agent, alone bool) []string
	// again returns those with which it continues in a terminal, without a message. It is nil where that is not known.
	again func(g *records.Agent) []string
	// records returns the directory of its conversations in a directory, by which it can be kept apart from those of another one at
	// the same path. It is nil where there is no such directory.
	records func(g *records.Agent, env []string, dir string) string
}

// agents are the programs that can be started, by name. See [other].
var agents = map[string]*agent{
	"claude": {
		home: "CLAUDE_CONFIG_DIR", usual: ".claude", records: claudeRecords,
		start: func(g *records.Agent, alone bool) (a []string) {
			if alone {
				a = append(a, "--print")
			}
			return append(append(a, modeOf(g)...), resumed(g, "--resume")...)
		},
		again: func(g *records.Agent) []string { return append(modeOf(g), resumed(g, "--resume", "--continue")...) },
	},
	"codex": {
		home: "CODEX_HOME", usual: ".codex",
		start: func(g *records.Agent, alone bool) (a []string) {
			if alone {
				a = append(a, "exec", "--skip-git-repo-check")
			}
			if g.Conversation != "" {
				a = append(a, "resume")
			}
			return append(a, resumed(g, "")...)
		},
		again: func(g *records.Agent) []string { return append([]string{"resume"}, resumed(g, "", "--last")...) },
	},
	"copilot": {
		home: "COPILOT_HOME", usual: ".copilot",
		start: func(_ *records.Agent, alone bool) []string {
			if alone {
				return []string{"--prompt"}
			}
			return []string{"--interactive"}
		},
		again: func(*records.Agent) []string { return []string{"--continue"} },
	},
	"gemini": {
		start: func(g *records.Agent, alone bool) (a []string) {
			if g.Record != "" {
				a = append(a, "--session-file", g.Record)
			}
			if alone {
				return append(a, "--prompt")
			}
			return append(a, "--prompt-interactive")
		},
		again: func(*records.Agent) []string { return []string{"--resume", "latest"} },
	},
	"opencode": {
		start: func(g *records.Agent, alone bool) (a []string) {
			if alone {
				return append([]string{"run"}, resumed(g, "--session")...)
			}
			return append(resumed(g, "--session"), "--prompt")
		},
		again: func(g *records.Agent) []string { return resumed(g, "--session", "--continue") },
	},
}

// resumed returns the arguments that name the conversation of an agent, or else others. A flag of "" stands for none.
func resumed(g *records.Agent, flag string, otherwise ...string) []string {
	switch {
	case g.Conversation == "":
		return otherwise
	case flag == "":
		return []string{g.Conversation}
	}
	return []string{flag, g.Conversation}
}

// modeOf returns the arguments with Claude Code's permission mode. One that skips permissions is never carried over.
func modeOf(g *records.Agent) []string {
	if g.Mode == "acceptEdits" || g.Mode == "plan" {
		return []string{"--permission-mode", g.Mode}
	}
	return nil
}

// other is an agent that only the user's settings name. It gets the message behind its command.
var other = &agent{start: func(*records.Agent, bool) []string { return nil }}

// agentOf returns how a program is started.
func agentOf(name string) *agent {
	if known := agents[name]; known != nil {
		return known
	}
	return other
}

// starts reports whether an agent can be started.
func (b *Branches) starts(name string) bool {
	return agents[name] != nil || len(b.Settings.Commands[name]) > 0
}

// names lists the agents that can be started.
func (b *Branches) names() string {
	list := slices.AppendSeq(slices.Collect(maps.Keys(agents)), maps.Keys(b.Settings.Commands))
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ", ")
}

// command returns the command line of an agent, with the path of its program.
func (b *Branches) command(workspace string, g *records.Agent, env []string, alone bool) ([]string, error) {
	line, err := b.program(g.Name, env)
	if err != nil {
		return nil, err
	}
	text := g.Text
	if unmasked, ok := b.unmasked.Load(g.Dir); ok {
		text = unmasked.(string)
	}
	return b.inside(workspace, g, env, slices.Concat(line, agentOf(g.Name).start(g, alone), []string{text}))
}

// program returns the program of an agent with its first arguments.
func (b *Branches) program(agent string, env []string) ([]string, error) {
	line := b.Settings.Commands[agent]
	if len(line) == 0 {
		line = []string{agent}
	}
	path, err := program(line[0], env)
	return slices.Concat([]string{path}, line[min(1, len(line)):]), err
}

// program finds a program in the PATH of an environment.
func program(name string, env []string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	for _, dir := range filepath.SplitList(value(env, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not installed: no directory of PATH has it", name)
}

// spawn starts an agent, in a window of tmux or alone. The command is nil in tmux, which waits for it.
func (b *Branches) spawn(branch, name string, g *records.Agent, workspace string, base []string) (*exec.Cmd, error) {
	env := environment(base, name, workspace, g)
	if b.Settings.Terminal == "tmux" {
		return nil, b.inTmux(branch, name, g, workspace, env)
	}
	line, err := b.command(workspace, g, env, true)
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(logOf(workspace), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = g.Dir, env, log, log
	subprocess.Alone(cmd)
	if err := b.starting(branch, true); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	g.PID, g.Log = cmd.Process.Pid, log.Name()
	return cmd, nil
}

// await keeps when and how the agent of a branch ended.
func (b *Branches) await(branch string, cmd *exec.Cmd) {
	_ = cmd.Wait() // its error is the outcome
	err := b.Timeline.Operations.UpdateAgent(branch, func(g *records.Agent) error {
		g.Ended, g.Outcome = b.Clock(), cmd.ProcessState.String()
		return nil
	})
	b.Log.Info("the agent of a branch has ended", "branch", branch, "outcome", cmd.ProcessState.String(), "error", err)
}

// arrived waits until a process that tmux started is in the directory of its branch: before that, who removes the branch does not see
// that it works there. tmux names a process earlier than it is there.
func arrived(workspace string, pid int) {
	for end := time.Now().Add(arrival); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		running, known := subprocess.Within(workspace)
		in := func(p subprocess.Process) bool { return p.PID == pid }
		if _, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid))); !known || err != nil || slices.ContainsFunc(running, in) {
			return
		}
	}
}

// arrival bounds that wait.
const arrival = 2 * time.Second

// keepsFailed runs a program in a window of tmux. If the program fails, the window stays, with what the program said. An old tmux
// closes it all the same.
const keepsFailed = `"$0" set-option -p -t "$TMUX_PANE" remain-on-exit failed 2>/dev/null; exec "$@"`

// paneFormat has tmux print the process of a pane and its window, of which the session's name may have spaces.
const paneFormat = "#{pane_pid} #{session_name}:#{window_id}"

// windowOf finds the window of tmux in which an agent runs that [Branches.inTmux] started in a directory, and the agent's process. They
// are "" and 0 for none.
func windowOf(dir string, env []string) (window string, pid int) {
	tmux, err := program("tmux", env)
	if err != nil {
		return "", 0
	}
	cmd := exec.Command(tmux, "-u", "list-panes", "-a", "-F", "#{pane_dead} #{m:*remain-on-exit failed*,#{pane_start_command}} "+paneFormat+" #{pane_start_path}")
	cmd.Env = env
	out, err := cmd.Output()
	if err != nil { // no server runs
		return "", 0
	}
	for line := range strings.Lines(string(out)) {
		rest, runs := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0 1 ")
		if rest, in := strings.CutSuffix(rest, " "+dir); runs && in {
			window, pid, _ = pane(rest)
		}
	}
	return window, pid
}

// pane parses what tmux prints for [paneFormat].
func pane(out string) (window string, pid int, err error) {
	number, window, _ := strings.Cut(strings.TrimSpace(out), " ")
	pid, err = strconv.Atoi(number)
	return window, pid, err
}

// inTmux starts an agent in a window of the user's tmux session, or else in a session of its own.
func (b *Branches) inTmux(branch, name string, g *records.Agent, workspace string, env []string) error {
	line, err := b.command(workspace, g, env, false)
	if err != nil {
		return err
	}
	tmux, err := program("tmux", env)
	if err != nil {
		return err
	}
	format := []string{"-d", "-P", "-F", paneFormat, "-c", g.Dir}
	for _, v := range own(name, workspace, g, env) {
		format = append(format, "-e", v)
	}
	args := append([]string{"new-session", "-s", "tidemark-" + name}, format...)
	if value(env, "TMUX") != "" {
		args = append([]string{"new-window", "-n", name}, format...)
	}
	cmd := exec.Command(tmux, slices.Concat(args, []string{"--", "/bin/sh", "-c", keepsFailed, tmux}, line)...)
	cmd.Env = env
	if err := b.starting(branch, true); err != nil {
		return err
	}
	out, err := cmd.Output()
	if err != nil {
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			return fmt.Errorf("tmux: %s", strings.TrimSpace(string(exit.Stderr)))
		}
		return err
	}
	g.Terminal, g.PID, err = pane(string(out))
	if err == nil {
		arrived(workspace, g.PID)
	}
	return err
}

package branches

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/subprocess"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/records"
)

// InTab is the hidden command by which a terminal becomes the agent of a branch. The user's terminal_command starts it.
const InTab = "in-tab"

// Parts of terminal_command that are replaced.
const (
	tabDir     = "{dir}"
	tabName    = "{name}"
	tabCommand = "{command}"
)

// tabPatience bounds how long a terminal may take until the agent of a branch runs in it.
const tabPatience = 10 * time.Second

// maxSaid bounds what an error quotes of a terminal, in bytes.
const maxSaid = 1000

// checkTerminal returns an error for settings of terminals that contradict each other, or that can start nothing.
func (s Settings) checkTerminal() error {
	if s.Terminal != "" && s.Terminal != "tmux" {
		return fmt.Errorf(`terminal is %q; it must be "tmux" or "". Another terminal is started by terminal_command.`, s.Terminal)
	}
	if len(s.TerminalCommand) == 0 {
		return nil
	}
	if s.Terminal != "" {
		return errors.New("terminal and terminal_command are both set; remove one of them")
	}
	if s.TerminalCommand[0] == "" {
		return errors.New(`terminal_command begins with a program, as in ["wezterm", "cli", "spawn", "--cwd", "{dir}", "--"]`)
	}
	return nil
}

// tab starts the agent of a branch in a terminal of the user's choice, and waits until it runs there.
func (b *Branches) tab(ctx context.Context, a *answers.Branched, base []string) error {
	if b.Program == "" {
		return errors.New("the path of this program is not known")
	}
	if base == nil {
		base = os.Environ()
	}
	own := []string{b.Program, InTab}
	if home := value(os.Environ(), "TIDEMARK_HOME"); home != "" {
		own = append(own, "--home", home)
	}
	line := tabLine(b.Settings.TerminalCommand, a.Workspace, a.Name, append(own, "--dir", a.Workspace, a.ID))
	path, err := program(line[0], base)
	if err != nil {
		return err
	}
	says, err := os.CreateTemp("", "tidemark-terminal")
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(says.Close(), os.Remove(says.Name())) }()
	cmd := exec.Command(path, line[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = a.Workspace, base, says, says
	subprocess.Alone(cmd)
	entered := make(chan int, 1)
	b.entering.Store(a.ID, entered)
	defer b.entering.Delete(a.ID)
	if err := b.starting(a.ID, true); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // a terminal may stay, or have another program open the tab
	ctx, cancel := context.WithTimeout(ctx, tabPatience)
	defer cancel()
	for {
		select {
		case a.Agent.PID = <-entered:
			a.Agent.Tab = true
			return nil
		case err := <-ended:
			if err != nil {
				out, _ := io.ReadAll(io.NewSectionReader(says, 0, maxSaid))
				return fmt.Errorf("%s: %w: %s", line[0], err, strings.TrimSpace(string(out)))
			}
			ended = nil
		case <-ctx.Done():
			return fmt.Errorf("no terminal ran it within %s. terminal_command is %q", tabPatience, b.Settings.TerminalCommand)
		}
	}
}

// tabLine returns a terminal's command line with what runs in it: at its end, or quoted where it names [tabCommand].
func tabLine(terminal []string, dir, name string, own []string) []string {
	quoted := make([]string, len(own))
	for i, word := range own {
		quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	whole := strings.NewReplacer(tabDir, dir, tabName, name, tabCommand, strings.Join(quoted, " "))
	line := make([]string, len(terminal))
	for i, word := range terminal {
		line[i] = whole.Replace(word)
	}
	if slices.ContainsFunc(terminal, func(word string) bool { return strings.Contains(word, tabCommand) }) {
		return line
	}
	return append(line, own...)
}

// enter keeps which process becomes the agent of a branch in a terminal, so that it gets its message once. Dir is where that works.
func (b *Branches) enter(branch, dir string, pid int) error {
	err := b.Timeline.Operations.UpdateAgent(branch, func(g *records.Agent) error {
		g.PID, g.Tab, g.Starting = pid, true, false
		return nil
	})
	if err != nil {
		return err
	}
	b.unmasked.Delete(dir)
	if entered, ok := b.entering.LoadAndDelete(branch); ok {
		entered.(chan int) <- pid
	}
	return nil
}

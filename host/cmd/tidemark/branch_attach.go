package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/render"
	"tidemark.dev/tidemark/installer/safefile"
)

// branchState says what runs in a branch.
func branchState(b *branches.Branch) string {
	switch {
	case b.Problem != "":
		return b.Problem
	case b.Agent == nil && len(b.Running) == 0:
		return "no agent"
	case b.Agent != nil && b.Agent.PID == 0 && b.Agent.Problem != "":
		return fmt.Sprintf("%s may have been started (%d processes)", b.Agent.Name, len(b.Running))
	case b.Agent != nil && b.Agent.PID == 0:
		return b.Agent.Name + " was not started"
	case b.Agent != nil && agentMayRun(b):
		return b.Agent.Name + " runs"
	}
	if n := len(b.Running); n > 0 {
		return fmt.Sprintf("%d processes", n)
	}
	if b.Agent.Outcome != "" {
		return fmt.Sprintf("%s has ended (%s)", b.Agent.Name, b.Agent.Outcome)
	}
	return b.Agent.Name + " has ended"
}

// agentMayRun reports whether the agent of a branch was started and is not known to have ended.
func agentMayRun(b *branches.Branch) bool {
	if b.Agent.Ended != nil || b.Agent.PID == 0 {
		return false
	}
	if !b.Known {
		return true
	}
	for _, p := range b.Running {
		if p.PID == b.Agent.PID {
			return true
		}
	}
	return false
}

// followInterval is how often the output of an agent is read.
const followInterval = 200 * time.Millisecond

// endingLooks bounds how often is looked how an agent has ended that was seen at work: the daemon notes it after the process is gone.
const endingLooks = 5

func newBranchAttach() *cobra.Command {
	return &cobra.Command{
		Use: "attach NAME", Short: "Show the agent of a branch at work: its tmux window, or its output", Args: oneBranch(),
		Long: `Show the agent of a branch at work: its tmux window, or its output. Of an agent that has ended, it shows the output, and says
when and how it ended, where its conversation is, and how to continue it.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			one, err := findBranch(cmd, args[0])
			switch {
			case err != nil:
				return err
			case one.Agent != nil && one.Agent.Problem != "":
				return errors.New(event.OneLine(one.Agent.Problem))
			case one.Agent == nil || one.Agent.PID == 0:
				return fmt.Errorf("no agent was started in branch %s. Run `tidemark branch open %s`.", args[0], args[0])
			case one.Agent.Tab && agentMayRun(one):
				return fmt.Errorf("%s works in another terminal (process %d): that of `tidemark branch open %s`, or one that terminal_command of config.toml opened.", one.Agent.Name, one.Agent.PID, args[0])
			case one.Agent.Tab:
				return errors.New(strings.Join(endedLines(one), "\n"))
			case one.Agent.Terminal != "" && !agentMayRun(one):
				if how := endedInTmux(cmd.Context(), one); how != "" {
					one.Agent.Outcome = how
					if _, err := io.WriteString(cmd.OutOrStdout(), outputInTmux(cmd.Context(), one)); err != nil {
						return err
					}
					return render.Line(cmd.ErrOrStderr(), "%s", strings.Join(endedLines(one), "\n"))
				}
				return errors.New(strings.Join(endedLines(one), "\n"))
			case one.Agent.Terminal != "" && os.Getenv("TMUX") != "":
				return inTerminal(cmd, "", nil, "tmux", "switch-client", "-t", one.Agent.Terminal)
			case one.Agent.Terminal != "":
				return inTerminal(cmd, "", nil, "tmux", "attach-session", "-t", one.Agent.Terminal)
			}
			return followAgent(cmd, one)
		},
	}
}

// followAgent prints the output of an agent until it has ended, and then what became of it.
func followAgent(cmd *cobra.Command, one *branches.Branch) error {
	f, _, err := safefile.Open(one.Agent.Log)
	if err != nil && (agentMayRun(one) || !errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	if f != nil {
		defer func() { _ = f.Close() }()
	}
	for last := endingLooks; ; {
		runs := agentMayRun(one)
		if f != nil {
			if _, err := io.Copy(cmd.OutOrStdout(), f); err != nil {
				return err
			}
		}
		if runs {
			last = 0
		} else if last++; one.Agent.Ended != nil || last > endingLooks {
			return render.Line(cmd.ErrOrStderr(), "%s", strings.Join(endedLines(one), "\n"))
		}
		select {
		case <-cmd.Context().Done():
			return nil
		case <-time.After(followInterval):
		}
		if one, err = findBranch(cmd, one.ID); err != nil {
			return err
		}
	}
}

// endedLines say what became of an agent that has ended.
func endedLines(b *branches.Branch) (lines []string) {
	g := b.Agent
	switch {
	case g.Ended != nil:
		lines = append(lines, fmt.Sprintf("%s ended at %s: %s.", g.Name, g.Ended.Local().Format(stamp), g.Outcome))
	case g.Outcome != "":
		lines = append(lines, fmt.Sprintf("%s has ended: %s.", g.Name, g.Outcome))
	case b.Latest != nil:
		lines = append(lines, fmt.Sprintf("%s has ended. When and how is not known; the last moment of the branch is of %s.", g.Name, b.Latest.Local().Format(stamp)))
	default:
		lines = append(lines, g.Name+" has ended. When and how is not known.")
	}
	if n := len(b.Running); n > 0 {
		lines = append(lines, fmt.Sprintf("Programs still run in the branch, such as %s (process %d).", event.OneLine(b.Running[0].Name), b.Running[0].PID))
	}
	if g.Log != "" {
		output := "Its output is in " + grants.Printable(g.Log) + "."
		if _, err := os.Lstat(g.Log); errors.Is(err, fs.ErrNotExist) {
			output = "Its output was removed."
		}
		lines = append(lines, output)
	}
	switch {
	case b.Record != "":
		lines = append(lines, "Its conversation is in "+grants.Printable(b.Record)+".")
	case g.Conversation != "":
		lines = append(lines, fmt.Sprintf("Its conversation is %s of %s.", event.OneLine(g.Conversation), g.Name))
	}
	return append(lines, fmt.Sprintf("Continue it with `tidemark branch open %s`.", b.Name))
}

// stamp is how times are shown.
const stamp = "2006-01-02 15:04:05"

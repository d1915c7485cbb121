package main

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"tidemark.dev/tidemark/host/internal/branches"
)

// tmuxPatience bounds a question to tmux.
const tmuxPatience = 2 * time.Second

// endedInTmux says how an agent in a window of tmux ended, "" where tmux does not know: it keeps the window of one that failed.
func endedInTmux(ctx context.Context, b *branches.Branch) string {
	if b.Agent == nil || b.Agent.Terminal == "" || agentMayRun(b) {
		return ""
	}
	for range endingTries {
		p := paneOf(ctx, b)
		switch {
		case !p.found || !p.dead:
			return ""
		case p.status != "":
			return "exit status " + p.status
		case p.signal != "":
			return "signal " + p.signal
		}
		// tmux learns how it ended after the window did. Now and then its server misses the signal, until another of its children ends.
		_, _ = tmux(ctx, "run-shell", "true") // an error is that of the next question
		select {
		case <-ctx.Done():
			return ""
		case <-time.After(endingEvery):
		}
	}
	return "how is not known"
}

// How often, and how long after each other, tmux is asked how an agent ended.
const (
	endingTries = 20
	endingEvery = 25 * time.Millisecond
)

// pane is a window of tmux. Found is false where another program than a branch's agent has it now.
type pane struct {
	found, dead    bool
	status, signal string
}

// paneOf returns the window of a branch's agent.
func paneOf(ctx context.Context, b *branches.Branch) pane {
	out, err := tmux(ctx, "display-message", "-p", "-t", b.Agent.Terminal, "#{pane_pid},#{pane_dead},#{pane_dead_status},#{pane_dead_signal}")
	of := append(strings.Split(strings.TrimSpace(out), ","), "", "", "", "")
	return pane{found: err == nil && of[0] == strconv.Itoa(b.Agent.PID), dead: of[1] == "1", status: of[2], signal: of[3]}
}

// outputInTmux returns what the window of an agent that has ended shows.
func outputInTmux(ctx context.Context, b *branches.Branch) string {
	out, err := tmux(ctx, "capture-pane", "-p", "-S", "-", "-t", b.Agent.Terminal)
	if err != nil {
		return ""
	}
	return strings.TrimRight(out, "\n ") + "\n"
}

// closeInTmux closes the window of the agent of a branch that was removed.
func closeInTmux(ctx context.Context, b *branches.Branch) {
	if b == nil || b.Agent == nil || b.Agent.Terminal == "" {
		return
	}
	if paneOf(ctx, b).found {
		_, _ = tmux(ctx, "kill-window", "-t", b.Agent.Terminal) // its user may have closed it
	}
}

func tmux(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, tmuxPatience)
	defer cancel()
	out, err := exec.CommandContext(ctx, "tmux", args...).Output()
	return string(out), err
}

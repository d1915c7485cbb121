package main

import (
	"fmt"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
)

// methods are how conversations were continued, as a user reads them.
var methods = map[string]string{
	"transcript": "with the conversation as of the moment", "thread/fork": "with the conversation as of the moment",
	"session/fork": "with the conversation as of the moment",
	"context":      "with the recorded conversation quoted in the message", "fresh": "with a new conversation",
}

// agentLines describes the agent of a branch, nil for none.
func agentLines(g *answers.BranchAgent) (lines []string) {
	if g == nil {
		return nil
	}
	line := fmt.Sprintf("%s %s (%s)", g.Name, methods[g.Method], g.Method)
	if g.Why != "" {
		line += ": " + event.OneLine(g.Why)
	}
	lines = append(lines, line)
	switch {
	case g.PathWhy != "":
		lines = append(lines, fmt.Sprintf("sees the branch at its own path %s, not that of the original: %s", grants.Printable(g.Path), event.OneLine(g.PathWhy)))
	case g.Path != "":
		lines = append(lines, "sees the branch at "+grants.Printable(g.Path))
	}
	switch {
	case g.Problem != "":
		lines = append(lines, event.OneLine(g.Problem))
	case g.Terminal != "":
		lines = append(lines, fmt.Sprintf("runs in the tmux window %s, ports +%d", event.OneLine(g.Terminal), g.Ports))
	case g.Tab:
		lines = append(lines, fmt.Sprintf("runs in a terminal of its own, as process %d, ports +%d", g.PID, g.Ports))
	case g.PID != 0:
		lines = append(lines, fmt.Sprintf("runs as process %d, ports +%d, output in %s", g.PID, g.Ports, grants.Printable(g.Log)))
	}
	return lines
}

package debugger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/tokens"
	"tidemark.dev/tidemark/host/internal/variables"
	"tidemark.dev/tidemark/protocol"
)

// Limits of the variables in an answer that reports a pause.
const (
	maxPauseTokens = 140
	// maxPauseValue bounds one value, in bytes.
	maxPauseValue = 60
	// pauseDepth is how many levels of fields are compared.
	pauseDepth = 1
	// pauseWait bounds how long an answer waits for the variables.
	pauseWait = 2 * time.Second
	// maxPauses is how many pauses of a session are kept to compare with, one for each function.
	maxPauses = 20
)

// pausedFrame is the top frame of a pause, with what an answer says about its variables.
type pausedFrame struct {
	client *checkpoint.Client // whose answers it is compared in
	at     int64
	*variables.Snapshot
	lines []string
}

// pauses are the pauses of one run of a target's debugger, the newest at the end.
type pauses struct {
	began int64
	all   []pausedFrame
}

// changed returns the variables of the top frame of a pause: those that changed since the client's last answer about a pause
// in the same function, or all. It returns nil if they cannot be read in time.
func (c *debugCall) changed(ctx context.Context, t *protocol.DebugThread) []string {
	if len(t.Paused.Frames) == 0 || !c.inspector.sessions.joined(c.target, c.client) {
		return nil // reading would start debugging for this client
	}
	if lines, known := c.knownPause(t); known {
		return lines
	}
	ctx, cancel := context.WithTimeout(ctx, pauseWait)
	defer cancel()
	read, err := c.target.Variables(ctx, protocol.DebugVariablesParams{DebugCaller: c.caller, Thread: t.ID, Depth: pauseDepth})
	if err != nil {
		return nil // the pause is reported without them; variables_get says why
	}
	now := pausedFrame{client: c.client, at: t.Paused.At, Snapshot: c.snapshot(ctx, read, pauseDepth)}
	c.inspector.sessions.with(c.target, func(s *session) {
		if s.pauses.began != read.Session {
			s.pauses = pauses{began: read.Session}
		}
		i := slices.IndexFunc(s.pauses.all, func(p pausedFrame) bool { return p.client == now.client && p.SamePlace(now.Snapshot) })
		if i < 0 {
			now.lines = fitting(listed(now.Snapshot))
		} else {
			now.lines = fitting(changes(variables.Compare(s.pauses.all[i].Snapshot, now.Snapshot)))
			s.pauses.all = slices.Delete(s.pauses.all, i, i+1)
		}
		s.pauses.all = append(s.pauses.all, now)
		s.pauses.all = s.pauses.all[max(0, len(s.pauses.all)-maxPauses):]
	})
	return now.lines
}

// PausedVariables returns the variables of the top frame in which a tab is paused, as [ThreadState.Changed] has them. It
// returns nil for a client that does not debug the tab.
func (i *Inspector) PausedVariables(ctx context.Context, client *checkpoint.Client, tab int) []string {
	c, err := i.debug(ctx, client, Where{Tab: tab})
	if err != nil || !i.sessions.joined(c.target, client) {
		return nil
	}
	s, err := c.threads(ctx)
	if err != nil {
		return nil
	}
	var newest *protocol.DebugThread
	for k := range s.Threads {
		if t := &s.Threads[k]; t.Paused != nil && (newest == nil || t.Paused.At > newest.Paused.At) {
			newest = t
		}
	}
	if newest == nil {
		return nil // resumed in the meantime
	}
	return c.changed(ctx, newest)
}

// knownPause returns what an answer has said of a pause, and whether one has.
func (c *debugCall) knownPause(t *protocol.DebugThread) (lines []string, known bool) {
	c.inspector.sessions.with(c.target, func(s *session) {
		for i := range s.pauses.all {
			if p := &s.pauses.all[i]; p.client == c.client && p.Thread == t.ID && p.at == t.Paused.At {
				lines, known = p.lines, true
			}
		}
	})
	return lines, known
}

// listed lists the variables of a frame.
func listed(s *variables.Snapshot) []string {
	var lines []string
	for i := range s.Variables {
		v := &s.Variables[i]
		lines = append(lines, fmt.Sprintf("%s = %s", variables.Path{v.Key}, v.Inline(maxPauseValue)))
	}
	return lines
}

// fitting returns as many lines as an answer about a pause has room for.
func fitting(lines []string) []string {
	used := 0
	for i, line := range lines {
		if used += tokens.Estimate(line) + 2; used > maxPauseTokens-12 && i < len(lines)-1 || used > maxPauseTokens {
			return append(lines[:i:i], fmt.Sprintf("%d more: variables_get", len(lines)-i))
		}
	}
	return lines
}

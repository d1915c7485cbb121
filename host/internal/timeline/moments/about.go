package moments

import (
	"cmp"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/records"
)

// About describes a session now.
func (ls *Lines) About(s *records.Session) answers.About {
	shift := s.Shift
	if s.Ended.IsZero() {
		if l, err := ls.Line(s.Workspace); err == nil {
			shift = l.Shift(s)
		}
	}
	return about(s, ls.o.Clock(), shift)
}

// Latest returns the time of the newest moment of an open session, nil for none.
func Latest(ls *Lines, s *records.Session) *report.Time {
	l, err := ls.Line(s.Workspace)
	if err != nil || !s.Ended.IsZero() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range slices.Backward(l.moments) {
		if m.Session == s.ID {
			return &report.Time{Time: m.At}
		}
	}
	return nil
}

// about describes a session at a time. Shift is how far the clock was set back in it.
func about(s *records.Session, now time.Time, shift time.Duration) answers.About {
	a := answers.About{ID: s.ID, Workspace: s.Workspace, Started: report.Time{Time: s.Started}, Name: s.Name, BranchOf: (*answers.BranchOf)(s.BranchOf), Message: s.Message, Formerly: s.Formerly}
	if g := s.Agent; g != nil {
		a.Agent = &answers.BranchAgent{Name: g.Name, Method: g.Method, Why: g.Why, Conversation: g.Conversation, Ports: g.Ports, Path: cmp.Or(g.At, s.Workspace), PathWhy: g.AtWhy, PID: g.PID, Terminal: g.Terminal, Log: g.Log, Tab: g.Tab, Outcome: g.Outcome}
		if !g.Ended.IsZero() {
			a.Agent.Ended = &report.Time{Time: g.Ended}
		}
	}
	if !s.Ended.IsZero() {
		now = s.Ended
		a.Ended = &report.Time{Time: now}
	}
	a.DurationSec = records.Seconds(now.Sub(s.Started) + shift)
	return a
}

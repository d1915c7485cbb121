package timeline

import (
	"errors"
	"time"

	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/timeline/records"
)

// What a timeline keeps.
type (
	// Session is [records.Session].
	Session = records.Session
	// Moment is [records.Moment].
	Moment = records.Moment
	// Operation is [records.Operation].
	Operation = records.Operation
)

// What a timeline answers, see package answers.
type (
	About         = answers.About
	BranchOf      = answers.BranchOf
	Anchor        = answers.Anchor
	Terminal      = answers.Terminal
	List          = answers.List
	ListMoment    = answers.ListMoment
	ListSnapshot  = answers.ListSnapshot
	Reference     = answers.Reference
	Sessions      = answers.Sessions
	Added         = answers.Added
	AddedSnapshot = answers.AddedSnapshot
	SnapshotList  = answers.SnapshotList
	KeptSnapshot  = answers.KeptSnapshot
	SessionDetail = answers.SessionDetail
	TimelinePart  = answers.TimelinePart
	Sought        = answers.Sought
	Branched      = answers.Branched
	BranchAgent   = answers.BranchAgent
	Ends          = answers.Ends
	Difference    = answers.Difference
	FileChanged   = answers.FileChanged
	Restored      = answers.Restored
	RestoreStep   = answers.RestoreStep
)

// Settings are the user's settings for the timeline, the section [timeline] of config.toml.
type Settings struct {
	// Fence is a command that runs in a project after each new file snapshot, with its arguments. None runs nothing.
	Fence []string `toml:"fence"`
	// FenceSeconds is how long it may take. 0 means 60.
	FenceSeconds float64 `toml:"fence_seconds"`
	// OpenIDE is the command with which `tidemark timeline seek --open-ide` opens a directory.
	OpenIDE []string `toml:"open_ide"`
}

// Check returns an error for a setting that is out of range.
func (s Settings) Check() error {
	switch {
	case s.FenceSeconds < 0 || s.FenceSeconds > 3600:
		return errors.New("fence_seconds must be more than 0, and at most 3600")
	case len(s.Fence) > 0 && s.Fence[0] == "", len(s.OpenIDE) > 0 && s.OpenIDE[0] == "":
		return errors.New(`a command begins with a program, as in ["mutagen", "sync", "flush", "--all"]`)
	}
	return nil
}

// aboutOf describes a session now.
func aboutOf(t *Timeline, s *Session) About {
	shift := s.Shift
	if s.Ended.IsZero() {
		if l, err := t.line(s.Workspace); err == nil {
			shift = l.shift(s)
		}
	}
	return about(s, t.o.Clock(), shift)
}

// about describes a session at a time. Shift is how far the clock was set back in it.
func about(s *Session, now time.Time, shift time.Duration) About {
	a := About{ID: s.ID, Workspace: s.Workspace, Started: diff.Time{Time: s.Started}, Name: s.Name, BranchOf: (*BranchOf)(s.BranchOf), Message: s.Message}
	if g := s.Agent; g != nil {
		a.Agent = &BranchAgent{Name: g.Name, Method: g.Method, Why: g.Why, Conversation: g.Conversation, Ports: g.Ports, PID: g.PID, Terminal: g.Terminal, Log: g.Log}
	}
	if !s.Ended.IsZero() {
		now = s.Ended
		a.Ended = &diff.Time{Time: now}
	}
	a.DurationSec = seconds(now.Sub(s.Started) + shift)
	return a
}

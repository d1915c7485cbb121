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

// What a timeline answers, in package answers.
type (
	// About is [answers.About].
	About = answers.About
	// BranchOf is [answers.BranchOf].
	BranchOf = answers.BranchOf
	// Anchor is [answers.Anchor].
	Anchor = answers.Anchor
	// Terminal is [answers.Terminal].
	Terminal = answers.Terminal
	// List is [answers.List].
	List = answers.List
	// ListMoment is [answers.ListMoment].
	ListMoment = answers.ListMoment
	// ListSnapshot is [answers.ListSnapshot].
	ListSnapshot = answers.ListSnapshot
	// Reference is [answers.Reference].
	Reference = answers.Reference
	// Sessions is [answers.Sessions].
	Sessions = answers.Sessions
	// Added is [answers.Added].
	Added = answers.Added
	// AddedSnapshot is [answers.AddedSnapshot].
	AddedSnapshot = answers.AddedSnapshot
	// SnapshotList is [answers.SnapshotList].
	SnapshotList = answers.SnapshotList
	// KeptSnapshot is [answers.KeptSnapshot].
	KeptSnapshot = answers.KeptSnapshot
	// SessionDetail is [answers.SessionDetail].
	SessionDetail = answers.SessionDetail
	// TimelinePart is [answers.TimelinePart].
	TimelinePart = answers.TimelinePart
	// Sought is [answers.Sought].
	Sought = answers.Sought
	// Branched is [answers.Branched].
	Branched = answers.Branched
	// BranchPlan is [answers.BranchPlan].
	BranchPlan = answers.BranchPlan
	// BranchAgent is [answers.BranchAgent].
	BranchAgent = answers.BranchAgent
	// Ends is [answers.Ends].
	Ends = answers.Ends
	// Difference is [answers.Difference].
	Difference = answers.Difference
	// FileChanged is [answers.FileChanged].
	FileChanged = answers.FileChanged
	// Restored is [answers.Restored].
	Restored = answers.Restored
	// RestoreStep is [answers.RestoreStep].
	RestoreStep = answers.RestoreStep
	// Blamed is [answers.Blamed].
	Blamed = answers.Blamed
	// BlamedLine is [answers.BlamedLine].
	BlamedLine = answers.BlamedLine
	// BlamedCall is [answers.BlamedCall].
	BlamedCall = answers.BlamedCall
	// TerminalRecording is [answers.TerminalRecording].
	TerminalRecording = answers.TerminalRecording
)

// MaxSeconds is [records.MaxSeconds].
const MaxSeconds = records.MaxSeconds

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
	a := About{ID: s.ID, Workspace: s.Workspace, Started: diff.Time{Time: s.Started}, Name: s.Name, BranchOf: (*BranchOf)(s.BranchOf), Message: s.Message, Formerly: s.Formerly}
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

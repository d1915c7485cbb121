package timeline

import (
	"errors"
	"maps"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/diff"
)

// Kinds of moments.
const (
	Auto   = "auto"   // Tidemark made it
	Manual = "manual" // a user or an agent asked for it
)

// Sources of moments: what happened.
const (
	FromStart      = "session"    // the session began
	FromPrompt     = "prompt"     // the user sent the agent a message
	FromEdit       = "edit"       // the agent edited a file
	FromCommand    = "command"    // the agent ran a command
	FromStop       = "stop"       // the agent finished its answer
	FromCheckpoint = "checkpoint" // a checkpoint was created
	FromFiles      = "files"      // another program changed files
	FromRestore    = "restore"    // files were restored
	FromBranch     = "branch"     // the session branched from another one
	FromUser       = "user"       // the user added it
	FromAgent      = "agent"      // an agent added it
	FromProvider   = "provider"   // files are recorded in another way than before
)

// Milestones of a run, which are sources too.
const (
	FromProvisioned = "provisioned"  // what the project needs was installed
	FromServer      = "server_ready" // the development server answers
	FromTestsPassed = "tests_passed"
	FromTestsFailed = "tests_failed"
)

// milestones are the milestones with their usual label.
var milestones = map[string]string{
	FromProvisioned: "provisioned", FromServer: "server ready", FromTestsPassed: "tests passed", FromTestsFailed: "tests failed",
}

// Milestones returns the names of the milestones, sorted.
func Milestones() []string { return slices.Sorted(maps.Keys(milestones)) }

// Milestone returns the usual label of a milestone. ok is false for another kind.
func Milestone(kind string) (label string, ok bool) {
	label, ok = milestones[kind]
	return label, ok
}

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

// Session is a span of work in a workspace. A workspace has at most one that is open.
type Session struct {
	// ID names the session on this machine.
	ID string
	// Workspace is the directory, absolute and without links.
	Workspace string
	Started   time.Time
	// Ended is zero while the session is open.
	Ended time.Time
	// Shift is how far the system's clock was set back in the session, valid when that has ended.
	Shift time.Duration
	// Name is that of a branch, "" for other sessions.
	Name string
	// BranchOf is where a branch comes from, nil for other sessions.
	BranchOf *BranchOf
	// Message is what the user wants the agent of a branch to do.
	Message string

	// Space is the ID of the workspace, by which its moments are stored.
	Space string `msgpack:"-"`
}

// aboutOf describes a session now.
func aboutOf(t *Timeline, s *Session) About {
	shift := s.Shift
	if s.Ended.IsZero() {
		if l, err := t.line(s.Workspace); err == nil {
			shift = l.shift(s)
		}
	}
	return s.about(t.o.Clock(), shift)
}

// about describes a session at a time. Shift is how far the clock was set back in it.
func (s *Session) about(now time.Time, shift time.Duration) About {
	a := About{ID: s.ID, Workspace: s.Workspace, Started: diff.Time{Time: s.Started}, Name: s.Name, BranchOf: s.BranchOf, Message: s.Message}
	if !s.Ended.IsZero() {
		now = s.Ended
		a.Ended = &diff.Time{Time: now}
	}
	a.DurationSec = seconds(now.Sub(s.Started) + shift)
	return a
}

// Moment is a labelled point in a session.
type Moment struct {
	Number  uint64
	Session string
	// At is the system's time. Shift is how far the system's clock was set back in the session before.
	At    time.Time
	Shift time.Duration
	// Placed means that the moment was added later, for an earlier time.
	Placed bool
	Label  string
	Kind   string
	Source string
	// Snapshot is the number of the file snapshot, 0 where there is none. Reason says why.
	Snapshot uint64
	Reason   string
	// SnapshotAt is when the snapshot was complete, in nanoseconds since 1970. It tells a snapshot from another one with
	// the same number, which a loss of power can make.
	SnapshotAt int64
	// Pruned means that the snapshot, if it is missing, was deleted on purpose. A kill may have prevented that.
	Pruned bool
	Anchor *Anchor
	Notes  string

	// ran is [Options.Elapsed] at the moment.
	ran time.Duration
}

// Operation is a change that can be undone: a restore or a branch.
type Operation struct {
	Number  uint64
	At      time.Time
	Session string
	// Kind is restore, branch or undo. State is begun, done, failed or undone.
	Kind, State string
	// What describes it in a few words.
	What string
	// Target is the snapshot that was restored or branched from. Safety and After are those before and after a restore.
	Target, Safety, After uint64
	// Paths are those that were restored; none means everything.
	Paths []string
	// Branch is the session of a branch, Dir its directory.
	Branch, Dir string
	// Of is the operation that an undo undid.
	Of uint64
}

// States of operations.
const (
	Begun  = "begun"
	Done   = "done"
	Failed = "failed"
	Undone = "undone"
)

// Kinds of operations.
const (
	OpRestore = "restore"
	OpBranch  = "branch"
	OpUndo    = "undo"
)

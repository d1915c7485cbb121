package timeline

import (
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
)

// Session is a span of work in a workspace. A workspace has at most one that is open.
type Session struct {
	// ID names the session on this machine.
	ID string
	// Workspace is the directory, absolute and without links.
	Workspace string
	Started   time.Time
	// Ended is zero while the session is open.
	Ended time.Time
	// Name is that of a branch, "" for other sessions.
	Name string
	// BranchOf is where a branch comes from, nil for other sessions.
	BranchOf *BranchOf
	// Message is what the user wants the agent of a branch to do.
	Message string

	// Space is the ID of the workspace, by which its moments are stored.
	Space string `msgpack:"-"`
}

// About describes a session in answers.
type About struct {
	ID        string    `json:"sessionId"`
	Workspace string    `json:"workspace"`
	Started   diff.Time `json:"startedAt"`
	// Ended is nil while the session is open.
	Ended *diff.Time `json:"endedAt,omitempty"`
	// DurationSec is how long the session has lasted, in seconds.
	DurationSec float64   `json:"durationSec"`
	Name        string    `json:"name,omitempty"`
	BranchOf    *BranchOf `json:"sessionBranchOf,omitempty"`
	Message     string    `json:"injectedMessage,omitempty"`
}

// about describes a session at a time.
func (s *Session) about(now time.Time) About {
	a := About{ID: s.ID, Workspace: s.Workspace, Started: diff.Time{Time: s.Started}, Name: s.Name, BranchOf: s.BranchOf, Message: s.Message}
	if !s.Ended.IsZero() {
		now = s.Ended
		a.Ended = &diff.Time{Time: now}
	}
	a.DurationSec = seconds(s, now)
	return a
}

// BranchOf is the origin of a branch.
type BranchOf struct {
	Session    string `json:"sessionId"`
	Moment     string `json:"momentId,omitempty"`
	FsSnapshot string `json:"fsSnapshotId"`
}

// Anchor is a place in an agent's conversation.
type Anchor struct {
	Agent   string `json:"agent"`
	Session string `json:"sessionId"`
	Message string `json:"messageId,omitempty"`
	Turn    string `json:"turnId,omitempty"`
}

// Moment is a labelled point in a session.
type Moment struct {
	Number  uint64
	Session string
	At      time.Time
	Label   string
	Kind    string
	Source  string
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

// Package records has what a timeline keeps: sessions, moments and operations, and the file that they are in.
//
// It guarantees: what was written survives the end of the process and a loss of power. A record that is damaged or missing is found
// when the file is opened, by checksums. What is whole is still there, and a copy of the damaged file is kept and named. A file that
// cannot be read at all is set aside. One of a format that this program does not know is left as it is.
package records

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
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
	FromTerminal   = "terminal"   // a command ended in a recorded terminal
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

// Kinds returns the kinds and the sources of moments, by which lists are limited.
func Kinds() []string {
	return append([]string{
		Manual, Auto, FromStart, FromPrompt, FromEdit, FromCommand, FromStop, FromCheckpoint, FromFiles, FromRestore, FromBranch, FromUser,
		FromAgent, FromTerminal, FromProvider,
	}, Milestones()...)
}

// Milestones returns the names of the milestones, sorted.
func Milestones() []string { return slices.Sorted(maps.Keys(milestones)) }

// Milestone returns the usual label of a milestone. ok is false for another kind.
func Milestone(kind string) (label string, ok bool) {
	label, ok = milestones[kind]
	return label, ok
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
	// Formerly are the directories in which the workspace was before it was moved. What else was recorded of the session
	// then, such as conversations, names them.
	Formerly []string `msgpack:",omitempty"`
	// Agent is that of a branch, nil where none was to be started.
	Agent *Agent
	// Removed is true for a branch that was removed while it had branches.
	Removed bool `msgpack:",omitempty"`

	// Space is the ID of the workspace, by which its moments are stored.
	Space string `msgpack:"-"`
}

// BranchOf is the origin of a branch.
type BranchOf struct{ Session, Moment, FsSnapshot string }

// Agent is the agent that works in a branch.
type Agent struct {
	// Name is the program, such as claude. Method is how its conversation was continued, and Why says why it was not copied.
	Name, Method, Why string
	// Conversation is the agent's ID of it, Home the directory of the agent's settings, Mode its permission mode; "" where they
	// are not known. Dir is where the agent runs.
	Conversation, Home, Mode, Dir string
	// Record is a file from which the agent takes the conversation when it is started, "" where it has that itself.
	Record string `msgpack:",omitempty"`
	// Ports is what is added to the ports of the original.
	Ports int
	// Text is the message with the line about the moment, for an agent that is started later.
	Text string
	// PID is the agent's process, 0 where none was started. Terminal is its tmux window, Log the file of its output.
	PID           int
	Terminal, Log string
	// Ended is when the process ended, and Outcome how: "exit status 1", "signal: killed". They are zero while it runs, and where
	// Tidemark did not wait for it.
	Ended   time.Time `msgpack:",omitempty"`
	Outcome string    `msgpack:",omitempty"`
	// At is the path at which it sees the branch, "" for the branch's own one. AtWhy says why that is not the path of the original,
	// "" where nobody asked for that.
	At    string `msgpack:",omitempty"`
	AtWhy string `msgpack:",omitempty"`
	// Tab says that it was started in a terminal that the user's command opened, or in which the user opened the branch.
	Tab bool `msgpack:",omitempty"`
	// Starting says that its start has begun. It remains where the daemon ended before it kept the outcome.
	Starting bool `msgpack:",omitempty"`
}

// Anchor is a place in an agent's conversation. Transcript is the path of the agent's own record of it.
type Anchor struct{ Agent, Session, Message, Turn, Transcript string }

// Terminal is a place in the recording of a terminal: the end of a command, or what an agent did there.
type Terminal struct {
	// Recording is the ID of the recording. Offset counts its bytes of output before the command, or before what the agent did.
	Recording string
	Offset    uint64
	// Status is the exit status, nil where the shell did not report one. Ms is how long it took, in milliseconds.
	Status *int
	Ms     int64
	// Cwd is the directory in which it began, "" where an earlier version recorded it.
	Cwd string
	// Command is the command line, "" where the label begins with it.
	Command string `msgpack:",omitempty"`
}

// Number returns the number of a session. Later sessions have larger ones.
func (s *Session) Number() uint64 {
	n, _ := strconv.ParseUint(s.ID[strings.LastIndexByte(s.ID, '-')+1:], 10, 63)
	return n
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
	// Exit is the exit status of an agent's command, nil where the agent does not report one.
	Exit *int `msgpack:",omitempty"`
	// Terminal is the command of a recorded terminal that the moment is of, or where an agent did it.
	Terminal *Terminal
	Notes    string

	// Edited is when the first file was written of which the snapshot has the change, zero where that is not known. It means
	// something for the first moment with the snapshot.
	Edited time.Time `msgpack:",omitempty"`

	// Event tells the hook's event, or the request, that the moment is of from others. "" is none.
	Event string `msgpack:",omitempty"`

	// Ran is how long the machine had run, suspension included, by the process that added it. It is not stored.
	Ran time.Duration `msgpack:"-"`

	// Placing means that the place in the recording of a terminal is not known yet. It is not stored.
	Placing bool `msgpack:"-"`
}

// Operation is a change that can be undone: a restore or a branch.
type Operation struct {
	Number  uint64
	At      time.Time
	Session string
	// Kind is restore, branch, undo, apply or commit. State is begun, done, failed or undone.
	Kind, State string
	// What describes it in a few words.
	What string
	// Target is the snapshot that was restored or branched from. Safety and After are those before and after a restore.
	Target, Safety, After uint64
	// Paths are those that were restored; none means everything.
	Paths []string
	// Wrote identifies what was written to the paths of an apply, which ends what a kill interrupted.
	Wrote map[string]string `msgpack:",omitempty"`
	// Differs are the paths that were not set back when it failed or was interrupted, with the reasons, one line each.
	Differs []string `msgpack:",omitempty"`
	// Branch is the session of a branch, Dir its directory. Of an apply, Branch is what was applied.
	Branch, Dir string
	// Copy is the file of a branch's conversation, which is removed where the branch was interrupted.
	Copy string `msgpack:",omitempty"`
	// Of is the operation that an undo undid.
	Of uint64
	// Was is the session of a branch that an undo removes, Kept the snapshot of its files in its own workspace. Of an apply, Kept is
	// that of the branch.
	Was  *Session `msgpack:",omitempty"`
	Kept uint64   `msgpack:",omitempty"`
	// Ref is the branch in Git that a commit made, Commit its commit.
	Ref    string `msgpack:",omitempty"`
	Commit string `msgpack:",omitempty"`
	// Call is the ID of the request that it was for, "" where that had none. A program repeats a request that was not answered.
	Call string `msgpack:",omitempty"`
	// Answer is the answer to that request, as JSON, without what the operation says. It is empty where that is all.
	Answer []byte `msgpack:",omitempty"`
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
	OpRemove  = "remove" // a branch was removed
	OpApply   = "apply"  // changes of a branch were merged into the original
	OpCommit  = "commit" // a branch was committed to Git
)

// SnapshotID returns the ID of a file snapshot.
func SnapshotID(n uint64) string { return "s" + strconv.FormatUint(n, 10) }

// Number returns the number of an ID that begins with a letter, such as m12. A number has one form: m012 is none.
func Number(id string, letter byte) (uint64, bool) {
	rest, ok := strings.CutPrefix(id, string(letter))
	if !ok || strings.HasPrefix(rest, "0") {
		return 0, false
	}
	n, err := strconv.ParseUint(rest, 10, 63)
	return n, err == nil && n > 0
}

// ID returns the ID of a moment.
func (m *Moment) ID() string { return fmt.Sprintf("m%d", m.Number) }

// Elapsed is how long a session had lasted at the moment.
func (m *Moment) Elapsed(s *Session) time.Duration { return m.At.Sub(s.Started) + m.Shift }

// With returns a changed copy of the moment.
func (m *Moment) With(change func(*Moment)) *Moment {
	changed := *m
	change(&changed)
	return &changed
}

// ID returns the ID of an operation.
func (o *Operation) ID() string { return fmt.Sprintf("op%d", o.Number) }

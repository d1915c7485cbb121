// Package answers has the answers about sessions, moments, file snapshots and branches, as data.
package answers

import (
	"tidemark.dev/tidemark/host/internal/fence"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/workspace"
	"tidemark.dev/tidemark/host/internal/workspace/compare"
)

// extension/timeline.ts is generated from this file.

// About describes a session in answers.
type About struct {
	ID        string      `json:"sessionId"`
	Workspace string      `json:"workspace"`
	Started   report.Time `json:"startedAt"`
	// Ended is nil while the session is open.
	Ended *report.Time `json:"endedAt,omitempty"`
	// Latest is the time of the newest moment of an open session, in lists of sessions and branches.
	Latest *report.Time `json:"lastMomentAt,omitempty"`
	// DurationSec is how long the session has lasted, in seconds.
	DurationSec float64   `json:"durationSec"`
	Name        string    `json:"name,omitempty"`
	BranchOf    *BranchOf `json:"sessionBranchOf,omitempty"`
	Message     string    `json:"injectedMessage,omitempty"`
	// Formerly are the workspace's directories before it was moved, which what else was recorded then names.
	Formerly []string `json:"-"`
	// Agent is that of a branch, nil where none was to be started.
	Agent *BranchAgent `json:"agent,omitempty"`
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
	// Transcript is the path of the agent's own record. Hooks name it, lists do not.
	Transcript string `json:"transcript,omitempty"`
}

// Terminal is a place in the recording of a terminal: the end of a command, or what an agent did there. The latter has only the
// recording and the offset.
type Terminal struct {
	// Recording is the ID of the recording. Offset counts its bytes of output before the command, or before what the agent did.
	Recording string `json:"recording"`
	Offset    uint64 `json:"offset"`
	// Status is the exit status, nil where the shell did not report one. Ms is how long it took, in milliseconds.
	Status *int  `json:"exit,omitempty"`
	Ms     int64 `json:"ms"`
	// Cwd is the directory in which it began, "" where an earlier version recorded it.
	Cwd string `json:"cwd,omitempty"`
	// Command is the command line, "" where the label begins with it: a label has one line, and a bounded length.
	Command string `json:"command,omitempty"`
}

// TerminalRecording is what a terminal showed, in the form of the specification.
type TerminalRecording struct {
	// Format is "cast", asciicast, and Version its version at URI, a path of the live API. Its query version=3 asks for that one.
	Format  string `json:"format"`
	Version int    `json:"version"`
	URI     string `json:"uri"`
	// Width and Height are the size of the terminal in cells, when the recording began.
	Width    int  `json:"width"`
	Height   int  `json:"height"`
	HasInput bool `json:"hasInput"`

	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// TS is when it began, in seconds from the session's start, which may be before that. DurationSec is how long it is.
	TS          float64 `json:"ts"`
	DurationSec float64 `json:"durationSec"`
	// Live is the path of what the terminal shows now, as server-sent events for asciinema-player. "" at a recording that ended.
	Live string `json:"liveUri,omitempty"`
	// Interrupted means that it has no end: the recorder was killed, or the file is cut off.
	Interrupted bool `json:"interrupted,omitempty"`
}

// List is a session with its moments and file snapshots, in their order.
type List struct {
	About       `tstype:",extends"`
	Moments     []ListMoment   `json:"moments"`
	FsSnapshots []ListSnapshot `json:"fsSnapshots"`
	// Next is the moment to pass as after for what follows, "" at the end. Omitted counts the moments before the first,
	// which is the one to pass as before for them.
	Next    string `json:"next,omitempty"`
	Omitted int    `json:"omitted,omitempty"`
	// Problem says why it is not known whether the snapshots are still there, or what a restore that failed did not set back.
	Problem string `json:"problem,omitempty"`
	// Taking is a snapshot of the workspace that is being taken: moments that wait for it are not listed yet.
	Taking *Taking `json:"taking,omitempty"`
	// Recording is the newest recording of a terminal, and Recordings are all, by their start. Only the live API has them.
	Recording  *TerminalRecording  `json:"recording,omitempty"`
	Recordings []TerminalRecording `json:"recordings,omitempty"`
	// Cursor is the ID of the last event that the list covers. Only the live API has it.
	Cursor string `json:"cursor,omitempty"`
}

// Taking is how far a snapshot is.
type Taking struct {
	// Since is when it began.
	Since report.Time `json:"since"`
	// Found counts the files and directories that were compared so far. Read counts those that were read of To, which is 0 until all
	// are compared.
	Found int `json:"found"`
	Read  int `json:"read"`
	To    int `json:"to"`
}

// ListMoment is a moment in a list.
type ListMoment struct {
	ID string `json:"id"`
	// TS is the time in seconds from the session's start, At the same in absolute time.
	TS     float64     `json:"ts"`
	At     report.Time `json:"at"`
	Label  string      `json:"label"`
	Kind   string      `json:"kind"`
	Source string      `json:"source"`
	// FsSnapshot is the ID of the file snapshot, or false with the reason.
	FsSnapshot any `json:"fsSnapshot" tstype:"string | false"`
	// Changed counts what changed up to the moment since the snapshot before, 0 where an earlier moment has the same snapshot. Only
	// lists have it.
	Changed int `json:"changed,omitempty"`
	// Severity is that of the browser from the moment to the next one, "" where nothing bad is known of it and it was not
	// fully observed. It is error too while the page is still broken by what appeared earlier. Only lists have it.
	Severity report.Severity `json:"severity,omitempty"`
	// BrokenSince is where the page was still broken, and nothing new went wrong. Only lists have it.
	BrokenSince *Broken `json:"brokenSince,omitempty"`
	// LateSec is how long after the moment its snapshot was complete, where that is long enough for another edit.
	LateSec float64 `json:"lateSec,omitempty"`
	Reason  string  `json:"reason,omitempty"`
	Notes   string  `json:"notes,omitempty"`
	// Event tells the hook's event from others.
	Event  string  `json:"-"`
	Anchor *Anchor `json:"anchor,omitempty"`
	// Exit is the exit status of an agent's command, nil where the agent does not report one.
	Exit *int `json:"exit,omitempty"`
	// Terminal is the command of a recorded terminal after which the moment is. Where the moment has an anchor, it is where the agent
	// did it.
	Terminal *Terminal `json:"terminal,omitempty"`
}

// Broken is when a page broke that still was broken later.
type Broken struct {
	At report.Time `json:"at"`
	// Moment is the ID of the moment after which it broke, "" where that was before the session.
	Moment string `json:"momentId,omitempty"`
}

// ListSnapshot is a file snapshot in a list.
type ListSnapshot struct {
	ID       string      `json:"id"`
	TS       float64     `json:"ts"`
	At       report.Time `json:"at"`
	Label    string      `json:"label"`
	Provider string      `json:"provider"`
	Snapshot Reference   `json:"snapshot"`
	// Files counts the entries, Changed those that changed since the snapshot before.
	Files   int `json:"files"`
	Changed int `json:"changed"`
	// Notes are the paths whose state is not certain.
	Notes []string `json:"notes,omitempty"`
}

// Reference is what a provider calls a snapshot.
type Reference struct {
	ID string `json:"id"`
	// Mount is the read-only directory with its files, "" while there is none. See [Timeline.Seek].
	Mount string `json:"mount,omitempty"`
}

// Sessions are sessions, the newest first.
type Sessions struct {
	Sessions []About `json:"sessions"`
}

// Added is a moment that was added.
type Added struct {
	SessionID  string `json:"sessionId"`
	ListMoment `tstype:",extends"`
	// Fence is the result of the fence command, where that was waited for.
	Fence *fence.Result `json:"fence,omitempty" tstype:"{ state: string; exitCode: number; durationMs: number; message?: string }"`
}

// AddedSnapshot is the snapshot of a moment that was added.
type AddedSnapshot struct {
	SessionID    string `json:"sessionId"`
	Moment       string `json:"momentId"`
	ListSnapshot `tstype:",extends"`
	// Note says how far the snapshot is from the time that was asked for, or that it is an earlier one with another label.
	Note  string        `json:"note,omitempty"`
	Fence *fence.Result `json:"fence,omitempty" tstype:"{ state: string; exitCode: number; durationMs: number; message?: string }"`
}

// SnapshotList are all file snapshots of a workspace, by their number.
type SnapshotList struct {
	SessionID   string         `json:"sessionId"`
	Workspace   string         `json:"workspace"`
	FsSnapshots []KeptSnapshot `json:"fsSnapshots"`
}

// KeptSnapshot is a file snapshot with what refers to it.
type KeptSnapshot struct {
	ListSnapshot `tstype:",extends"`
	// Moments are the moments that have this snapshot.
	Moments []string `json:"moments"`
	// KeptFor is why it is kept longest, "" if it is not.
	KeptFor string `json:"keptFor,omitempty"`
}

// SessionDetail is a session with its timeline.
type SessionDetail struct {
	About `tstype:",extends"`
	// Recording is the newest recording of a terminal.
	Recording *TerminalRecording `json:"recording,omitempty"`
	Timeline  TimelinePart       `json:"sessionTimeline"`
}

// TimelinePart is the timeline of a session.
type TimelinePart struct {
	DurationSec float64        `json:"durationSec"`
	Moments     []ListMoment   `json:"moments"`
	FsSnapshots []ListSnapshot `json:"fsSnapshots"`
}

// Sought is the place that was sought, with a read-only directory of its files.
type Sought struct {
	SessionID string `json:"sessionId"`
	// TS and At are when the snapshot was complete.
	TS         float64     `json:"ts"`
	At         report.Time `json:"at"`
	Moment     string      `json:"moment,omitempty"`
	Label      string      `json:"label,omitempty"`
	FsSnapshot string      `json:"fsSnapshotId"`
	Provider   string      `json:"provider"`
	// Mount is the directory. It is removed an hour after it was last asked for.
	Mount string `json:"mount"`
	// Form says how the directory got its files: mounted, or why not. It is "" for a small copy, and for one of the filesystem.
	Form string `json:"form,omitempty"`
	// Unnamed are the paths that the directory lacks, with the reasons: the system or its filesystem refuses their names, or they could not be
	// read when the snapshot was taken.
	Unnamed []string `json:"unnamed,omitempty"`
	// Problem says that the workspace no longer exists, "" where it does.
	Problem string `json:"problem,omitempty"`
	// Note says how the snapshot differs from what was asked for.
	Note string `json:"note,omitempty"`
	// Notes are the paths whose state is not certain.
	Notes []string `json:"notes,omitempty"`
}

// Branched is a new branch.
type Branched struct {
	About `tstype:",extends"`
	// FsSnapshot is the snapshot that its files are from.
	FsSnapshot string `json:"fsSnapshotId"`
	// Form says how its directory got its files, as in [Sought]. Unnamed are the paths that it lacks, as there.
	Form    string   `json:"form,omitempty"`
	Unnamed []string `json:"unnamed,omitempty"`
	// Operation is the number of the operation, to undo it.
	Operation string `json:"operation"`
	// Note says how the snapshot differs from what was asked for, and which pages the branch has together with its original. Notes are the paths whose state is not certain.
	Note  string   `json:"note,omitempty"`
	Notes []string `json:"notes,omitempty"`
	// Problem says why there is no agent, "" where none was asked for.
	Problem string `json:"problem,omitempty"`
	// Plan is set where nothing was made yet, because the copy takes long: repeat the request with confirm.
	Plan *BranchPlan `json:"plan,omitempty"`
}

// BranchPlan is what the copy for a branch takes.
type BranchPlan struct {
	// Files counts what is copied, Bytes is its size.
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// Seconds is about how long it takes, by a sample that was copied. Why says why files are copied.
	Seconds float64 `json:"seconds"`
	Why     string  `json:"why"`
}

// Created reports whether the branch was made.
func (b *Branched) Created() bool { return b.Plan == nil }

// BranchAgent is the agent of a branch.
type BranchAgent struct {
	Name string `json:"name"`
	// Method is how its conversation was continued: transcript, thread/fork, session/fork, context or fresh. Why says why it was not copied.
	Method string `json:"method"`
	Why    string `json:"why,omitempty"`
	// Conversation is the agent's own ID of its conversation.
	Conversation string `json:"conversationId,omitempty"`
	// Ports is what is added to the ports of the original.
	Ports int `json:"portOffset"`
	// Path is the one at which it sees the branch: that of the original, or the branch's own. PathWhy says why it is the branch's own
	// although that of the original was asked for.
	Path    string `json:"path"`
	PathWhy string `json:"pathWhy,omitempty"`
	// PID is the process that was started, 0 for none. Terminal is its tmux window, Log the file of its output.
	PID      int    `json:"pid,omitempty"`
	Terminal string `json:"terminal,omitempty"`
	Log      string `json:"log,omitempty"`
	// Tab says that it was started in a terminal that the user's command opened.
	Tab bool `json:"tab,omitempty"`
	// Ended is when it ended, and Outcome how, such as "exit status 1". They are missing while it runs, and where they are not known.
	Ended   *report.Time `json:"endedAt,omitempty"`
	Outcome string       `json:"outcome,omitempty"`
	// Problem says why no agent was started, "" if one was.
	Problem string `json:"problem,omitempty"`
}

// Ends is a snapshot that is compared.
type Ends struct {
	FsSnapshot string      `json:"fsSnapshotId"`
	Moment     string      `json:"moment,omitempty"`
	At         report.Time `json:"at"`
	Note       string      `json:"note,omitempty"`
}

// Difference is what changed between two moments.
type Difference struct {
	SessionID string        `json:"sessionId"`
	From      Ends          `json:"from"`
	To        Ends          `json:"to"`
	Files     []FileChanged `json:"files"`
	Added     int           `json:"added"`
	Removed   int           `json:"removed"`
	// Touched counts the paths of which only times, extended attributes or hard links differ. They are not in Files.
	Touched int `json:"touched,omitempty"`
	// Text is a unified diff. Lines that begin with # say what it leaves out.
	Text string `json:"text,omitempty"`
	// Patch is the text byte by byte, where the caller asked for an exact patch. Text is empty then: it would not have bytes
	// that are not UTF-8.
	Patch []byte `json:"patch,omitempty"`
	// LeftOut counts changed lines that are not in the text, Masked secrets that are masked.
	LeftOut int `json:"leftOut,omitempty"`
	Masked  int `json:"masked,omitempty"`
	// Applies is true where the text is a patch.
	Applies bool `json:"applies"`
	// Problem says that the workspace no longer exists, "" where it does.
	Problem string `json:"problem,omitempty"`
}

// FileChanged is a changed file.
type FileChanged struct {
	Path    string       `json:"path"`
	OldPath string       `json:"oldPath,omitempty"`
	Change  compare.Kind `json:"change"`
	// Added and Removed count lines. Counted is false where they are not known.
	Added   int  `json:"added,omitempty"`
	Removed int  `json:"removed,omitempty"`
	Counted bool `json:"counted"`
	// Why says why the file is not in the text.
	Why string `json:"why,omitempty"`
}

// Restored is the plan of a restore, or what was restored.
type Restored struct {
	SessionID string `json:"sessionId"`
	// FsSnapshot is the snapshot that is restored, Safety that of the state before.
	FsSnapshot string `json:"fsSnapshotId"`
	Safety     string `json:"safety"`
	// Done is false for a plan.
	Done bool `json:"done"`
	// Plan names the plan, to confirm it and no other one.
	Plan string `json:"plan,omitempty"`
	// Operation is to undo the restore, "" for a plan or where nothing differed.
	Operation string `json:"operation,omitempty"`
	// Changes counts what is created, replaced, deleted, or given other attributes.
	Changes map[string]int `json:"changes"`
	// Steps are the first of them; Omitted counts the others.
	Steps   []RestoreStep `json:"steps"`
	Omitted int           `json:"omitted,omitempty"`
	// Blocked are the paths that cannot be restored, Differs those that stay different.
	Blocked []string `json:"blocked,omitempty"`
	Differs []string `json:"differs,omitempty"`
	// Exclusions are how the restore changes what later snapshots leave out, nil if it does not.
	Exclusions *workspace.Exclusions `json:"exclusions,omitempty"`
	// Undid is the operation that an undo undid, with what it did. Undoes is the one of a plan.
	Undid  string `json:"undid,omitempty"`
	Undoes string `json:"undoes,omitempty"`
	// Kept is a directory with files that were changed during the restore.
	Kept string `json:"kept,omitempty"`
	Note string `json:"note,omitempty"`
}

// RestoreStep is a path that a restore changes.
type RestoreStep struct {
	Path   string `json:"path"`
	Change string `json:"change"`
}

// Blamed is which moment last changed each line of a file.
type Blamed struct {
	SessionID string       `json:"sessionId"`
	Path      string       `json:"path"`
	Lines     []BlamedLine `json:"lines"`
	// Calls are the agents' calls that changed the lines, where the conversations are recorded.
	Calls []BlamedCall `json:"calls,omitempty"`
	// Stopped says why the search ended before it found the change of all lines.
	Stopped string `json:"stopped,omitempty"`
	// Problem says that the workspace no longer exists, "" where it does.
	Problem string `json:"problem,omitempty"`
}

// BlamedLine is a line, and the moment that changed it.
type BlamedLine struct {
	Line int `json:"line"`
	// Age is changed, before_first or not_searched.
	Age        compare.Age `json:"age" tstype:"string"`
	Moment     string      `json:"moment,omitempty"`
	FsSnapshot string      `json:"fsSnapshotId,omitempty"`
	At         report.Time `json:"at,omitzero"`
	Label      string      `json:"label,omitempty"`
	Text       string      `json:"text"`
}

// BlamedCall is what changed the lines of one snapshot.
type BlamedCall struct {
	Moment     string `json:"moment,omitempty"`
	FsSnapshot string `json:"fsSnapshotId"`
	// Call names the call, or those of which one did it. Prompt is the beginning of the prompt behind it.
	Call   string `json:"call"`
	Prompt string `json:"prompt,omitempty"`
}

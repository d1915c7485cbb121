package protocol

// SessionsParams select sessions.
type SessionsParams struct {
	Workspace string `json:"workspace,omitempty" doc:"Only sessions of the workspace of this directory; empty: of all"`
}

// SessionParams name a session.
type SessionParams struct {
	ID string `json:"id" path:"id"`
}

// SessionTimelineParams select moments of a session.
type SessionTimelineParams struct {
	ID     string   `json:"id" path:"id"`
	Kinds  []string `json:"kinds,omitempty" doc:"Only moments of these kinds or sources, such as manual, edit, prompt, command, checkpoint; empty: all"`
	After  string   `json:"after,omitempty" doc:"Only what follows this moment, such as m12; empty: the newest"`
	Before string   `json:"before,omitempty" doc:"Only the newest of what precedes this moment, such as m12"`
	Limit  int      `json:"limit,omitempty" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of moments"`
}

// MomentAddParams add a moment, or a file snapshot, to a session.
type MomentAddParams struct {
	ID    string   `json:"id" path:"id"`
	TS    *float64 `json:"ts,omitempty" required:"false" minimum:"0" doc:"Seconds from the session's start; absent: now. An earlier time gets the last snapshot at or before it."`
	Label string   `json:"label,omitempty" required:"false" maxLength:"200" doc:"What this moment is, in a few words"`
	Kind  string   `json:"kind,omitempty" required:"false" enum:"manual,provisioned,server_ready,tests_failed,tests_passed" default:"manual" doc:"manual, or a milestone"`
	// WaitFence waits until the fence command has run after the snapshot.
	WaitFence bool `json:"waitFence,omitempty" required:"false" doc:"Wait until the fence command has run after the snapshot, and return its result"`
}

// SeekParams name a place in a session. One of the three is given.
type SeekParams struct {
	ID         string   `json:"id" path:"id"`
	TS         *float64 `json:"ts,omitempty" required:"false" minimum:"0" doc:"Seconds from the session's start: the last snapshot at or before"`
	FsSnapshot string   `json:"fsSnapshotId,omitempty" required:"false" maxLength:"20" doc:"A file snapshot, such as s12"`
	Moment     string   `json:"moment,omitempty" required:"false" maxLength:"100" doc:"A moment (m12), a checkpoint, a time, start or now"`
}

// SessionBranchParams name a branch and where it comes from. One of FromTS, FsSnapshot and Moment is given.
type SessionBranchParams struct {
	ID         string   `json:"id" path:"id"`
	FromTS     *float64 `json:"fromTs,omitempty" required:"false" minimum:"0" doc:"Seconds from the session's start: the last snapshot at or before"`
	FsSnapshot string   `json:"fsSnapshotId,omitempty" required:"false" maxLength:"20" doc:"A file snapshot, such as s12"`
	Moment     string   `json:"moment,omitempty" required:"false" maxLength:"100" doc:"A moment (m12), a checkpoint, a time, start or now"`
	Name       string   `json:"name" maxLength:"50" pattern:"^[a-z0-9][a-z0-9_-]*$" doc:"The name of the branch and of its directory"`
	Message    string   `json:"injectedMessage,omitempty" required:"false" maxLength:"65536" doc:"What the agent of the branch shall do"`
	Agent      string   `json:"agent,omitempty" required:"false" maxLength:"50" doc:"The agent to start with the message, such as claude, or none; by default that of the moment"`
	Confirm    bool     `json:"confirm,omitempty" required:"false" doc:"Start a copy that takes long; without it the answer is its plan"`
}

// SessionCompareParams name a branch and what it is compared with.
type SessionCompareParams struct {
	ID   string `json:"id" path:"id"`
	With string `json:"with,omitempty" maxLength:"100" doc:"The session of another branch of the same workspace; empty: the session that it comes from, since then"`
}

// SessionDiffParams name two moments whose files are compared.
type SessionDiffParams struct {
	ID   string `json:"id" path:"id"`
	From string `json:"from" maxLength:"100" doc:"A moment (m12), a file snapshot (s12), a checkpoint, a time or start"`
	To   string `json:"to,omitempty" maxLength:"100" doc:"The same; empty: now"`
	Path string `json:"path,omitempty" maxLength:"4096" doc:"Only this file or directory, relative to the workspace"`
}

// SessionBlameParams name the lines of a file.
type SessionBlameParams struct {
	ID   string `json:"id" path:"id"`
	Path string `json:"path" maxLength:"4096" doc:"A file, relative to the workspace"`
	Line int    `json:"line,omitempty" minimum:"0" doc:"The first line; 0: the whole file"`
	Last int    `json:"last,omitempty" minimum:"0" doc:"The last line; 0: the first one alone"`
	At   string `json:"at,omitempty" maxLength:"100" doc:"The moment whose file is meant; empty: now"`
}

// SessionCallParams name a call in a recorded conversation.
type SessionCallParams struct {
	Recording string `json:"recording" maxLength:"100" path:"recording"`
	Call      string `json:"call" maxLength:"300" doc:"The agent's ID of the call"`
}

// SessionRegressionParams name the part of a session in which something broke.
type SessionRegressionParams struct {
	ID   string `json:"id" path:"id"`
	From string `json:"from,omitempty" maxLength:"100" doc:"A moment (m12), a file snapshot (s12), a checkpoint, a time or start, at which nothing was broken; empty: start"`
	To   string `json:"to,omitempty" maxLength:"100" doc:"The same; empty: now"`
}

// SessionRestoreParams name the moment whose files are restored.
type SessionRestoreParams struct {
	ID     string   `json:"id" path:"id"`
	Moment string   `json:"moment" maxLength:"100" doc:"A moment (m12), a file snapshot (s12), a checkpoint, a time or start"`
	Paths  []string `json:"paths,omitempty" required:"false" maxItems:"1000" doc:"Only these; empty: the whole workspace"`
	// Confirm restores. Without it the answer is the plan.
	Confirm bool `json:"confirm,omitempty" required:"false" doc:"Restore; without it the answer is the plan"`
	// Plan is the name of the plan that is confirmed.
	Plan string `json:"plan,omitempty" required:"false" maxLength:"20" doc:"The plan to confirm; if the files changed since, the answer is the present plan"`
	// Leave leaves out the paths that cannot be restored. Without it they prevent the restore.
	Leave bool `json:"leave,omitempty" required:"false" doc:"Leave paths that cannot be restored; without it they prevent the restore"`
}

// SessionUndoParams name an operation to undo.
type SessionUndoParams struct {
	ID        string `json:"id" path:"id"`
	Operation string `json:"operation" maxLength:"20" doc:"As in the answer that made it, such as op3"`
	// Leave is that of [SessionRestoreParams].
	Leave bool `json:"leave,omitempty" required:"false" doc:"Leave paths that cannot be restored; without it they prevent the undo"`
}

// PopupMomentParams add a moment in all open workspaces.
type PopupMomentParams struct {
	_     struct{} `additionalProperties:"false"`
	Label string   `json:"label" maxLength:"200" doc:"What this moment is, in a few words"`
}

// PopupMomentResult is what was added.
type PopupMomentResult struct {
	Moments []PopupMoment `json:"moments"`
}

// PopupMoment is a moment of a workspace.
type PopupMoment struct {
	ID        string `json:"id"`
	Session   string `json:"sessionId"`
	Workspace string `json:"workspace"`
	// Reason is why it has no file snapshot, empty if it has one.
	Reason string `json:"reason,omitempty"`
}

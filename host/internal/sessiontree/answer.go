package sessiontree

import (
	"time"

	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/tool"
)

// Tree is a session as prompts with what followed.
type Tree struct {
	tool.Quotes   `tstype:",extends"`
	answers.About `tstype:",extends"`
	Turns         []*Turn `json:"turns" tstype:"Turn[]"`
	// Omitted counts the older calls that are left out.
	Omitted int `json:"omitted,omitempty"`
	// Files are the changes that no call is known to have made.
	Files []File `json:"files,omitempty"`
	// Recordings are the conversations that the tree is made of, with what of them was not observed.
	Recordings []Recording `json:"recordings,omitempty"`
	// Note says what is missing, "" for nothing.
	Note string `json:"note,omitempty"`
}

// Recording is a recorded conversation of the session.
type Recording struct {
	ID       string                      `json:"id"`
	Agent    string                      `json:"agent"`
	Coverage conversation.SourceCoverage `json:"coverage"`
}

// Turn is a prompt with the calls that followed.
type Turn struct {
	Agent string `json:"agent,omitempty"`
	// Recording is the ID of the recorded conversation, "" for none.
	Recording string      `json:"recording,omitempty"`
	At        report.Time `json:"at"`
	// Prompt is the text, "" where the conversation is not recorded. Moment is its moment, "" for none.
	Prompt string       `json:"prompt,omitempty"`
	Moment string       `json:"momentId,omitempty"`
	Ended  *report.Time `json:"endedAt,omitempty"`
	Said   string       `json:"said,omitempty"`
	Calls  []*Call      `json:"calls" tstype:"Call[]"`

	id, event, session string
}

// Call is a call of a tool, or a moment of an agent whose conversation is not recorded.
type Call struct {
	ID    string      `json:"callId,omitempty"`
	Title string      `json:"title"`
	At    report.Time `json:"at"`
	// DurationMs, Outcome and Source are those of the recorded call.
	DurationMs int    `json:"durationMs,omitempty"`
	Outcome    string `json:"outcome,omitempty"`
	Source     string `json:"source,omitempty"`
	Moment     string `json:"momentId,omitempty"`
	// Files are the files that it changed.
	Files []File `json:"files,omitempty"`
	// Severity is that of what the browser reported from the beginning of the call, or from when its first file was written if
	// that was before, to the same time of the next call that changed files. It is "" where the call changed none. Summary is
	// not given for clean.
	Severity report.Severity `json:"severity,omitempty"`
	Summary  string          `json:"summary,omitempty"`
	Calls    []*Call         `json:"calls,omitempty" tstype:"Call[]"`

	ended time.Time
	// edited is when the first of its files was written, zero where that is not known. The hook of a call may come later than
	// the call took, and what it broke be older than its beginning then.
	edited time.Time
}

// File is a change of a file.
type File struct {
	Path string `json:"path"`
	// From is the path that a renamed file had before.
	From    string `json:"from,omitempty"`
	Change  string `json:"change"`
	Added   int    `json:"added,omitempty"`
	Removed int    `json:"removed,omitempty"`
	// FsSnapshot is the first file snapshot with the change. Since is when the last look that did not find it began, nil where
	// that is not known.
	FsSnapshot string       `json:"fsSnapshotId,omitempty"`
	Since      *report.Time `json:"since,omitempty"`
	// OneOf are the calls of which one made the change, where it is not known which.
	OneOf []string `json:"oneOf,omitempty"`
}

// Content is what a recorded call was given and returned, as JSON. Both are "" where they are not recorded.
type Content struct {
	Input  string `json:"input,omitempty"`
	Output string `json:"output,omitempty"`
}

package regression

import (
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/tool"
)

// The answer of find_regression. extension/regression.ts is generated from this file.

// Regression is what broke, and when.
type Regression struct {
	tool.Quotes `tstype:",extends"`
	SessionID   string `json:"sessionId"`
	// Verdict is [Found], [Unknown] or [Clean].
	Verdict string `json:"verdict"`
	// Reason says why the verdict is not found, Note what was not observed.
	Reason string `json:"reason,omitempty"`
	Note   string `json:"note,omitempty"`
	// Moment is the first one after which it was broken, Label what happened there. Before is the snapshot before, to
	// which `timeline_restore` goes back.
	Moment string `json:"moment,omitempty"`
	Label  string `json:"label,omitempty"`
	Before string `json:"before,omitempty"`
	// Problem is the first error.
	Problem      *FirstError         `json:"problem,omitempty"`
	IntroducedBy *report.Introduced  `json:"introduced_by,omitempty"`
	Runs         []Run               `json:"runs,omitempty"`
	Diff         *answers.Difference `json:"diff,omitempty"`
}

// FirstError is an error of a page. Source ends in "(generated)" where it is a line of generated code.
type FirstError struct {
	At      report.Time `json:"at"`
	Message string      `json:"message"`
	Source  string      `json:"source,omitempty"`
}

// Run is a run of a command with the files of a moment.
type Run struct {
	Moment string `json:"moment"`
	// Exit is the exit code, -1 for a command that did not end in time.
	Exit int `json:"exit"`
	// Output is the end of what a command wrote that failed.
	Output string `json:"output,omitempty"`
}

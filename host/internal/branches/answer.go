package branches

import (
	"tidemark.dev/tidemark/host/internal/fork"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/internal/tool"
)

// The answer of branch_compare. extension/branches.ts is generated from this file.

// Comparison shows two sessions side by side.
type Comparison struct {
	tool.Quotes `tstype:",extends"`
	A           Side `json:"a"`
	B           Side `json:"b"`
	// Same are the paths that both changed, to the same content or not; Different those of them that differ now.
	Same      []string `json:"changedByBoth"`
	Different []string `json:"different"`
}

// Side is what became of a session.
type Side struct {
	answers.About `tstype:",extends"`
	// Severity is that of the browser at the end, "" where it is not known.
	Severity report.Severity `json:"severity,omitempty"`
	// Browser is what it reported since the moment of the branch, nil where nothing is observed.
	Browser *report.Report `json:"browser,omitempty"`
	// Tokens are those of the agent's model, nil where they are not known.
	Tokens *fork.Tokens `json:"tokens,omitempty"`
	// Files are the changed ones, Added and Removed their lines. FilesProblem says why they are not known, "" where they are.
	Files        []string `json:"files"`
	Added        int      `json:"added"`
	Removed      int      `json:"removed"`
	FilesProblem string   `json:"filesProblem,omitempty"`
	// Calls counts the calls of the agent, Failed those that failed. Tests are the runs of tests.
	Calls  int       `json:"calls"`
	Failed int       `json:"failedCalls"`
	Tests  []TestRun `json:"tests"`
	// First is what happened first, "" for nothing.
	First string `json:"first,omitempty"`
	// WorkedSec is the time from the branch's moment to the last one, in seconds.
	WorkedSec float64 `json:"workedSec"`
}

// TestRun is a run of tests.
type TestRun struct {
	At     report.Time `json:"at"`
	Label  string      `json:"label"`
	Passed bool        `json:"passed"`
	// Exit is the exit status, nil where the agent does not report one.
	Exit *int `json:"exit,omitempty"`
}

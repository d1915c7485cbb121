package report

import (
	"fmt"

	"tidemark.dev/tidemark/host/internal/event"
)

// Introduced is the change of a file after which something first appeared.
type Introduced struct {
	// Path is relative to the workspace. Line is 0 where the evidence is about no line.
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
	// Moment is the moment of the change, or its file snapshot if it has no moment. A reader without a workspace gets it with
	// its session, as in m3@shop-1.
	Moment string `json:"moment"`
	// Evidence is stack, hot_update or order, the strongest first.
	Evidence []string `json:"evidence"`
	// Call is the agent's call that made the change, "one of" several where that is not known. Prompt is the beginning of the
	// prompt behind it. Both are "" where the conversation is not recorded.
	Call   string `json:"call,omitempty"`
	Prompt string `json:"prompt,omitempty"`
}

// String returns the change in a few words: "after src/App.jsx:12 (m14)". It is "" for nil.
func (i *Introduced) String() string {
	switch {
	case i == nil:
		return ""
	case i.Line > 0:
		return fmt.Sprintf("after %s:%d (%s)", i.Path, i.Line, i.Moment)
	}
	return fmt.Sprintf("after %s (%s)", i.Path, i.Moment)
}

// Located is an error that an earlier answer showed at a generated line, and its place in the project's files.
type Located struct {
	Message string `json:"message"`
	Source  string `json:"source"`
}

// NewLocated returns an error with its place.
func NewLocated(e *event.Console, p Place) Located {
	return Located{Message: RepeatedText(MessageText(e)), Source: PlaceName(p)}
}

// Locate adds the places of errors of earlier answers to a report.
func (r *Report) Locate(found []Located) {
	if r.Located = found; len(found) > 0 {
		r.PageText = Untrusted
	}
}

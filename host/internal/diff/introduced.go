package diff

import (
	"fmt"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/flash"
)

// Introduced is the change of a file after which something first appeared.
type Introduced struct {
	// Path is relative to the workspace. Line is 0 where the evidence is about no line.
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
	// Moment is the moment of the change, or its file snapshot if it has no moment.
	Moment string `json:"moment"`
	// Evidence is stack, hot_update or order, the strongest first.
	Evidence []string `json:"evidence"`
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

// maxIntroduced bounds the entries of one list of which the change is looked for.
const maxIntroduced = 10

// appeared is an error element as it appeared.
func appeared(k capture.ElementKey, l flash.Life) event.Event {
	return &capture.Change{Head: event.Head{At: l.From, Subject: event.InTab(k.Tab, k.Origin)}, Op: "appeared", Element: k}
}

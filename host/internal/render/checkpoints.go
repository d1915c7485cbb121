package render

import (
	"fmt"
	"io"
	"strings"

	"tidemark.dev/tidemark/host/internal/report"
)

// Checkpoint is a line of [MarkdownCheckpoints].
type Checkpoint struct {
	Name     string
	At       report.Time
	Severity report.Severity
	// Summary explains a severity that is not clean.
	Summary, Note, Scope string
}

// MarkdownCheckpoints writes the checkpoints as a timeline, oldest first, each with the severity since the previous one.
// Times are UTC.
func MarkdownCheckpoints(w io.Writer, list []Checkpoint) error {
	var b strings.Builder
	b.WriteString("## Checkpoints\n\n")
	for _, c := range list {
		mark, how, what := standing(c.Severity, c.Summary)
		fmt.Fprintf(&b, "- %s %s → %s %s", c.At.UTC().Format("2006-01-02 15:04:05"), code(c.Name), mark, how)
		for _, more := range []string{what, c.Note} {
			if more != "" {
				b.WriteString(", " + escape(more))
			}
		}
		if c.Scope != "" {
			b.WriteString(" (" + escape(c.Scope) + ")")
		}
		b.WriteString("\n")
	}
	if len(list) == 0 {
		b.WriteString("None yet.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

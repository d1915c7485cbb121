package edited

import (
	"tidemark.dev/tidemark/host/internal/cause"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
)

// Edits tell which changes of files broke a page.
type Edits struct {
	// Update returns what an entry says of an update of the page, "" for nothing. Nil means that no causes are looked for.
	Update func(event.Event) string
	// Name names the moment of a change, for a reader who is in its workspace or not, and what made it.
	Name func(change *event.FileChange, inWorkspace bool, i *report.Introduced)
	// Known is that of [cause.Finder].
	cause.Known
	Made func() func(change *event.FileChange) (call, prompt string) // it returns that of [window.Options], nil where no call is known
}

// Introduced describes a cause, nil for none.
func (c *Edits) Introduced(found *cause.Cause, inWorkspace bool) *report.Introduced {
	if found == nil {
		return nil
	}
	i := &report.Introduced{Path: found.Path, Line: found.Line}
	c.Name(found.FileChange, inWorkspace, i)
	for _, e := range found.Evidence {
		i.Evidence = append(i.Evidence, string(e))
	}
	return i
}

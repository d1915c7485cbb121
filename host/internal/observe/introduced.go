package observe

import (
	"slices"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/cause"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/stacks"
	"tidemark.dev/tidemark/host/internal/window"
)

// Edits tell which changes of files broke a page.
type Edits struct {
	// Update returns what an entry says of an update of the page, "" for nothing. Nil means that no causes are looked for.
	Update func(event.Event) string
	// Name names the moment of a change, for a reader who is in its workspace or not, and what made it.
	Name func(change *event.FileChange, inWorkspace bool, i *report.Introduced)
	// Elsewhere is that of [cause.Finder].
	Elsewhere func(change *event.FileChange, origin string, files []string) bool
	Made      func() func(change *event.FileChange) (call, prompt string) // it returns that of [window.Options], nil where no call is known
}

// introduced returns what finds the change of a workspace after which an entry first appeared. What it needs of the buffers is read
// for the first entry.
func (p *Places) introduced(o window.Options, workspace string, inWorkspace bool) func(event.Event) *report.Introduced {
	if p == nil || p.edits.Update == nil {
		return nil
	}
	o.Tab, o.Workspace = 0, workspace // files are in no tab
	var past *cause.Past
	return func(e event.Event) *report.Introduced {
		if past == nil {
			past = cause.Read(p.v, capture.Positions{}, o.InScope, p.edits.Update)
			past.Elsewhere, past.Frames = p.edits.Elsewhere, p.Asked
		}
		if len(past.Edits) == 0 {
			return nil
		}
		found, _ := past.Of(p.Symptom(past, e))
		return p.edits.Introduced(found, inWorkspace)
	}
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

// Symptom describes an entry for package cause.
func (p *Places) Symptom(past *cause.Past, e event.Event) cause.Symptom {
	switch e := e.(type) {
	case *event.Console:
		return past.OfMessage(e, p.frames(e.Tab(), e.At, append([]stacks.Frame{stacks.Top(e)}, stacks.ParseAll(e.Stack)...)))
	case *event.Network:
		return past.OfRequest(e, p.Asked(e))
	case *event.WebSocket:
		return past.OfSocket(e, p.frames(e.Tab(), e.At, stacks.ParseAll(e.Stack)))
	case *capture.Change:
		return past.OfElement(e)
	}
	h := e.Header()
	return cause.Symptom{Tab: h.Tab(), At: h.At}
}

// Asked returns the frames of the project's own code that made a request.
func (p *Places) Asked(e *event.Network) []cause.Frame {
	return p.frames(e.Tab(), max(e.Started, 1), stacks.ParseAll(e.Stack))
}

// frames returns those of frames that are in the project's own code, by their original places, where these are known.
func (p *Places) frames(tab int, at int64, frames []stacks.Frame) (own []cause.Frame) {
	for _, f := range frames {
		if stacks.IsLibrary(f.URL) {
			continue
		}
		place := cause.Frame{File: f.URL, Line: f.Line}
		if pos, ok := p.findAt(tab, at, f); ok {
			if pos.Ignored || stacks.IsLibrary(pos.Source) {
				continue
			}
			place = cause.Frame{File: pos.Source, Line: pos.Line}
		} else if p.Generated(tab, f) {
			continue
		}
		if !slices.Contains(own, place) {
			own = append(own, place)
		}
	}
	return own
}

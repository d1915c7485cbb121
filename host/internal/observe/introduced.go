package observe

import (
	"slices"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/cause"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/observe/edited"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/stacks"
	"tidemark.dev/tidemark/host/internal/window"
)

// Edits tell which changes of files broke a page.
type Edits = edited.Edits

// introduced returns what finds the change of a workspace after which an entry first appeared, and what reports whether such a change
// brought one back. What they need of the buffers is read for the first entry. They are nil where no change is known.
func (p *Places) introduced(o window.Options, workspace string, inWorkspace bool) (introduced func(event.Event) *report.Introduced, returned func(event.Event) bool) {
	if p == nil || p.edits.Update == nil || p.v.Files().Len() == 0 {
		return nil, nil
	}
	o.Tab, o.Workspace = 0, workspace // files are in no tab
	var past *cause.Past
	read := func() *cause.Past {
		if past == nil {
			past = cause.Read(p.v, capture.Positions{}, o.InScope, p.edits.Update)
			past.Known, past.Frames = p.edits.Known, p.Asked
		}
		return past
	}
	introduced = func(e event.Event) *report.Introduced {
		if len(read().Edits) == 0 {
			return nil
		}
		found, _ := past.Of(p.Symptom(past, e))
		return p.edits.Introduced(found, inWorkspace)
	}
	var occurred edited.Occurred
	return introduced, func(e event.Event) bool {
		return !occurred.SinceEdit(p.v, o.InScope, e) && len(read().Edits) > 0 && past.Returned(p.Symptom(past, e)) != nil
	}
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
		place := cause.Frame{File: f.URL, Line: f.Line, Column: f.Column}
		if pos, ok := p.findAt(tab, at, f); ok {
			if pos.Ignored || stacks.IsLibrary(pos.Source) {
				continue
			}
			place = cause.Frame{File: pos.Source, Line: pos.Line, Column: pos.Column}
		} else if p.Generated(tab, f) {
			continue
		}
		if !slices.Contains(own, place) {
			own = append(own, place)
		}
	}
	return own
}

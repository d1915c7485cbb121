package observe

import (
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/sourcemap"
	"tidemark.dev/tidemark/host/internal/stacks"
)

// Logged returns where an error was logged that came from another place, for package diff. It returns false unless that
// is the project's own code, as far as is known.
func (p *Places) Logged(c *event.Console) (diff.Place, bool) {
	f, ok := stacks.Parse(c.Logged)
	if !ok || p == nil {
		return diff.Place{File: f.URL, Line: f.Line}, ok && !ofLibrary(f, sourcemap.Position{}, false)
	}
	if pos, found := p.find(c, f); found {
		return diff.Place{File: pos.Source, Line: pos.Line, Shared: pos.Shared}, !ofLibrary(f, pos, true)
	}
	return diff.Place{File: f.URL, Line: f.Line}, !ofLibrary(f, sourcemap.Position{}, false) && !p.Generated(c.Tab(), f)
}

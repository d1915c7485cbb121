package checkpoint

import (
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// Scope limits what a client receives.
type Scope struct {
	// Origins are those of the pages. None means no limit.
	Origins []string
	// Workspace is the absolute path of the directory that the client works in. "" means no limit, or no workspace if there
	// are origins. Only files in it can be uploaded.
	Workspace string
}

// Key names the origins; "" is everything.
func (s Scope) Key() string { return strings.Join(s.Origins, " ") }

// scopeOfKey is the scope that a key names.
func scopeOfKey(key string) Scope { return Scope{Origins: strings.Fields(key)} }

// Covers reports whether a subject is in the scope: a tab by its page, everything else by its workspace.
func (s Scope) Covers(subject event.Subject) bool {
	return subject.InScope(s.Origins, s.Workspace)
}

// CoversOrigin reports whether pages of this origin are in the scope.
func (s Scope) CoversOrigin(origin string) bool {
	return len(s.Origins) == 0 || slices.Contains(s.Origins, origin)
}

// MayOpen returns an error if pages of this origin are not in the scope, so that a client may not open them.
func (s Scope) MayOpen(origin string) error {
	if s.CoversOrigin(origin) {
		return nil
	}
	return usererr.Invalid("this client sees only %s, so it cannot open %s", strings.Join(s.Origins, ", "), origin)
}

// NewScope makes a scope of addresses of which only the origins count: http://localhost:5173 or
// localhost:5173.
func NewScope(addresses []string) (Scope, error) {
	var s Scope
	for _, a := range addresses {
		origin, err := event.ParseOrigin(a)
		if err != nil {
			return Scope{}, err
		}
		if !slices.Contains(s.Origins, origin) {
			s.Origins = append(s.Origins, origin)
		}
	}
	slices.Sort(s.Origins)
	return s, nil
}

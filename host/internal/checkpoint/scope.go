package checkpoint

import (
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
)

// Scope limits a client to pages of these origins. None means no limit.
type Scope struct{ Origins []string }

// Key names the scope; "" is everything.
func (s Scope) Key() string { return strings.Join(s.Origins, " ") }

// scopeOfKey is the scope that a key names.
func scopeOfKey(key string) Scope { return Scope{Origins: strings.Fields(key)} }

// Covers reports whether pages of this origin are in the scope.
func (s Scope) Covers(origin string) bool {
	return len(s.Origins) == 0 || slices.Contains(s.Origins, origin)
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

package checkpoint

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Scope is what a client hears of: pages of these origins; none means everything.
type Scope struct{ Origins []string }

// Key names the scope; "" is everything.
func (s Scope) Key() string { return strings.Join(s.Origins, " ") }

// scopeOfKey is the scope that a key names.
func scopeOfKey(key string) Scope { return Scope{Origins: strings.Fields(key)} }

// Covers says whether pages of this origin are in the scope.
func (s Scope) Covers(origin string) bool {
	return len(s.Origins) == 0 || slices.Contains(s.Origins, origin)
}

// NewScope makes a scope of addresses of which only the origins count: http://localhost:5173 or
// localhost:5173.
func NewScope(addresses []string) (Scope, error) {
	var s Scope
	for _, a := range addresses {
		raw := strings.TrimSpace(a)
		if !strings.Contains(raw, "://") {
			raw = "http://" + raw
		}
		u, err := url.Parse(raw)
		if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
			return Scope{}, fmt.Errorf("%q is no origin; write it like http://localhost:5173", a)
		}
		host := strings.ToLower(u.Host)
		if u.Scheme == "http" {
			host = strings.TrimSuffix(host, ":80")
		} else {
			host = strings.TrimSuffix(host, ":443")
		}
		if origin := u.Scheme + "://" + host; !slices.Contains(s.Origins, origin) {
			s.Origins = append(s.Origins, origin)
		}
	}
	slices.Sort(s.Origins)
	return s, nil
}

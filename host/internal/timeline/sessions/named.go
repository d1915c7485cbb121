package sessions

import (
	"strings"

	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// Cut cuts the session off a moment or a time that names one, as in m3@shop-1 or 10:31:42@shop-1. Session is "" for one that
// does not. The name of a checkpoint, which no digit begins, may have an @ itself.
func Cut(moment string) (bare, session string) {
	bare, session, _ = strings.Cut(moment, "@")
	if bare != "" && strings.Contains("+0123456789", bare[:1]) {
		return bare, session
	}
	if number := strings.TrimLeft(bare, "ms"); len(bare) != len(number)+1 || number == "" || strings.Trim(number, "0123456789") != "" {
		return moment, ""
	}
	return bare, session
}

// Named cuts the sessions off moments, and returns the one that they name: session if they name none. All must be of one
// workspace, because their numbers count in it. find returns a session by its ID, or why it may not be used.
func Named(find func(id string) (*records.Session, error), session string, moments ...*string) (string, error) {
	for _, m := range moments {
		bare, of := Cut(*m)
		if of == "" {
			continue
		}
		named, err := find(of)
		if err != nil {
			return "", err
		}
		if session == "" {
			session = of
		}
		s, err := find(session)
		if err != nil {
			return "", err
		}
		if s.Workspace != named.Workspace {
			return "", usererr.Invalid("%s is a moment of %s, and session %s is of %s. Name moments of one workspace.", *m, named.Workspace, s.ID, s.Workspace)
		}
		*m = bare
	}
	return session, nil
}

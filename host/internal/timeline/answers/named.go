package answers

import (
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// Named returns the index of the branch with an ID, a directory, or else a name that no other one has.
func Named(list []About, name string) (int, error) {
	at := -1
	var same []string
	for i, b := range list {
		if b.ID == name || b.Workspace == name {
			return i, nil
		}
		if b.Name == name {
			at, same = i, append(same, b.ID+" in "+b.Workspace)
		}
	}
	switch {
	case at < 0:
		return 0, usererr.New(usererr.NotFound, "there is no branch %q of this workspace. `tidemark branch list` lists them.", event.Clean(name))
	case len(same) > 1:
		return 0, usererr.New(usererr.Ambiguous, "%d branches have the name %q: %s. Name one by its ID or its directory.", len(same), event.Clean(name), strings.Join(same, ", "))
	}
	return at, nil
}

package answers

import (
	"strings"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// Named returns the index of the branch with a directory, or else with an ID or a name that no other one has. The name of a branch can be
// the ID of another one: way-2 is the second session of the branch way, and the second one that --try makes.
func Named(list []About, name string) (int, error) {
	at, id := -1, -1
	var same []string
	for i, b := range list {
		if b.Workspace == name {
			return i, nil
		}
		if b.ID == name {
			id = i
		}
		if b.Name == name {
			at, same = i, append(same, b.ID+" in "+b.Workspace)
		}
	}
	switch {
	case id >= 0 && (at < 0 || at == id && len(same) == 1):
		return id, nil
	case id >= 0:
		return 0, usererr.New(usererr.Ambiguous, "%q is the ID of the branch %s in %s, and the name of %s. Name one by its directory.", event.Clean(name), list[id].Name, list[id].Workspace, strings.Join(same, ", "))
	case at < 0:
		return 0, usererr.New(usererr.NotFound, "there is no branch %q of this workspace. `tidemark branch list` lists them.", event.Clean(name))
	case len(same) > 1:
		return 0, usererr.New(usererr.Ambiguous, "%d branches have the name %q: %s. Name one by its ID or its directory.", len(same), event.Clean(name), strings.Join(same, ", "))
	}
	return at, nil
}

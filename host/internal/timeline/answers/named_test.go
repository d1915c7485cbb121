package answers

import (
	"testing"

	"tidemark.dev/tidemark/host/internal/usererr"
)

// TestANameThatIsTheIDOfAnotherBranchSelectsNeither: what is removed must be what the user means. Directories select each.
func TestANameThatIsTheIDOfAnotherBranchSelectsNeither(t *testing.T) {
	list := []About{
		{ID: "way-4", Name: "way-2", Workspace: "/b/way-2"},
		{ID: "way-3", Name: "way-1", Workspace: "/b/way-1"},
		{ID: "way-2", Name: "way", Workspace: "/b/way"},
		{ID: "own-5", Name: "own-5", Workspace: "/b/own-5"},
	}
	for name, want := range map[string]int{"way": 2, "way-1": 1, "way-3": 1, "way-4": 0, "/b/way": 2, "/b/way-2": 0, "own-5": 3} {
		if got, err := Named(list, name); err != nil || got != want {
			t.Errorf("%s is %d, %v; want %d", name, got, err, want)
		}
	}
	for name, want := range map[string]usererr.Code{"way-2": usererr.Ambiguous, "other": usererr.NotFound} {
		if _, err := Named(list, name); usererr.CodeOf(err) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package tool

import (
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/usererr"
)

// A set is a group of tools that is turned on and off together, so that an agent pays only for the tools it uses.
const (
	Observe = "observe" // what changed, and what a page looks like
	Act     = "act"     // clicks, typing, navigation
	Debug   = "debug"   // breakpoints and variables
	// TimeTravel goes back to moments of a session.
	TimeTravel = "timetravel"
)

// Sets lists the names of all sets in the order of their tools.
var Sets = []string{Observe, Act, Debug, TimeTravel}

// DefaultSets are the sets of a client that requests none.
var DefaultSets = []string{Observe, Act}

// CheckSets returns the named sets in the order of [Sets], without duplicates. An unknown name is an error that lists
// the sets.
func CheckSets(names []string) ([]string, error) {
	for _, name := range names {
		if !slices.Contains(Sets, name) {
			return nil, usererr.New(usererr.NotFound, "there is no tool set %q; the sets are %s", name, strings.Join(Sets, ", "))
		}
	}
	checked := []string{} // an empty list is not the same as nil
	for _, set := range Sets {
		if slices.Contains(names, set) {
			checked = append(checked, set)
		}
	}
	return checked, nil
}

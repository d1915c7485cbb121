package tool

import (
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/usererr"
)

// A set is a group of tools that is switched as one, so that an agent pays only for what it uses.
const (
	Observe = "observe" // what changed, and what a page looks like
	Act     = "act"     // clicks, typing, navigation
	Debug   = "debug"   // breakpoints and variables
)

// Sets are the names of all sets, in the order in which their tools are listed.
var Sets = []string{Observe, Act, Debug}

// DefaultSets are on for a client that asks for nothing else.
var DefaultSets = []string{Observe, Act}

// CheckSets makes sure that all names are those of sets; the error lists what there is. Names that are given
// twice count once, and the order does not matter: the answer has the order of [Sets].
func CheckSets(names []string) ([]string, error) {
	for _, name := range names {
		if !slices.Contains(Sets, name) {
			return nil, usererr.New(usererr.NotFound, "there is no tool set %q; sets are %s", name, strings.Join(Sets, ", "))
		}
	}
	checked := []string{} // none is not the same as not said
	for _, set := range Sets {
		if slices.Contains(names, set) {
			checked = append(checked, set)
		}
	}
	return checked, nil
}

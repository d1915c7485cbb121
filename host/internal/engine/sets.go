package engine

import (
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/checkpoint"
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

// SetsOf are the sets that are on for a client: those that it asked for, else those of the settings.
func (e *Engine) SetsOf(client *checkpoint.Client) []string {
	if client.Sets != nil {
		return client.Sets
	}
	return e.sets
}

// SwitchedOff is nil when a tool of that name may be called by the client or there is none; else it says which
// set is off, and how to turn it on.
func (e *Engine) SwitchedOff(client *checkpoint.Client, name string) error {
	on := e.SetsOf(client)
	t := FindTool(name)
	if t == nil || slices.Contains(on, t.Set) {
		return nil
	}
	with := append(slices.Clone(on), t.Set)
	quoted := make([]string, len(with))
	for i, set := range with {
		quoted[i] = fmt.Sprintf("%q", set)
	}
	return usererr.New(usererr.SwitchedOff, "%s is a tool of the set %s, which is off for this session; a person can turn it on: `tidemark mcp --tools %s` in the agent's settings, or `[tools] sets = [%s]` in Tidemark's config.toml and `tidemark stop`",
		name, t.Set, strings.Join(with, ","), strings.Join(quoted, ", "))
}

// inSet marks tools as those of a set.
func inSet(set string, tools []*Tool) []*Tool {
	for _, t := range tools {
		t.Set = set
	}
	return tools
}

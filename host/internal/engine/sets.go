package engine

import (
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/usererr"
)

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

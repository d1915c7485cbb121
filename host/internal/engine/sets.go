package engine

import (
	"fmt"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// SetsOf returns the tool sets that are on for a client: those that it requested, or else those of the settings.
func (e *Engine) SetsOf(client *checkpoint.Client) []string {
	if client.Sets != nil {
		return client.Sets
	}
	return e.sets
}

// SwitchedOff returns nil when the client may call the tool or no tool has that name. Otherwise its error names the
// set that is off and how to turn it on.
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
	return usererr.New(usererr.SwitchedOff, "%s is in the tool set %s, which is off for this client. The user can turn it on: `tidemark mcp --tools %s` in the agent's settings, or `[tools] sets = [%s]` in Tidemark's config.toml, then `tidemark stop`.",
		name, t.Set, strings.Join(with, ","), strings.Join(quoted, ", "))
}

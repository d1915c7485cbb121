package act

import (
	"cmp"
	"slices"

	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/protocol"
)

// AgentsSeenFrom are the agents as a page of a browser's extension shows them.
func (e *Leases) AgentsSeenFrom(instance string) []protocol.Agent {
	var list []protocol.Agent
	v := e.store.View(e.clock())
	for _, a := range e.Agents() {
		shown := protocol.Agent{ID: a.ID, Name: a.Name, What: a.What, Acting: a.Acting, Since: diff.Time{Time: a.Since}.String(), Stopped: a.Stopped}
		for _, t := range v.Tabs {
			if t.ID != a.Tab {
				continue
			}
			shown.Title = cmp.Or(t.Title, t.URL)
			if t.Instance == instance {
				_, shown.Tab, _ = e.store.BrowserTab(t.ID)
			} else {
				shown.Elsewhere = t.Browser
			}
		}
		list = append(list, shown)
	}
	return list
}

// acted is when an agent acted on a tab, in milliseconds since the Unix epoch.
type acted struct {
	tab      int
	from, to int64
}

// maxDid bounds the actions of an agent that are remembered.
const maxDid = 256

// didBy tells what a client did itself from what the person did, or another agent.
func (s *agents) didBy(client *checkpoint.Client) func(tab int, at int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.list, func(a *agentState) bool { return a.client == client })
	if i < 0 {
		return nil
	}
	did := slices.Clone(s.list[i].did)
	return func(tab int, at int64) bool {
		return slices.ContainsFunc(did, func(d acted) bool { return d.tab == tab && d.from <= at && at <= d.to })
	}
}

package engine

import (
	"cmp"

	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/protocol"
)

// AgentsSeenFrom are the agents as a page of a browser's extension shows them.
func (e *Engine) AgentsSeenFrom(instance string) []protocol.Agent {
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

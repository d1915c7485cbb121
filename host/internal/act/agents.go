package act

import (
	"cmp"
	"math"
	"slices"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/protocol"
)

// AgentsSeenFrom returns the agents as the extension of one browser shows them.
func (l *Leases) AgentsSeenFrom(instance string) []protocol.Agent {
	var list []protocol.Agent
	v := l.store.View(l.clock())
	for _, a := range l.Agents() {
		shown := protocol.Agent{ID: a.ID, Name: a.Name, What: a.What, Acting: a.Acting, Since: report.Time{Time: a.Since}.String(), Stopped: a.Stopped}
		for _, t := range v.Tabs {
			if t.ID != a.Tab {
				continue
			}
			shown.Title = cmp.Or(t.Title, t.URL)
			if t.Instance == instance {
				_, shown.Tab, _ = l.store.BrowserTab(t.ID)
			} else {
				shown.Elsewhere = t.Browser
			}
		}
		list = append(list, shown)
	}
	return list
}

// acted is an action in a tab, with its begin and end in milliseconds since the Unix epoch.
type acted struct {
	tab      int
	from, to int64
}

// LateOf returns a function that reports whether a request was made by an action of a client and arrived after the
// action's answer; nil if the client never acted.
func (a *Actor) LateOf(client *checkpoint.Client) func(pos uint64, e *event.Network) bool {
	did := a.DidBy(client)
	if did == nil {
		return nil
	}
	reported := map[int]uint64{} // the position up to which answers have reported a tab's requests
	return func(pos uint64, e *event.Network) bool {
		if !did(e.Tab(), e.Started) {
			return false
		}
		until, known := reported[e.Tab()]
		if !known {
			until = math.MaxUint64
			if m, first := a.pages.ReportedUntil(a.pages.Tab(e.Tab()), client); !first {
				until = m.Pos[capture.Network]
			}
			reported[e.Tab()] = until
		}
		return pos >= until
	}
}

// maxDid is how many actions of an agent are kept.
const maxDid = 256

// maxPast is how many actions of all agents together are kept, those of agents that have left included.
const maxPast = 4096

// didByAgent reports whether any agent acted on a tab at a time.
func (s *agents) didByAgent(tab int, at int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.past, func(d acted) bool { return d.tab == tab && d.from <= at && at <= d.to }) ||
		slices.ContainsFunc(s.list, func(a *agentState) bool { return a.Acting && a.Tab == tab && a.Since.UnixMilli() <= at })
}

// didBy returns a function that reports whether a client acted on a tab at a time; nil if it never acted.
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

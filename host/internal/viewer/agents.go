package viewer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/act"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/clients"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/report"
	"tidemark.dev/tidemark/host/internal/ring"
	"tidemark.dev/tidemark/host/internal/signal"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

// Agents are the agents that have called, with their calls, and those that the user suspended. It is safe for
// concurrent use.
type Agents struct {
	// Immutable after New.
	store   *capture.Store
	clients *clients.Registry
	leases  *act.Leases
	disk    observe.Disk
	clock   func() time.Time
	signal  *signal.Signal

	// counting is held while calls are counted, so that their order stays. It is taken before mu.
	counting sync.Mutex

	mu    sync.Mutex
	calls *ring.Ring[Call]
	// uncounted are calls that are not in calls yet.
	uncounted []Call
	// list are the clients that have called, connected or not, by number.
	list []*agentCalls
}

// agentCalls is a client and a summary of its calls.
type agentCalls struct {
	id                     int
	client                 *checkpoint.Client
	name                   string
	calls, tokens, rawRead int
	suspended              bool
}

// maxAgents bounds the agents whose calls are counted.
const maxAgents = 200

// agentLocked returns the record of a client that calls itself name. If an agent of that name is suspended, so is the
// client: it may be the same agent with a new connection.
func (a *Agents) agentLocked(client *checkpoint.Client, name string) *agentCalls {
	i := slices.IndexFunc(a.list, func(agent *agentCalls) bool { return agent.client == client })
	if i >= 0 && (a.list[i].name == name || name == client.Name) { // the client's name until it introduces itself
		return a.list[i]
	}
	suspended := slices.ContainsFunc(a.list, func(agent *agentCalls) bool { return agent.suspended && agent.name == name })
	if i >= 0 {
		a.list[i].name, a.list[i].suspended = name, a.list[i].suspended || suspended
		return a.list[i]
	}
	id := 1
	if n := len(a.list); n > 0 {
		id = a.list[n-1].id + 1
	}
	if len(a.list) >= maxAgents { // a suspension is the user's: keep it
		i := max(0, slices.IndexFunc(a.list, func(agent *agentCalls) bool { return !agent.suspended }))
		a.list = slices.Delete(a.list, i, i+1)
	}
	agent := &agentCalls{id: id, client: client, name: name, suspended: suspended}
	a.list = append(a.list, agent)
	return agent
}

// IsSuspended says whether the user suspended an agent.
func (a *Agents) IsSuspended(client *checkpoint.Client) bool {
	name := a.clients.NameOf(client)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.agentLocked(client, name).suspended
}

// Suspended returns the agents that the user suspended, with their names.
func (a *Agents) Suspended() map[*checkpoint.Client]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	names := map[*checkpoint.Client]string{}
	for _, agent := range a.list {
		if agent.suspended {
			names[agent.client] = agent.name
		}
	}
	return names
}

// RestoreSuspended suspends a client that an earlier daemon recorded as suspended.
func (a *Agents) RestoreSuspended(client *checkpoint.Client, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.agentLocked(client, name).suspended = true
}

// SetSuspended suspends an agent's access or resumes it. Resuming also applies to disconnected agents of the same
// name.
func (a *Agents) SetSuspended(_ context.Context, p protocol.ViewHoldParams) (tool.Nothing, error) {
	here := map[int]bool{}
	agents, _ := a.all() // numbers the agents that have not called yet
	for _, agent := range agents {
		here[agent.ID] = agent.Here
	}
	a.mu.Lock()
	i := slices.IndexFunc(a.list, func(agent *agentCalls) bool { return agent.id == p.Agent })
	if i < 0 {
		a.mu.Unlock()
		return tool.Nothing{}, usererr.New(usererr.NotFound, "agent %d does not exist or has left", p.Agent)
	}
	agent := a.list[i]
	agent.suspended = p.Held
	for _, o := range a.list {
		if !p.Held && o.name == agent.name && !here[o.id] {
			o.suspended = false
		}
	}
	a.signal.Notify()
	a.mu.Unlock()
	if p.Held {
		a.leases.End(agent.client, clients.ErrSuspended)
	}
	if a.disk != nil {
		a.disk.ReadersChanged() // so that the next daemon suspends it too
	}
	return tool.Nothing{}, nil
}

// SetStopped stops an agent from acting, or allows it again. It may still observe.
func (a *Agents) SetStopped(_ context.Context, p protocol.StopAgentParams) (tool.Nothing, error) {
	if p.Stopped {
		return tool.Nothing{}, a.leases.StopAgent(p.ID)
	}
	return tool.Nothing{}, a.leases.AllowAgent(p.ID)
}

// Number returns the number of an agent in the viewer and the popup.
func (a *Agents) Number(client *checkpoint.Client) int {
	name := a.clients.NameOf(client)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.agentLocked(client, name).id
}

// acting returns the current or last action of each agent that has acted.
func (a *Agents) acting() map[*checkpoint.Client]*protocol.ViewActs {
	titles := map[int]string{}
	for _, t := range a.store.View(a.clock()).Tabs {
		titles[t.ID] = cmp.Or(t.Title, t.URL)
	}
	acts := map[*checkpoint.Client]*protocol.ViewActs{}
	for client, agent := range a.leases.ByClient() {
		acts[client] = &protocol.ViewActs{Tab: agent.Tab, Title: titles[agent.Tab], What: agent.What, Now: agent.Acting, Since: report.Time{Time: agent.Since}.String(), Stopped: agent.Stopped}
	}
	return acts
}

// all lists the agents that are connected, have called or are suspended, and numbers those with the same name.
// Disconnected agents of the same name and scope are one entry with the sum of their calls, so that reconnecting does
// not grow the list. Among disconnected agents a suspension belongs to the name, and one entry shows it. listed maps
// each agent's id to the id of its entry.
func (a *Agents) all() (list []protocol.ViewAgent, listed map[int]int) {
	a.count()
	type here struct {
		name  string
		since time.Time
		here  bool
	}
	known := map[*checkpoint.Client]here{}
	var order []*checkpoint.Client
	for _, s := range a.clients.All() {
		if s.Connected {
			order = append(order, s.Client)
		}
		known[s.Client] = here{cmp.Or(s.Name, s.Client.Name), s.Since, s.Connected}
	}
	acts := a.acting()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range order {
		a.agentLocked(c, known[c].name)
	}
	suspended, shows := map[string]bool{}, map[string]bool{}
	for _, agent := range a.list {
		if !known[agent.client].here {
			suspended[agent.name] = suspended[agent.name] || agent.suspended
			shows[agent.name] = shows[agent.name] || agent.calls > 0
		}
	}
	list, listed = []protocol.ViewAgent{}, map[int]int{}
	left := map[[2]string]int{} // name and scope → index in the list
	alike := map[string]int{}
	for _, agent := range a.list {
		listed[agent.id] = agent.id
		k := known[agent.client]
		isSuspended := agent.suspended
		if !k.here {
			if isSuspended = suspended[agent.name]; agent.calls == 0 && (!isSuspended || shows[agent.name]) {
				continue
			}
			shows[agent.name] = true
			key := [2]string{agent.name, agent.client.Scope.Key()}
			if i, ok := left[key]; ok {
				same := &list[i]
				same.Calls, same.Tokens, same.RawRead = same.Calls+agent.calls, same.Tokens+agent.tokens, same.RawRead+agent.rawRead
				listed[agent.id] = same.ID
				continue
			}
			left[key] = len(list)
		}
		shown := protocol.ViewAgent{
			ID: agent.id, Name: cmp.Or(k.name, agent.name), Scope: agent.client.Scope.Origins, Here: k.here, Held: isSuspended, Calls: agent.calls, Tokens: agent.tokens, RawRead: agent.rawRead, Acts: acts[agent.client],
		}
		if alike[shown.Name]++; alike[shown.Name] > 1 {
			shown.Name = fmt.Sprintf("%s %d", shown.Name, alike[shown.Name])
		}
		if !k.since.IsZero() {
			shown.Since = report.Time{Time: k.since}.String()
		}
		list = append(list, shown)
	}
	return list, listed
}

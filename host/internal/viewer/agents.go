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
	"tidemark.dev/tidemark/host/internal/diff"
	"tidemark.dev/tidemark/host/internal/observe"
	"tidemark.dev/tidemark/host/internal/ring"
	"tidemark.dev/tidemark/host/internal/tool"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/protocol"
)

// Agents are those that have called, with their calls, and those that a person suspended. It is safe for concurrent use.
type Agents struct {
	// Never changed after New.
	store   *capture.Store
	clients *clients.Registry
	leases  *act.Leases
	disk    observe.Disk
	clock   func() time.Time
	signal  *Signal

	mu    sync.Mutex
	calls *ring.Ring[Call]
	// list are the clients that have called, connected or gone, by number.
	list []*agentCalls
}

// agentCalls is a reader and what it has called.
type agentCalls struct {
	id                     int
	client                 *checkpoint.Client
	name                   string
	calls, tokens, rawRead int
	suspended              bool
}

// maxAgents bounds of how many agents the calls are counted.
const maxAgents = 200

// agentLocked is what is counted of a client, which calls itself name now. One that comes by the name of an
// agent that is suspended is suspended as well: it may be the same one with a new connection.
func (e *Agents) agentLocked(client *checkpoint.Client, name string) *agentCalls {
	i := slices.IndexFunc(e.list, func(a *agentCalls) bool { return a.client == client })
	if i >= 0 && (e.list[i].name == name || name == client.Name) { // the name before it has introduced itself
		return e.list[i]
	}
	suspended := slices.ContainsFunc(e.list, func(a *agentCalls) bool { return a.suspended && a.name == name })
	if i >= 0 {
		e.list[i].name, e.list[i].suspended = name, e.list[i].suspended || suspended
		return e.list[i]
	}
	id := 1
	if n := len(e.list); n > 0 {
		id = e.list[n-1].id + 1
	}
	if len(e.list) >= maxAgents { // a suspension stays, since it is a person's
		i := max(0, slices.IndexFunc(e.list, func(a *agentCalls) bool { return !a.suspended }))
		e.list = slices.Delete(e.list, i, i+1)
	}
	a := &agentCalls{id: id, client: client, name: name, suspended: suspended}
	e.list = append(e.list, a)
	return a
}

// IsSuspended says whether a person suspended an agent.
func (e *Agents) IsSuspended(client *checkpoint.Client) bool {
	name := e.clients.NameOf(client)
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.agentLocked(client, name).suspended
}

// Suspended are those that a person suspended, with their names.
func (e *Agents) Suspended() map[*checkpoint.Client]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	names := map[*checkpoint.Client]string{}
	for _, a := range e.list {
		if a.suspended {
			names[a.client] = a.name
		}
	}
	return names
}

// RestoreSuspended suspends a client that an earlier daemon knew as suspended.
func (e *Agents) RestoreSuspended(client *checkpoint.Client, name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.agentLocked(client, name).suspended = true
}

// SetSuspended suspends an agent's access, or allows it again; then also that of those of its name that have left.
func (e *Agents) SetSuspended(_ context.Context, p protocol.ViewHoldParams) (tool.Nothing, error) {
	here := map[int]bool{}
	agents, _ := e.all() // numbers those who have not called yet
	for _, a := range agents {
		here[a.ID] = a.Here
	}
	e.mu.Lock()
	i := slices.IndexFunc(e.list, func(a *agentCalls) bool { return a.id == p.Agent })
	if i < 0 {
		e.mu.Unlock()
		return tool.Nothing{}, usererr.New(usererr.NotFound, "there is no agent %d; it has left", p.Agent)
	}
	a := e.list[i]
	a.suspended = p.Held
	for _, o := range e.list {
		if !p.Held && o.name == a.name && !here[o.id] {
			o.suspended = false
		}
	}
	e.signal.Tell()
	e.mu.Unlock()
	if p.Held {
		e.leases.End(a.client, clients.ErrSuspended)
	}
	if e.disk != nil {
		e.disk.ReadersChanged() // the next daemon suspends it as well
	}
	return tool.Nothing{}, nil
}

// SetStopped has an agent act no more, or lets it act again. It may look all the same.
func (e *Agents) SetStopped(_ context.Context, p protocol.StopAgentParams) (tool.Nothing, error) {
	if p.Stopped {
		return tool.Nothing{}, e.leases.StopAgent(p.ID)
	}
	return tool.Nothing{}, e.leases.AllowAgent(p.ID)
}

// Number is by what a person's viewer and popup know an agent.
func (e *Agents) Number(client *checkpoint.Client) int {
	name := e.clients.NameOf(client)
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.agentLocked(client, name).id
}

// acting says what those who act do, or did last.
func (e *Agents) acting() map[*checkpoint.Client]*protocol.ViewActs {
	titles := map[int]string{}
	for _, t := range e.store.View(e.clock()).Tabs {
		titles[t.ID] = cmp.Or(t.Title, t.URL)
	}
	acts := map[*checkpoint.Client]*protocol.ViewActs{}
	for client, a := range e.leases.ByClient() {
		acts[client] = &protocol.ViewActs{Tab: a.Tab, Title: titles[a.Tab], What: a.What, Now: a.Acting, Since: diff.Time{Time: a.Since}.String(), Stopped: a.Stopped}
	}
	return acts
}

// all lists the agents that are connected, have called or are held; those of the same name are numbered.
// Those that have left are one for each name and scope, as which the calls of all of them are told: an agent that
// connects anew again and again is told once. Of those a hold is the name's: one of them shows it, whoever was held.
func (e *Agents) all() (list []protocol.ViewAgent, told map[int]int) {
	type here struct {
		name  string
		since time.Time
		here  bool
	}
	known := map[*checkpoint.Client]here{}
	var order []*checkpoint.Client
	for _, s := range e.clients.Sessions() {
		if s.Here {
			order = append(order, s.Client)
		}
		known[s.Client] = here{cmp.Or(s.Name, s.Client.Name), s.Since, s.Here}
	}
	acts := e.acting()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range order {
		e.agentLocked(c, known[c].name)
	}
	held, shows := map[string]bool{}, map[string]bool{}
	for _, a := range e.list {
		if !known[a.client].here {
			held[a.name] = held[a.name] || a.suspended
			shows[a.name] = shows[a.name] || a.calls > 0
		}
	}
	list, told = []protocol.ViewAgent{}, map[int]int{}
	left := map[[2]string]int{} // name and scope → where in the list
	alike := map[string]int{}
	for _, a := range e.list {
		told[a.id] = a.id
		k := known[a.client]
		isHeld := a.suspended
		if !k.here {
			if isHeld = held[a.name]; a.calls == 0 && (!isHeld || shows[a.name]) {
				continue
			}
			shows[a.name] = true
			key := [2]string{a.name, a.client.Scope.Key()}
			if i, ok := left[key]; ok {
				same := &list[i]
				same.Calls, same.Tokens, same.RawRead = same.Calls+a.calls, same.Tokens+a.tokens, same.RawRead+a.rawRead
				told[a.id] = same.ID
				continue
			}
			left[key] = len(list)
		}
		shown := protocol.ViewAgent{
			ID: a.id, Name: cmp.Or(k.name, a.name), Scope: a.client.Scope.Origins, Here: k.here, Held: isHeld, Calls: a.calls, Tokens: a.tokens, RawRead: a.rawRead, Acts: acts[a.client],
		}
		if alike[shown.Name]++; alike[shown.Name] > 1 {
			shown.Name = fmt.Sprintf("%s %d", shown.Name, alike[shown.Name])
		}
		if !k.since.IsZero() {
			shown.Since = diff.Time{Time: k.since}.String()
		}
		list = append(list, shown)
	}
	return list, told
}

package act

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/clients"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// leaseFor is how long an agent keeps a tab for itself after its last action there.
const leaseFor = 15 * time.Second

// Agent is an agent that has acted, as a person sees it.
type Agent struct {
	// ID is the engine's own number of it, the same for as long as the agent is connected, and in the viewer.
	ID int `json:"id"`
	// Name is what it calls itself.
	Name string `json:"name"`
	// Tab is the tab that it acted on last; What says in a few words what it did there, or is doing.
	Tab  int    `json:"tab"`
	What string `json:"what,omitempty"`
	// Acting is true while an action is under way; Since is when its last action began.
	Acting bool      `json:"acting,omitempty"`
	Since  time.Time `json:"since"`
	// Stopped is true from when a person stopped it until one allows it again.
	Stopped bool `json:"stopped,omitempty"`
}

// errStopped is why the context of a call ends whose agent a person stopped; [refusedStopped] is what a stopped agent
// is told that calls again.
var (
	errStopped     = errors.New("a person stopped this agent")
	refusedStopped = usererr.New(usererr.AgentStopped, "a person stopped this agent: do not act in the browser until they allow it again in Tidemark's popup or panel")
)

// Leases say who acts where: a tab is an agent's while it acts there, and for [leaseFor] after. They are safe for concurrent
// use.
type Leases struct {
	// Never changed after New.
	store   *capture.Store
	clients *clients.Registry
	clock   func() time.Time
	number  func(*checkpoint.Client) int
	notify  func()

	agents agents
}

// agents is who acts where.
type agents struct {
	mu   sync.Mutex
	list []*agentState
	// waits are the calls under way that only look at a page. They keep no tab, and are not shown as acting.
	waits map[*wait]struct{}
	// changed is called without the lock whenever what [Leases.Agents] says has changed; nil for nobody.
	changed func()
}

// agentState is one agent; guarded by the lock of all.
type agentState struct {
	Agent
	client *checkpoint.Client
	cancel context.CancelCauseFunc // of the action under way
	did    []acted                 // the last actions, the newest last
	ended  time.Time               // when the last one ended
}

// wait is a call that only looks at a page.
type wait struct {
	client *checkpoint.Client
	cancel context.CancelCauseFunc
}

// Agents are those that have acted since they connected, in the order in which they first did.
func (e *Leases) Agents() []Agent {
	list := []Agent{}
	var clients []*checkpoint.Client
	e.agents.mu.Lock()
	for _, a := range e.agents.list {
		list = append(list, a.Agent)
		clients = append(clients, a.client)
	}
	e.agents.mu.Unlock()
	for i, c := range clients { // names have a lock of their own, which is never taken inside another
		list[i].Name = e.clients.NameOf(c)
	}
	return list
}

// ByClient are those that have acted since they connected; their names are not filled in.
func (e *Leases) ByClient() map[*checkpoint.Client]Agent {
	e.agents.mu.Lock()
	defer e.agents.mu.Unlock()
	all := make(map[*checkpoint.Client]Agent, len(e.agents.list))
	for _, a := range e.agents.list {
		all[a.client] = a.Agent
	}
	return all
}

// End ends what a client has under way in a browser: its action and its waits.
func (e *Leases) End(client *checkpoint.Client, why error) { e.agents.end(client, why) }

// DidBy tells what a client did itself from what the person did, or another agent; nil where it did nothing.
func (e *Leases) DidBy(client *checkpoint.Client) func(tab int, at int64) bool {
	return e.agents.didBy(client)
}

// OnAgents has f called whenever what [Leases.Agents] says has changed. It is set before the first call.
func (e *Leases) OnAgents(f func()) { e.agents.changed = f }

// StopAgent ends what an agent is doing, and has its actions refused until [Leases.AllowAgent].
func (e *Leases) StopAgent(id int) error { return e.switchAgent(id, true) }

// AllowAgent takes back [Leases.StopAgent].
func (e *Leases) AllowAgent(id int) error { return e.switchAgent(id, false) }

func (e *Leases) switchAgent(id int, stopped bool) error {
	e.agents.mu.Lock()
	i := slices.IndexFunc(e.agents.list, func(a *agentState) bool { return a.ID == id })
	if i < 0 {
		e.agents.mu.Unlock()
		return usererr.New(usererr.NotFound, "agent %d is not connected any more", id)
	}
	a := e.agents.list[i]
	a.Stopped = stopped
	if stopped {
		e.agents.endLocked(a.client, errStopped)
	}
	e.agents.mu.Unlock()
	e.tellOfAgents()
	return nil
}

// end ends what a client has under way in a browser: its action and its waits.
func (s *agents) end(client *checkpoint.Client, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked(client, why)
}

func (s *agents) endLocked(client *checkpoint.Client, why error) {
	for _, a := range s.list {
		if a.client == client && a.cancel != nil {
			a.cancel(why)
		}
	}
	for w := range s.waits {
		if w.client == client {
			w.cancel(why)
		}
	}
}

// tellOfAgents wakes those who show who acts where.
func (e *Leases) tellOfAgents() {
	if e.agents.changed != nil {
		e.agents.changed()
	}
	e.notify()
}

// permit lets an action begin. One that only looks keeps no tab.
func (e *Leases) permit(ctx context.Context, client *checkpoint.Client, tab int, a action) (context.Context, func(), error) {
	if a.looks {
		return e.agents.wait(ctx, client)
	}
	return e.take(ctx, client, tab, a.said(nil))
}

// take lets a client act on a tab, unless a person stopped it or another agent has its lease. It keeps the tab
// until the release and [leaseFor] longer. The context ends when a person stops the agent.
func (e *Leases) take(ctx context.Context, client *checkpoint.Client, tab int, what string) (context.Context, func(), error) {
	now, number := e.clock(), e.number(client)
	s := &e.agents
	s.mu.Lock()
	var mine *agentState
	for _, a := range s.list {
		switch {
		case a.client == client:
			mine = a
		case a.Tab == tab && tab != 0 && (a.Acting || now.Sub(a.ended) < leaseFor) && !a.Stopped:
			other, did := a.client, a.What
			s.mu.Unlock()
			return nil, nil, usererr.New(usererr.TabInUse, "tab %d is held by another agent, %s, which acted there last (%s); act on another tab, or try again %.0f s after its last action",
				tab, e.clients.NameOf(other), did, leaseFor.Seconds())
		}
	}
	if mine == nil {
		mine = &agentState{Agent: Agent{ID: number}, client: client}
		s.list = append(s.list, mine)
	}
	if mine.Stopped {
		s.mu.Unlock()
		return nil, nil, refusedStopped
	}
	if mine.Acting {
		doing := mine.What
		s.mu.Unlock()
		return nil, nil, usererr.New(usererr.TabInUse, "another action of yours is still under way (%s); act when it has been answered", doing)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	mine.Tab, mine.What, mine.Acting, mine.Since, mine.cancel = tab, what, true, now, cancel
	s.mu.Unlock()
	e.tellOfAgents()
	return ctx, func() {
		s.mu.Lock()
		mine.Acting, mine.cancel, mine.ended = false, nil, e.clock()
		mine.did = append(mine.did[max(0, len(mine.did)-maxDid+1):], acted{tab, now.UnixMilli(), mine.ended.UnixMilli()})
		s.mu.Unlock()
		cancel(nil)
		e.tellOfAgents()
	}, nil
}

// wait lets a client look at a page for a while, whoever acts on it, unless a person stopped it. No tab is kept. The
// context ends when a person stops the agent or suspends its access.
func (s *agents) wait(ctx context.Context, client *checkpoint.Client) (context.Context, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.list, func(a *agentState) bool { return a.client == client && a.Stopped }) {
		return nil, nil, refusedStopped
	}
	ctx, cancel := context.WithCancelCause(ctx)
	w := &wait{client, cancel}
	if s.waits == nil {
		s.waits = map[*wait]struct{}{}
	}
	s.waits[w] = struct{}{}
	return ctx, func() {
		s.mu.Lock()
		delete(s.waits, w)
		s.mu.Unlock()
		cancel(nil)
	}, nil
}

// doing says more exactly what a client is doing.
func (s *agents) doing(client *checkpoint.Client, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.list {
		if a.client == client {
			a.What = what
		}
	}
}

// Forget drops a client that has left, and with it what it held.
func (e *Leases) Forget(client *checkpoint.Client) {
	e.agents.mu.Lock()
	before := len(e.agents.list)
	e.agents.list = slices.DeleteFunc(e.agents.list, func(a *agentState) bool { return a.client == client })
	gone := len(e.agents.list) != before
	e.agents.mu.Unlock()
	if gone {
		e.tellOfAgents()
	}
}

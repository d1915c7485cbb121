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

// leaseFor is how long the lease of a tab lasts after the last action of its agent.
const leaseFor = 15 * time.Second

// Agent is an agent that has acted, as the user sees it.
type Agent struct {
	// ID is its number, which stays the same while the agent is connected. The viewer shows the same number.
	ID int `json:"id"`
	// Name is the name that the agent reports.
	Name string `json:"name"`
	// Tab is the tab that it acted on last. What briefly describes its last or current action.
	Tab  int    `json:"tab"`
	What string `json:"what,omitempty"`
	// Acting is true while an action is under way. Since is when its last action began.
	Acting bool      `json:"acting,omitempty"`
	Since  time.Time `json:"since"`
	// Stopped is true after the user stopped the agent and until they allow it again.
	Stopped bool `json:"stopped,omitempty"`
}

// errStopped is the cause with which the contexts of calls end when the user stops the agent. refusedStopped is the error
// for further calls of a stopped agent.
var (
	errStopped     = errors.New("the user stopped this agent")
	refusedStopped = usererr.New(usererr.AgentStopped, "the user stopped this agent. Do not act in the browser until they allow it again in Tidemark's popup or panel.")
)

// Leases records which agent has the lease of which tab: during an action and for [leaseFor] after it. It is safe for
// concurrent use.
type Leases struct {
	// Immutable after New.
	store   *capture.Store
	clients *clients.Registry
	clock   func() time.Time
	number  func(*checkpoint.Client) int
	notify  func()

	agents agents
}

// agents is the list of agents and their calls.
type agents struct {
	mu   sync.Mutex
	list []*agentState
	// waits are the calls under way that only read a page. They have no lease and are not shown as acting.
	waits map[*wait]struct{}
	past  []acted // the last actions of all agents, the newest last
	// changed is called without the lock when the result of [Leases.Agents] changes. It may be nil.
	changed func()
}

// agentState is one agent, guarded by the lock of [agents].
type agentState struct {
	Agent
	client *checkpoint.Client
	cancel context.CancelCauseFunc // of the action under way
	did    []acted                 // the last actions, the newest last
	ended  time.Time               // when the last one ended
}

// wait is a call that only reads a page.
type wait struct {
	client *checkpoint.Client
	cancel context.CancelCauseFunc
}

// Agents returns the connected agents that have acted, in the order of their first action.
func (l *Leases) Agents() []Agent {
	list := []Agent{}
	var clients []*checkpoint.Client
	l.agents.mu.Lock()
	for _, a := range l.agents.list {
		list = append(list, a.Agent)
		clients = append(clients, a.client)
	}
	l.agents.mu.Unlock()
	for i, c := range clients { // names have their own lock, which is never taken inside another
		list[i].Name = l.clients.NameOf(c)
	}
	return list
}

// ByClient returns the connected agents that have acted, without their names.
func (l *Leases) ByClient() map[*checkpoint.Client]Agent {
	l.agents.mu.Lock()
	defer l.agents.mu.Unlock()
	all := make(map[*checkpoint.Client]Agent, len(l.agents.list))
	for _, a := range l.agents.list {
		all[a.client] = a.Agent
	}
	return all
}

// End cancels the action and the waits of a client.
func (l *Leases) End(client *checkpoint.Client, why error) { l.agents.end(client, why) }

// DidBy returns a function that reports whether a client acted on a tab at a time; nil if it never acted.
func (l *Leases) DidBy(client *checkpoint.Client) func(tab int, at int64) bool {
	return l.agents.didBy(client)
}

// DidByAgent reports whether any agent acted on a tab at a time, in milliseconds since the Unix epoch.
func (l *Leases) DidByAgent(tab int, at int64) bool { return l.agents.didByAgent(tab, at) }

// OnAgents registers f to be called when the result of [Leases.Agents] changes. Call it before any other method.
func (l *Leases) OnAgents(f func()) { l.agents.changed = f }

// StopAgent cancels the calls of an agent and refuses its actions until [Leases.AllowAgent].
func (l *Leases) StopAgent(id int) error { return l.switchAgent(id, true) }

// AllowAgent undoes [Leases.StopAgent].
func (l *Leases) AllowAgent(id int) error { return l.switchAgent(id, false) }

func (l *Leases) switchAgent(id int, stopped bool) error {
	l.agents.mu.Lock()
	i := slices.IndexFunc(l.agents.list, func(a *agentState) bool { return a.ID == id })
	if i < 0 {
		l.agents.mu.Unlock()
		return usererr.New(usererr.NotFound, "agent %d is no longer connected", id)
	}
	a := l.agents.list[i]
	a.Stopped = stopped
	if stopped {
		l.agents.endLocked(a.client, errStopped)
	}
	l.agents.mu.Unlock()
	l.notifyChanged()
	return nil
}

// end cancels the action and the waits of a client.
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

// notifyChanged calls the listeners for changes of [Leases.Agents].
func (l *Leases) notifyChanged() {
	if l.agents.changed != nil {
		l.agents.changed()
	}
	l.notify()
}

// permit allows an action to begin, and takes the lease of the tab unless the action only reads the page.
func (l *Leases) permit(ctx context.Context, client *checkpoint.Client, tab int, act action) (context.Context, func(), error) {
	if act.readOnly {
		return l.agents.wait(ctx, client)
	}
	return l.take(ctx, client, tab, act.describe(nil))
}

// take gives a client the lease of a tab, unless the user stopped the client or another agent has the lease. The lease
// lasts until [leaseFor] after the release. The context ends when the user stops the agent.
func (l *Leases) take(ctx context.Context, client *checkpoint.Client, tab int, what string) (context.Context, func(), error) {
	now, number := l.clock(), l.number(client)
	s := &l.agents
	s.mu.Lock()
	var mine *agentState
	for _, a := range s.list {
		switch {
		case a.client == client:
			mine = a
		case a.Tab == tab && tab != 0 && (a.Acting || now.Sub(a.ended) < leaseFor) && !a.Stopped:
			other, did := a.client, a.What
			s.mu.Unlock()
			return nil, nil, usererr.New(usererr.TabInUse, "tab %d is in use by another agent, %s, which acted there last (%s). Act on another tab, or try again %.0f s after its last action.",
				tab, l.clients.NameOf(other), did, leaseFor.Seconds())
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
		return nil, nil, usererr.New(usererr.TabInUse, "your previous action is still under way (%s). Wait for its answer, then try again.", doing)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	mine.Tab, mine.What, mine.Acting, mine.Since, mine.cancel = tab, what, true, now, cancel
	s.mu.Unlock()
	l.notifyChanged()
	return ctx, func() {
		s.mu.Lock()
		mine.Acting, mine.cancel, mine.ended = false, nil, l.clock()
		did := acted{mine.Tab, now.UnixMilli(), mine.ended.UnixMilli()}
		mine.did = append(mine.did[max(0, len(mine.did)-maxDid+1):], did)
		s.past = append(s.past[max(0, len(s.past)-maxPast+1):], did)
		s.mu.Unlock()
		cancel(nil)
		l.notifyChanged()
	}, nil
}

// wait allows a client to read a page for a while without a lease, unless the user stopped the client. The context ends
// when the user stops or suspends the agent.
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

// setWhat replaces the description of what a client is doing.
func (s *agents) setWhat(client *checkpoint.Client, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.list {
		if a.client == client {
			a.What = what
		}
	}
}

// setTab makes the tab that a client opened the one that it acts on.
func (s *agents) setTab(client *checkpoint.Client, tab int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.list {
		if a.client == client {
			a.Tab = tab
		}
	}
}

// Forget drops a client that disconnected, and its lease.
func (l *Leases) Forget(client *checkpoint.Client) {
	l.agents.mu.Lock()
	before := len(l.agents.list)
	l.agents.list = slices.DeleteFunc(l.agents.list, func(a *agentState) bool { return a.client == client })
	gone := len(l.agents.list) != before
	l.agents.mu.Unlock()
	if gone {
		l.notifyChanged()
	}
}

package engine

import (
	"slices"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
)

// clients are those who read, and those who have read and may come back: they are found by their id.
type clients struct {
	mu   sync.Mutex
	list []*connected
}

type connected struct {
	*checkpoint.Client
	id   string // "" for one that will not come back
	name string // what it is called now
	// since is when it came; seen when it was there last, when here, the number of its connections, is 0.
	since, seen time.Time
	here        int
	project     string       // the path of its project's file, "" for none
	hook        *hookSession // nil until a hook asks
}

// Readers that do not come back within forgetAfter, or while maxAway others were here later, are
// forgotten.
const (
	maxAway     = 64
	forgetAfter = 7 * 24 * time.Hour
)

// Join takes in a client with a checkpoint of its own. One that gives an id goes on where it was when it
// left, or when an earlier daemon ended. Leave says that it has gone.
func (e *Engine) Join(id, name string, scope checkpoint.Scope) (client *checkpoint.Client, leave func()) {
	return e.JoinAs(id, &checkpoint.Client{Name: name, Scope: scope})
}

// JoinAs is [Engine.Join] for a client with a workspace or tool sets of its own. The one that it is from now on is
// returned: that of the id, when it was here before.
func (e *Engine) JoinAs(id string, as *checkpoint.Client) (client *checkpoint.Client, leave func()) {
	v := e.store.View(e.clock())
	e.clients.mu.Lock()
	defer e.clients.mu.Unlock()
	c := e.clients.findLocked(id, as.Scope)
	if c == nil {
		c = e.clients.addLocked(id, as)
		c.Lock()
		c.LookedLocked(v) // an update before it came is nothing that it waits for
		c.Unlock()
	}
	if c.here++; c.here == 1 {
		c.since, c.Workspace, c.Sets = v.At, as.Workspace, as.Sets
		e.own.back(c.Client)
	}
	return c.Client, func() { e.leave(c) }
}

// Enter is [Engine.Join] for a client that was made before it is known whether it stays.
func (e *Engine) Enter(client *checkpoint.Client) (leave func()) {
	v := e.store.View(e.clock())
	client.Lock()
	client.LookedLocked(v)
	client.Unlock()
	e.clients.mu.Lock()
	defer e.clients.mu.Unlock()
	c := e.clients.addLocked("", client)
	c.since, c.here = v.At, 1
	return func() { e.leave(c) }
}

func (c *clients) findLocked(id string, scope checkpoint.Scope) *connected {
	for _, known := range c.list {
		if id != "" && known.id == id && known.Scope.Key() == scope.Key() {
			return known
		}
	}
	return nil
}

func (c *clients) addLocked(id string, client *checkpoint.Client) *connected {
	added := &connected{Client: client, id: id, name: client.Name}
	c.list = append(c.list, added)
	return added
}

func (e *Engine) leave(c *connected) {
	now := e.clock()
	if e.left(c, now) {
		e.forgetDebugger(c.Client)
		e.own.left(c.Client, e.heirOf)
		e.forgetAgent(c.Client)
	}
}

// left counts a client out, and says whether it is gone.
func (e *Engine) left(c *connected, now time.Time) bool {
	e.clients.mu.Lock()
	defer e.clients.mu.Unlock()
	if c.here--; c.here == 0 {
		e.noise.leave(c.Client)
		e.snapshots.forget(c.Client)
		c.seen = now
		e.clients.trimLocked(now)
	}
	return c.here == 0
}

// trimLocked forgets those who will not come back, and those who have not for long.
func (c *clients) trimLocked(now time.Time) {
	away := 0
	for i := len(c.list) - 1; i >= 0; i-- {
		o := c.list[i]
		if o.here > 0 {
			continue
		}
		if away++; o.id == "" || away > maxAway || now.Sub(o.seen) > forgetAfter {
			c.list = slices.Delete(c.list, i, i+1)
		}
	}
}

// Returning is the client of that name and scope, which is never here but comes for a moment each time.
func (e *Engine) Returning(name string, scope checkpoint.Scope) *checkpoint.Client {
	now := e.clock()
	e.clients.mu.Lock()
	defer e.clients.mu.Unlock()
	c := e.clients.findLocked(name, scope)
	if c == nil {
		c = e.clients.addLocked(name, &checkpoint.Client{Name: name, Scope: scope})
	} else if i := slices.Index(e.clients.list, c); i < len(e.clients.list)-1 {
		e.clients.list = append(slices.Delete(e.clients.list, i, i+1), c) // those who were here last are kept longest
	}
	c.seen = now
	e.clients.trimLocked(now)
	return c.Client
}

// nameOf is what a client calls itself now.
func (c *clients) nameOf(client *checkpoint.Client) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, known := range c.list {
		if known.Client == client && known.name != "" {
			return known.name
		}
	}
	return client.Name
}

// session is what hooks know of a client beside its place.
func (c *clients) session(client *checkpoint.Client) *hookSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, known := range c.list {
		if known.Client == client {
			if known.hook == nil {
				known.hook = newHookSession()
			}
			return known.hook
		}
	}
	return newHookSession() // forgotten in the meantime
}

// Heard says that a client has got every answer that it was given.
func (e *Engine) Heard(client *checkpoint.Client) {
	client.Lock()
	client.HeardLocked()
	client.Unlock()
	if e.disk != nil {
		e.disk.ReadersChanged()
	}
}

// Readers is what to keep of those who may come back.
func (e *Engine) Readers() []checkpoint.ClientState {
	now := e.clock()
	e.clients.mu.Lock()
	list := make([]connected, 0, len(e.clients.list))
	for _, c := range e.clients.list {
		list = append(list, *c)
	}
	e.clients.mu.Unlock()
	held := e.heldClients()
	var states []checkpoint.ClientState
	for _, c := range list {
		if c.id == "" {
			continue
		}
		c.Lock()
		st := c.StateLocked()
		c.Unlock()
		st.ID, st.Name, st.Seen = c.id, c.name, c.seen
		if c.here > 0 {
			st.Seen = now
		}
		st.Held = held[c.Client] != ""
		if st.Calls > 0 || st.Held {
			states = append(states, st)
		}
		delete(held, c.Client)
	}
	for client, name := range held { // they will not come back, but others by their names
		states = append(states, checkpoint.ClientState{Name: name, Scope: client.Scope, Seen: now, Held: true})
	}
	return states
}

// Restore puts in place the checkpoints and readers that were kept.
func (e *Engine) Restore(named []checkpoint.Checkpoint, readers []checkpoint.ClientState) {
	e.named.Restore(named)
	v := e.store.View(e.clock())
	e.clients.mu.Lock()
	defer e.clients.mu.Unlock()
	for _, st := range readers {
		client := &checkpoint.Client{Name: st.Name, Scope: st.Scope}
		if st.Held {
			e.viewing.mu.Lock()
			e.viewing.agentLocked(client, st.Name).held = true
			e.viewing.mu.Unlock()
		}
		if st.ID == "" {
			continue
		}
		c := e.clients.addLocked(st.ID, client)
		c.since, c.seen = st.Seen, st.Seen
		c.Lock()
		c.RestoreLocked(st)
		c.LookedLocked(v)
		c.Unlock()
	}
}

// Rename gives a client the name that it introduced itself with.
func (e *Engine) Rename(client *checkpoint.Client, name string) {
	if e.clients.rename(client, name) {
		e.tellViewers()
	}
}

// rename says whether the name is another one.
func (c *clients) rename(client *checkpoint.Client, name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, known := range c.list {
		if known.Client == client && known.name != name {
			known.name = name
			return true
		}
	}
	return false
}

// ScopeOfTab is the scope that a tab belongs to: the narrowest of a client that covers its origin,
// else the origin alone; everything for a tab that is not known or has no origin.
func (e *Engine) ScopeOfTab(id int) checkpoint.Scope {
	origin := ""
	for _, t := range e.store.View(e.clock()).Tabs {
		if t.ID == id {
			origin = t.Origin
		}
	}
	return e.scopeOf(origin)
}

// scopeOf is the narrowest scope of a connected agent that covers an origin, else that of the origin alone; everything
// without an origin.
func (e *Engine) scopeOf(origin string) checkpoint.Scope {
	if origin == "" {
		return checkpoint.Scope{}
	}
	best := checkpoint.Scope{Origins: []string{origin}}
	found := false
	e.clients.mu.Lock()
	defer e.clients.mu.Unlock()
	for _, c := range e.clients.list {
		n := len(c.Scope.Origins)
		if n > 0 && c.Scope.Covers(origin) && (!found || n < len(best.Origins)) {
			best, found = c.Scope, true
		}
	}
	return best
}

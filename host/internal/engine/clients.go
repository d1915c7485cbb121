package engine

import (
	"slices"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/checkpoint"
)

// clients are those who read. Those that come back (the command line) are found by their name.
type clients struct {
	mu   sync.Mutex
	list []*connected
}

type connected struct {
	*checkpoint.Client
	name      string // what it is called now
	since     time.Time
	transient bool
}

// Join takes in a client with a checkpoint of its own; leave forgets it.
func (e *Engine) Join(name string, scope checkpoint.Scope) (client *checkpoint.Client, leave func()) {
	v := e.store.View(e.clock())
	c := &connected{Client: &checkpoint.Client{Name: name, Scope: scope}, name: name, since: v.At}
	c.Lock()
	c.LookedLocked(v) // an update before it came is nothing that it waits for
	c.Unlock()
	e.clients.mu.Lock()
	defer e.clients.mu.Unlock()
	e.clients.list = append(e.clients.list, c)
	return c.Client, func() {
		e.clients.mu.Lock()
		defer e.clients.mu.Unlock()
		e.clients.list = slices.DeleteFunc(e.clients.list, func(o *connected) bool { return o == c })
	}
}

// Rename gives a client the name that it introduced itself with.
func (e *Engine) Rename(client *checkpoint.Client, name string) {
	e.clients.mu.Lock()
	defer e.clients.mu.Unlock()
	for _, c := range e.clients.list {
		if c.Client == client {
			c.name = name
		}
	}
}

// Returning is the client of that name and scope, which keeps its checkpoint from one process to the
// next.
func (e *Engine) Returning(name string, scope checkpoint.Scope) *checkpoint.Client {
	e.clients.mu.Lock()
	defer e.clients.mu.Unlock()
	for _, c := range e.clients.list {
		if c.transient && c.Name == name && c.Scope.Key() == scope.Key() {
			return c.Client
		}
	}
	c := &connected{Client: &checkpoint.Client{Name: name, Scope: scope}, name: name, since: e.clock(), transient: true}
	e.clients.list = append(e.clients.list, c)
	return c.Client
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

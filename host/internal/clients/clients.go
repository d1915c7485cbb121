// Package clients tracks clients: agents, the command line and hooks, connected or disconnected.
//
// It guarantees: a client with an id resumes where it left, also after a restart of the daemon; a client without an id
// is forgotten when it disconnects, others after a long absence. Callbacks are called outside of the lock, in the
// order of registration.
package clients

import (
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// A disconnected client is forgotten after forgetAfter, or when maxAway others disconnected later.
const (
	maxAway     = 64
	forgetAfter = 7 * 24 * time.Hour
)

// ErrSuspended is the error of every call while a user suspends the agent's access.
var ErrSuspended = usererr.New(usererr.AgentSuspended, "a user suspended this agent's access to Tidemark, so nothing was done. Explain why you need it; the user can allow it again in Tidemark's viewer")

// Viewer returns the client of the viewer's user.
func Viewer(scope checkpoint.Scope) *checkpoint.Client {
	return &checkpoint.Client{Name: "viewer", Scope: scope, User: true}
}

// Registry contains all clients. It is safe for concurrent use.
type Registry struct {
	// Constant after New, except for the callbacks, which are registered before the first client joins.
	store                                       *capture.Store
	clock                                       func() time.Time
	age                                         retention.Age
	onConnect, onDisconnect, onForget, onRename []func(*checkpoint.Client)

	mu   sync.Mutex
	list []*record
}

// record is a client in the registry. It is guarded by the registry's lock.
type record struct {
	*checkpoint.Client
	id   string // "" for a client that cannot reconnect
	name string // its current name
	// since is the time of its first connection; seen is the time of the last disconnect, if connections is 0.
	since, seen time.Time
	connections int
	project     string // the path of its project's settings file, "" for none
}

// State is the state of a client at one moment.
type State struct {
	*checkpoint.Client
	// ID identifies the client when it reconnects, "" if it cannot. Name is its current name.
	ID, Name string
	// Since is when it connected, Seen when it was last connected.
	Since, Seen time.Time
	Connected   bool
}

// New returns an empty registry. A client that joins counts as having seen everything in the store.
// Age tells how long a client has been away.
func New(store *capture.Store, clock func() time.Time, age retention.Age) *Registry {
	return &Registry{store: store, clock: clock, age: age}
}

// OnConnect registers a callback for a client's first connection.
func (r *Registry) OnConnect(f func(*checkpoint.Client)) { r.onConnect = append(r.onConnect, f) }

// OnDisconnect registers a callback for the end of a client's last connection.
func (r *Registry) OnDisconnect(f func(*checkpoint.Client)) {
	r.onDisconnect = append(r.onDisconnect, f)
}

// OnForget registers a callback for clients that are forgotten.
func (r *Registry) OnForget(f func(*checkpoint.Client)) { r.onForget = append(r.onForget, f) }

// OnRename registers a callback for a client's change of name.
func (r *Registry) OnRename(f func(*checkpoint.Client)) { r.onRename = append(r.onRename, f) }

func notify(list []func(*checkpoint.Client), clients ...*checkpoint.Client) {
	for _, c := range clients {
		for _, f := range list {
			f(c)
		}
	}
}

// Join adds a client with its own checkpoint. A known id resumes where that client left, also after a restart of the
// daemon. leave ends the connection.
func (r *Registry) Join(id, name string, scope checkpoint.Scope) (client *checkpoint.Client, leave func()) {
	return r.JoinAs(id, &checkpoint.Client{Name: name, Scope: scope})
}

// JoinAs is [Registry.Join] for a client with its own workspace or tool sets. It returns the known client of the id, if
// there is one.
func (r *Registry) JoinAs(id string, as *checkpoint.Client) (client *checkpoint.Client, leave func()) {
	v := r.store.View(r.clock())
	s, back := r.join(id, as, v)
	if back {
		notify(r.onConnect, s.Client)
	}
	return s.Client, func() { r.leave(s) }
}

func (r *Registry) join(id string, as *checkpoint.Client, v *capture.View) (s *record, back bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s = r.findLocked(id, as.Scope); s == nil {
		s = r.addLocked(id, as)
		markRead(as, v)
	}
	if s.connections++; s.connections == 1 {
		s.since, s.Scope.Workspace, s.Sets = v.At, as.Scope.Workspace, as.Sets
	}
	return s, s.connections == 1
}

// markRead marks everything up to a view as seen: a client never waits for an update from before it joined.
func markRead(client *checkpoint.Client, v *capture.View) {
	client.Lock()
	defer client.Unlock()
	client.LookedLocked(v)
}

// Enter is [Registry.Join] for an existing client without an id.
func (r *Registry) Enter(client *checkpoint.Client) (leave func()) {
	v := r.store.View(r.clock())
	markRead(client, v)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.addLocked("", client)
	s.since, s.connections = v.At, 1
	return func() { r.leave(s) }
}

// Restore adds a saved client, which may reconnect.
func (r *Registry) Restore(client *checkpoint.Client, st checkpoint.ClientState) {
	client.Lock()
	client.RestoreLocked(st)
	client.LookedLocked(r.store.View(r.clock()))
	client.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.addLocked(st.ID, client)
	s.since, s.seen = st.Seen, st.Seen
}

func (r *Registry) findLocked(id string, scope checkpoint.Scope) *record {
	i := slices.IndexFunc(r.list, func(s *record) bool { return id != "" && s.id == id && s.Scope.Key() == scope.Key() })
	if i < 0 {
		return nil
	}
	return r.list[i]
}

// maxName is how many characters of a client's name are kept.
const maxName = 60

// cleanName returns the name that a client gives itself on one short line: others read it.
func cleanName(name string) string {
	name = event.OneLine(name)
	if runes := []rune(name); len(runes) > maxName {
		name = string(runes[:maxName]) + "…"
	}
	return name
}

func (r *Registry) addLocked(id string, client *checkpoint.Client) *record {
	client.Name = cleanName(client.Name)
	s := &record{Client: client, id: id, name: client.Name}
	r.list = append(r.list, s)
	return s
}

// ofLocked returns the record of a client, nil if the client was forgotten.
func (r *Registry) ofLocked(client *checkpoint.Client) *record {
	i := slices.IndexFunc(r.list, func(s *record) bool { return s.Client == client })
	if i < 0 {
		return nil
	}
	return r.list[i]
}

func (r *Registry) leave(s *record) {
	left, forgotten := r.left(s, r.clock())
	if left {
		notify(r.onDisconnect, s.Client)
	}
	notify(r.onForget, forgotten...)
}

// left ends a connection and reports whether it was the client's last.
func (r *Registry) left(s *record, now time.Time) (left bool, forgotten []*checkpoint.Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.connections--; s.connections == 0 {
		s.seen = now
		forgotten = r.trimLocked()
	}
	return s.connections == 0, forgotten
}

// trimLocked forgets clients that cannot reconnect, and those that were absent for too long.
func (r *Registry) trimLocked() (forgotten []*checkpoint.Client) {
	away := 0
	for i := len(r.list) - 1; i >= 0; i-- {
		s := r.list[i]
		if s.connections > 0 {
			continue
		}
		if away++; s.id == "" || away > maxAway || r.age(s.seen, forgetAfter) > forgetAfter {
			r.list = slices.Delete(r.list, i, i+1)
			forgotten = append(forgotten, s.Client)
		}
	}
	return forgotten
}

// Returning returns the client of a name and scope that connects for single requests, such as the command line. It has a
// cursor of its own in each workspace.
func (r *Registry) Returning(name string, scope checkpoint.Scope) *checkpoint.Client {
	client, forgotten := r.returning(name, scope, r.clock())
	notify(r.onForget, forgotten...)
	return client
}

func (r *Registry) returning(name string, scope checkpoint.Scope, now time.Time) (*checkpoint.Client, []*checkpoint.Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := name
	if scope.Workspace != "" {
		id += " in " + scope.Workspace
	}
	s := r.findLocked(id, scope)
	if s == nil {
		s = r.addLocked(id, &checkpoint.Client{Name: name, Scope: scope, User: true})
	} else if i := slices.Index(r.list, s); i < len(r.list)-1 {
		r.list = append(slices.Delete(r.list, i, i+1), s) // clients seen last are kept longest
	}
	s.seen = now
	if !s.User { // it was restored from disk
		s.User = true
	}
	return s.Client, r.trimLocked()
}

// All returns the clients in the order in which they joined. Clients of single requests are in the order of their last
// request.
func (r *Registry) All() []State {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]State, 0, len(r.list))
	for _, s := range r.list {
		list = append(list, State{Client: s.Client, ID: s.id, Name: s.name, Since: s.since, Seen: s.seen, Connected: s.connections > 0})
	}
	return list
}

// Connected reports whether a client is connected.
func (r *Registry) Connected(client *checkpoint.Client) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.ofLocked(client)
	return s != nil && s.connections > 0
}

// NameOf returns the current name of a client.
func (r *Registry) NameOf(client *checkpoint.Client) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.ofLocked(client); s != nil && s.name != "" {
		return s.name
	}
	return client.Name
}

// Rename sets the name of a client, on one line and shortened.
func (r *Registry) Rename(client *checkpoint.Client, name string) {
	if r.rename(client, name) {
		notify(r.onRename, client)
	}
}

// rename sets the name and reports whether it changed.
func (r *Registry) rename(client *checkpoint.Client, name string) bool {
	name = cleanName(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.ofLocked(client)
	if s == nil || s.name == name {
		return false
	}
	s.name = name
	return true
}

// SetProject sets the path of the settings file of a client's project, "" for none. Relative paths are ignored.
func (r *Registry) SetProject(client *checkpoint.Client, path string) {
	if path != "" && !filepath.IsAbs(path) {
		return // the daemon's working directory is not the client's
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.ofLocked(client); s != nil {
		s.project = path
	}
}

// ProjectOf returns the path of the settings file of a client's project, or of another client with the same scope; ""
// for none.
func (r *Registry) ProjectOf(client *checkpoint.Client) (path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.list {
		if s.Client == client {
			return s.project
		}
		if s.project != "" && s.Scope.Key() != "" && s.Scope.Key() == client.Scope.Key() {
			path = s.project
		}
	}
	return path
}

// ScopeOfTab returns the scope of a tab: the narrowest scope of a client that covers its origin, else the origin alone.
// The scope of an unknown tab, or of one without an origin, is everything.
func (r *Registry) ScopeOfTab(id int) checkpoint.Scope {
	origin := ""
	for _, t := range r.store.View(r.clock()).Tabs {
		if t.ID == id {
			origin = t.Origin
		}
	}
	return r.ScopeOf(origin)
}

// ScopeOf returns the narrowest scope of a client that covers an origin, else the origin alone. Without an origin the
// scope is everything.
func (r *Registry) ScopeOf(origin string) checkpoint.Scope {
	if origin == "" {
		return checkpoint.Scope{}
	}
	best := checkpoint.Scope{Origins: []string{origin}}
	found := false
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.list {
		n := len(s.Scope.Origins)
		if n > 0 && s.Scope.CoversOrigin(origin) && (!found || n < len(best.Origins)) {
			best, found = s.Scope, true
		}
	}
	return best
}

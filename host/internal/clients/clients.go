// Package clients knows who reads: agents, the command line and hooks, whether they are connected or have left and may
// come back.
//
// It guarantees: one that gives an id goes on where it was when it left, or when an earlier daemon ended; one without an
// id is forgotten when it leaves, others when they have been away for long. Whoever registers for a client's coming and
// going is called outside of the lock, in the order of registration.
package clients

import (
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/checkpoint"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// Clients that do not come back within forgetAfter, or while maxAway others were here later, are forgotten.
const (
	maxAway     = 64
	forgetAfter = 7 * 24 * time.Hour
)

// ErrSuspended is what an agent is given whose access a person has suspended.
var ErrSuspended = usererr.New(usererr.AgentSuspended, "a person has put this agent's access to Tidemark on hold, so nothing was done. Tell them what you need it for; they allow it again in Tidemark's viewer")

// Viewer is the client that a person is in the viewer.
func Viewer(scope checkpoint.Scope) *checkpoint.Client {
	return &checkpoint.Client{Name: "viewer", Scope: scope}
}

// Registry is all of them. It is safe for concurrent use.
type Registry struct {
	// Never changed after New, but for the lists of the On functions, which are filled before the first client comes.
	store                              *capture.Store
	clock                              func() time.Time
	onBack, onLeave, onForget, onNamed []func(*checkpoint.Client)

	mu   sync.Mutex
	list []*session
}

// session is a client; guarded by the lock of all.
type session struct {
	*checkpoint.Client
	id   string // "" for one that will not come back
	name string // what it is called now
	// since is when it came; seen when it was there last, when connections is 0.
	since, seen time.Time
	connections int
	project     string // the path of its project's file, "" for none
}

// Session is a client as it is at a moment.
type Session struct {
	*checkpoint.Client
	// ID is what it is known again by, "" for one that will not come back; Name what it calls itself now.
	ID, Name string
	// Since is when it came, Seen when it was here last; Here is whether it is connected.
	Since, Seen time.Time
	Here        bool
}

// New makes a registry without clients. A client that comes has looked at what the store holds at that moment.
func New(store *capture.Store, clock func() time.Time) *Registry {
	return &Registry{store: store, clock: clock}
}

// OnBack has f called when a client connects that was not connected.
func (r *Registry) OnBack(f func(*checkpoint.Client)) { r.onBack = append(r.onBack, f) }

// OnLeave has f called when a client's last connection has ended.
func (r *Registry) OnLeave(f func(*checkpoint.Client)) { r.onLeave = append(r.onLeave, f) }

// OnForget has f called when a client is forgotten.
func (r *Registry) OnForget(f func(*checkpoint.Client)) { r.onForget = append(r.onForget, f) }

// OnNamed has f called when a client calls itself by another name.
func (r *Registry) OnNamed(f func(*checkpoint.Client)) { r.onNamed = append(r.onNamed, f) }

func tell(list []func(*checkpoint.Client), clients ...*checkpoint.Client) {
	for _, c := range clients {
		for _, f := range list {
			f(c)
		}
	}
}

// Join takes in a client with a checkpoint of its own. One that gives an id goes on where it was when it left, or when
// an earlier daemon ended. Leave says that it has gone.
func (r *Registry) Join(id, name string, scope checkpoint.Scope) (client *checkpoint.Client, leave func()) {
	return r.JoinAs(id, &checkpoint.Client{Name: name, Scope: scope})
}

// JoinAs is [Registry.Join] for a client with a workspace or tool sets of its own. The one that it is from now on is
// returned: that of the id, when it was here before.
func (r *Registry) JoinAs(id string, as *checkpoint.Client) (client *checkpoint.Client, leave func()) {
	v := r.store.View(r.clock())
	s, back := r.join(id, as, v)
	if back {
		tell(r.onBack, s.Client)
	}
	return s.Client, func() { r.leave(s) }
}

func (r *Registry) join(id string, as *checkpoint.Client, v *capture.View) (s *session, back bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s = r.findLocked(id, as.Scope); s == nil {
		s = r.addLocked(id, as)
		looked(as, v)
	}
	if s.connections++; s.connections == 1 {
		s.since, s.Workspace, s.Sets = v.At, as.Workspace, as.Sets
	}
	return s, s.connections == 1
}

// looked has a client know of everything up to a view: an update before it came is nothing that it waits for.
func looked(client *checkpoint.Client, v *capture.View) {
	client.Lock()
	defer client.Unlock()
	client.LookedLocked(v)
}

// Enter is [Registry.Join] for a client that was made before it is known whether it stays.
func (r *Registry) Enter(client *checkpoint.Client) (leave func()) {
	v := r.store.View(r.clock())
	looked(client, v)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.addLocked("", client)
	s.since, s.connections = v.At, 1
	return func() { r.leave(s) }
}

// Restore puts in place a client that was kept, which may come back.
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

func (r *Registry) findLocked(id string, scope checkpoint.Scope) *session {
	i := slices.IndexFunc(r.list, func(s *session) bool { return id != "" && s.id == id && s.Scope.Key() == scope.Key() })
	if i < 0 {
		return nil
	}
	return r.list[i]
}

func (r *Registry) addLocked(id string, client *checkpoint.Client) *session {
	s := &session{Client: client, id: id, name: client.Name}
	r.list = append(r.list, s)
	return s
}

// ofLocked is the session of a client, nil when it is forgotten.
func (r *Registry) ofLocked(client *checkpoint.Client) *session {
	i := slices.IndexFunc(r.list, func(s *session) bool { return s.Client == client })
	if i < 0 {
		return nil
	}
	return r.list[i]
}

func (r *Registry) leave(s *session) {
	left, forgotten := r.left(s, r.clock())
	if left {
		tell(r.onLeave, s.Client)
	}
	tell(r.onForget, forgotten...)
}

// left counts a connection out, and says whether it was the client's last.
func (r *Registry) left(s *session, now time.Time) (left bool, forgotten []*checkpoint.Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.connections--; s.connections == 0 {
		s.seen = now
		forgotten = r.trimLocked(now)
	}
	return s.connections == 0, forgotten
}

// trimLocked forgets those who will not come back, and those who have not for long.
func (r *Registry) trimLocked(now time.Time) (forgotten []*checkpoint.Client) {
	away := 0
	for i := len(r.list) - 1; i >= 0; i-- {
		s := r.list[i]
		if s.connections > 0 {
			continue
		}
		if away++; s.id == "" || away > maxAway || now.Sub(s.seen) > forgetAfter {
			r.list = slices.Delete(r.list, i, i+1)
			forgotten = append(forgotten, s.Client)
		}
	}
	return forgotten
}

// Returning is the client of that name and scope, which is never here but comes for a moment each time.
func (r *Registry) Returning(name string, scope checkpoint.Scope) *checkpoint.Client {
	client, forgotten := r.returning(name, scope, r.clock())
	tell(r.onForget, forgotten...)
	return client
}

func (r *Registry) returning(name string, scope checkpoint.Scope, now time.Time) (*checkpoint.Client, []*checkpoint.Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.findLocked(name, scope)
	if s == nil {
		s = r.addLocked(name, &checkpoint.Client{Name: name, Scope: scope})
	} else if i := slices.Index(r.list, s); i < len(r.list)-1 {
		r.list = append(slices.Delete(r.list, i, i+1), s) // those who were here last are kept longest
	}
	s.seen = now
	return s.Client, r.trimLocked(now)
}

// Sessions are all of them, in the order in which they came; those that come for a moment each time in the order in
// which they were here last.
func (r *Registry) Sessions() []Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Session, 0, len(r.list))
	for _, s := range r.list {
		list = append(list, Session{Client: s.Client, ID: s.id, Name: s.name, Since: s.since, Seen: s.seen, Here: s.connections > 0})
	}
	return list
}

// IsHere says whether a client is connected.
func (r *Registry) IsHere(client *checkpoint.Client) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.ofLocked(client)
	return s != nil && s.connections > 0
}

// NameOf is what a client calls itself now.
func (r *Registry) NameOf(client *checkpoint.Client) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.ofLocked(client); s != nil && s.name != "" {
		return s.name
	}
	return client.Name
}

// Rename gives a client the name that it introduced itself with.
func (r *Registry) Rename(client *checkpoint.Client, name string) {
	if r.rename(client, name) {
		tell(r.onNamed, client)
	}
}

// rename says whether the name is another one.
func (r *Registry) rename(client *checkpoint.Client, name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.ofLocked(client)
	if s == nil || s.name == name {
		return false
	}
	s.name = name
	return true
}

// InProject says in which project a client works: the path of its settings file, "" for none.
func (r *Registry) InProject(client *checkpoint.Client, path string) {
	if path != "" && !filepath.IsAbs(path) {
		return // nobody's working directory is the daemon's
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.ofLocked(client); s != nil {
		s.project = path
	}
}

// ProjectOf is the path of the settings file of a client's project: of its own, or of that of another client of the
// same scope; "" for none.
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

// ScopeOfTab is the scope that a tab belongs to: the narrowest of a client that covers its origin,
// else the origin alone; everything for a tab that is not known or has no origin.
func (r *Registry) ScopeOfTab(id int) checkpoint.Scope {
	origin := ""
	for _, t := range r.store.View(r.clock()).Tabs {
		if t.ID == id {
			origin = t.Origin
		}
	}
	return r.ScopeOf(origin)
}

// ScopeOf is the narrowest scope of a client that covers an origin, else that of the origin alone; everything without
// an origin.
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
		if n > 0 && s.Scope.Covers(origin) && (!found || n < len(best.Origins)) {
			best, found = s.Scope, true
		}
	}
	return best
}

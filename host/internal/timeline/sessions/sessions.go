// Package sessions has the sessions of all workspaces, with the branches of each.
//
// It guarantees: what it returns is on disk; a session that was returned never changes, a changed one is another value.
package sessions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark.dev/tidemark/host/internal/event"
	"tidemark.dev/tidemark/host/internal/timeline/records"
	"tidemark.dev/tidemark/host/internal/usererr"
	"tidemark.dev/tidemark/host/internal/workspace"
)

// Registry has the sessions of all workspaces. It is safe for concurrent use. A session in it is replaced, never changed.
type Registry struct {
	db *records.DB

	mu   sync.Mutex
	list []*records.Session // by their start
}

// Read reads the sessions of a database.
func Read(d *records.DB) (*Registry, error) {
	list, err := d.Sessions()
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b *records.Session) int { return a.Started.Compare(b.Started) })
	for _, s := range list {
		s.Space = workspace.ID(s.Workspace)
	}
	return &Registry{db: d, list: list}, nil
}

// All returns the sessions by their start.
func (r *Registry) All() []*records.Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

// Origin returns the session that a branch comes from in the end, or the session itself; nil if it is not known.
func (r *Registry) Origin(s *records.Session) *records.Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	for range len(r.list) + 1 {
		if s == nil || s.BranchOf == nil {
			return s
		}
		s = r.findLocked(s.BranchOf.Session)
	}
	return nil // they come from each other: the file was not written by Tidemark
}

func (r *Registry) findLocked(id string) *records.Session {
	if i := slices.IndexFunc(r.list, func(s *records.Session) bool { return s.ID == id }); i >= 0 {
		return r.list[i]
	}
	return nil
}

// Begin adds a new session, and gives it its ID.
func (r *Registry) Begin(s *records.Session) error {
	s.Space = workspace.ID(s.Workspace)
	if err := r.db.Begin(s, workspace.Slug(s.Workspace)); err != nil {
		return fmt.Errorf("cannot save the session: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, s)
	return nil
}

// Again adds a session that was removed.
func (r *Registry) Again(s *records.Session) error {
	s.Space = workspace.ID(s.Workspace)
	if err := r.db.Save(s); err != nil {
		return fmt.Errorf("cannot save the session: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(slices.DeleteFunc(r.list, func(o *records.Session) bool { return o.ID == s.ID }), s)
	slices.SortFunc(r.list, func(a, b *records.Session) int { return cmp.Compare(a.Number(), b.Number()) })
	return nil
}

// Finish ends a session. Shift is how far the clock was set back in it.
func (r *Registry) Finish(s *records.Session, at time.Time, shift time.Duration) error {
	return r.Update(s.ID, func(s *records.Session) { s.Ended, s.Shift = at, shift })
}

// Update changes a session.
func (r *Registry) Update(id string, change func(*records.Session)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.updateLocked(id, change)
}

func (r *Registry) updateLocked(id string, change func(*records.Session)) error {
	s := r.findLocked(id)
	if s == nil {
		return usererr.New(usererr.NotFound, "session %s no longer exists", id)
	}
	changed := *s
	change(&changed)
	if err := r.db.Save(&changed); err != nil {
		return fmt.Errorf("cannot save the session: %w", err)
	}
	r.list[slices.Index(r.list, s)] = &changed
	return nil
}

// Remove removes a session. Its moments stay, without being listed. One that has branches, which need it, remains as one that was
// removed.
func (r *Registry) Remove(s *records.Session, at time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock() // else a change of it could bring it back
	if slices.ContainsFunc(r.list, func(b *records.Session) bool { return b.BranchOf != nil && b.BranchOf.Session == s.ID }) {
		return r.updateLocked(s.ID, func(s *records.Session) { s.Ended, s.Removed = at, true })
	}
	if err := r.db.Remove(s.ID); err != nil {
		return fmt.Errorf("cannot remove the session: %w", err)
	}
	r.list = slices.DeleteFunc(r.list, func(o *records.Session) bool { return o.ID == s.ID })
	return nil
}

// Last returns the last session of which a function is true, nil if there is none.
func (r *Registry) Last(of func(*records.Session) bool) *records.Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range slices.Backward(r.list) {
		if of(s) {
			return s
		}
	}
	return nil
}

// Open returns the open session of a workspace, nil if there is none.
func (r *Registry) Open(root string) *records.Session {
	return r.Last(func(s *records.Session) bool { return s.Workspace == root && s.Ended.IsZero() })
}

// Latest returns the open session of a workspace, or else the last one; nil if there was none.
func (r *Registry) Latest(root string) *records.Session {
	return r.Last(func(s *records.Session) bool { return s.Workspace == root })
}

// Find returns a session by its ID. The error names the last ones.
func (r *Registry) Find(id string) (*records.Session, error) {
	return r.FindAmong(id, func(*records.Session) bool { return true })
}

// FindAmong is [Registry.Find] for somebody who may not know all sessions. The error names only those of which known reports true.
func (r *Registry) FindAmong(id string, known func(*records.Session) bool) (*records.Session, error) {
	r.mu.Lock()
	s := r.findLocked(id)
	r.mu.Unlock()
	if s != nil {
		return s, nil
	}
	var ids []string
	for _, s := range slices.Backward(r.All()) {
		if !known(s) {
			continue
		}
		if ids = append(ids, s.ID); len(ids) == 5 {
			break
		}
	}
	if len(ids) == 0 {
		return nil, usererr.New(usererr.NotFound, "there is no session %q, because no session was recorded yet", event.Clean(id))
	}
	return nil, usererr.New(usererr.NotFound, "there is no session %q. The last sessions are %s.", event.Clean(id), strings.Join(ids, ", "))
}

// Within reports whether a session, or the one that it branched from, is of a directory.
func (r *Registry) Within(s *records.Session, dir string) bool {
	if event.Within(s.Workspace, dir) {
		return true
	}
	from := r.Origin(s)
	return from != nil && event.Within(from.Workspace, dir)
}

// BranchesOf returns the branches of a session by their number, without those that were removed.
func (r *Registry) BranchesOf(s *records.Session) (list []*records.Session) {
	for _, b := range r.All() {
		if b.BranchOf != nil && b.BranchOf.Session == s.ID && !b.Removed {
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(a, b *records.Session) int { return cmp.Compare(a.Number(), b.Number()) })
	return list
}

// Move makes the sessions of a directory those of another one, with their moments and operations.
func (r *Registry) Move(from, to string) (n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := make([]*records.Session, len(r.list))
	for i, s := range r.list {
		if next[i] = s; s.Workspace == from {
			there := *s
			there.Workspace, there.Space = to, workspace.ID(to)
			there.Formerly = append(slices.Clone(s.Formerly), from)
			next[i] = &there
			n++
		}
	}
	var moved []*records.Session
	for i, s := range next {
		if s != r.list[i] {
			moved = append(moved, s)
		}
	}
	err = r.db.Move(moved, workspace.ID(from), workspace.ID(to))
	if err == nil {
		r.list = next
	}
	return n, err
}

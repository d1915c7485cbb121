package timeline

import (
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

// registry has the sessions of all workspaces. It is safe for concurrent use. A Session in it is replaced, never changed.
type registry struct {
	db *records.DB

	mu   sync.Mutex
	list []*Session // by their start
}

func readSessions(d *records.DB) (*registry, error) {
	list, err := d.Sessions()
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b *Session) int { return a.Started.Compare(b.Started) })
	for _, s := range list {
		s.Space = workspace.ID(s.Workspace)
	}
	return &registry{db: d, list: list}, nil
}

// all returns the sessions by their start.
func (r *registry) all() []*Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

// origin returns the session that a branch comes from in the end, or the session itself; nil if it is not known.
func (r *registry) origin(s *Session) *Session {
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

func (r *registry) findLocked(id string) *Session {
	if i := slices.IndexFunc(r.list, func(s *Session) bool { return s.ID == id }); i >= 0 {
		return r.list[i]
	}
	return nil
}

// at returns the open session of a workspace at a time, and begins one if there is none, or if nothing has happened in it
// for long. The caller has the line's turn.
func (r *registry) at(l *line, now time.Time) (s *Session, began bool, err error) {
	if s = r.open(l.root); s != nil {
		last := l.lastAt()
		if s.Started.After(last) {
			last = s.Started
		}
		if s.BranchOf != nil || now.Sub(last) < sessionGap {
			return s, false, nil
		}
		if err := r.finish(s, last, l.shift(s)); err != nil {
			return nil, false, err
		}
	}
	s = &Session{Workspace: l.root, Started: now}
	return s, true, r.begin(s)
}

// begin adds a new session, and gives it its ID.
func (r *registry) begin(s *Session) error {
	s.Space = workspace.ID(s.Workspace)
	if err := r.db.Begin(s, workspace.Slug(s.Workspace)); err != nil {
		return fmt.Errorf("cannot save the session: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, s)
	return nil
}

// finish ends a session. Shift is how far the clock was set back in it.
func (r *registry) finish(s *Session, at time.Time, shift time.Duration) error {
	ended := *s
	ended.Ended, ended.Shift = at, shift
	if err := r.db.Save(&ended); err != nil {
		return fmt.Errorf("cannot save the session: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list[slices.Index(r.list, s)] = &ended
	return nil
}

// remove removes a session. Its moments stay, without being listed.
func (r *registry) remove(s *Session) error {
	if err := r.db.Remove(s.ID); err != nil {
		return fmt.Errorf("cannot remove the session: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = slices.DeleteFunc(r.list, func(o *Session) bool { return o.ID == s.ID })
	return nil
}

// last returns the last session of which a function is true, nil if there is none.
func (r *registry) last(of func(*Session) bool) *Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range slices.Backward(r.list) {
		if of(s) {
			return s
		}
	}
	return nil
}

// open returns the open session of a workspace, nil if there is none.
func (r *registry) open(root string) *Session {
	return r.last(func(s *Session) bool { return s.Workspace == root && s.Ended.IsZero() })
}

// latest returns the open session of a workspace, or else the last one; nil if there was none.
func (r *registry) latest(root string) *Session {
	return r.last(func(s *Session) bool { return s.Workspace == root })
}

// find returns a session by its ID.
func (r *registry) find(id string) (*Session, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.findLocked(id); s != nil {
		return s, nil
	}
	var ids []string
	for _, s := range slices.Backward(r.list) {
		if ids = append(ids, s.ID); len(ids) == 5 {
			break
		}
	}
	if len(ids) == 0 {
		return nil, usererr.New(usererr.NotFound, "there is no session %q, because no session was recorded yet", event.Clean(id))
	}
	return nil, usererr.New(usererr.NotFound, "there is no session %q. The last sessions are %s.", event.Clean(id), strings.Join(ids, ", "))
}

// within reports whether a session, or the one that it branched from, is of a directory.
func (r *registry) within(s *Session, dir string) bool {
	if event.Within(s.Workspace, dir) {
		return true
	}
	from := r.origin(s)
	return from != nil && event.Within(from.Workspace, dir)
}

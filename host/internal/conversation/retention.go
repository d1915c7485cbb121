package conversation

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

// pruneEach is how often old conversations are deleted.
const pruneEach = time.Hour

// usage is what a file takes.
type usage struct {
	f     *file
	bytes int64
	last  time.Time
}

// usages returns what the files take, the oldest first.
func (s *Store) usages() (list []usage, total int64) {
	s.mu.Lock()
	files := s.all()
	s.mu.Unlock()
	for _, f := range files {
		if info, err := os.Stat(f.path); err == nil {
			list = append(list, usage{f, info.Size(), info.ModTime()})
			total += info.Size()
		}
	}
	slices.SortStableFunc(list, func(a, b usage) int { return a.last.Compare(b.last) })
	return list, total
}

// prune deletes the conversations that are too old, and the oldest ones until all take no more than they may. It returns
// which, and what they took.
func (s *Store) prune(limits Settings) (deleted []string, freed int64) {
	now := s.o.Clock()
	list, total := s.usages()
	for _, u := range list {
		if now.Sub(u.last) <= limits.age() && total <= limits.bytes() {
			continue
		}
		if err := s.remove(u.f); err != nil {
			s.o.Log.Warn("cannot delete a recorded conversation", "recording", u.f.id, "error", err)
			continue
		}
		deleted, freed, total = append(deleted, u.f.id), freed+u.bytes, total-u.bytes
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pruned = now
	return deleted, freed
}

// remove deletes a conversation.
func (s *Store) remove(f *file) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.out != nil {
		_ = f.out.Close()
		f.out = nil
	}
	if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f.removed = true
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files[f.id] == f {
		delete(s.files, f.id)
	}
	return nil
}

// room deletes old conversations from time to time, and returns an error where one alone takes more than all may.
func (s *Store) room(f *file) error {
	s.mu.Lock()
	due := s.o.Clock().Sub(s.pruned) >= pruneEach
	s.mu.Unlock()
	f.mu.Lock()
	size := f.size
	f.mu.Unlock()
	if due {
		s.prune(s.o.Settings)
	}
	if limit := s.o.Settings.bytes(); size >= limit {
		return fmt.Errorf("recording %s takes %d MiB, which is all that recordings may take. Raise mib in [recordings] of config.toml, or run `tidemark recordings rm %s`", f.id, limit>>20, f.id)
	}
	return nil
}

// find returns the file of a recording's ID, or of an agent's ID of its session.
func (s *Store) find(id string) *file {
	s.mu.Lock()
	files := s.all()
	f := s.files[id]
	s.mu.Unlock()
	if f != nil {
		return f
	}
	var best *file
	for _, f := range files {
		f.mu.Lock()
		err := f.load()
		same := err == nil && f.head.Session == id
		f.mu.Unlock()
		if same && (best == nil || cmp.Less(best.last, f.last)) {
			best = f
		}
	}
	return best
}

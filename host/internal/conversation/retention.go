package conversation

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"tidemark.dev/tidemark/host/internal/retention"
)

// pruneEach is how often old conversations are deleted.
const pruneEach = time.Hour

// prune deletes the conversations that are too old, and the oldest ones until all take no more than they may.
func (s *Store) prune(age retention.Age, limits Settings) retention.Pruned {
	s.mu.Lock()
	s.pruned = s.o.Clock()
	list := s.all()
	s.mu.Unlock()
	byID := map[string]*file{}
	var files []retention.File
	for _, f := range list {
		if info, err := os.Lstat(f.path); err == nil {
			byID[f.id] = f
			files = append(files, retention.File{ID: f.id, Bytes: info.Size(), Written: info.ModTime()})
		}
	}
	done, err := retention.Prune(age, retention.Policy{Age: limits.age(), Bytes: limits.bytes()}, files, func(id string) (bool, error) {
		err := s.remove(byID[id])
		return err == nil, err
	})
	if err != nil {
		s.o.Log.Warn("cannot delete recorded conversations", "error", err)
	}
	if len(done.Deleted) > 0 {
		s.o.Log.Info("deleted recorded conversations that are too old, or that take too much", "ids", done.Deleted, "freedBytes", done.Freed)
	}
	return done
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
		s.prune(s.o.Age, s.o.Settings)
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

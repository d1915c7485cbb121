//go:build !linux

package tree

import (
	"io/fs"
	"sync"
)

// anySpelling is true where a file has names that no directory lists: in another case, or short.
const anySpelling = true

// spelling has the names in directories, as far as a scan needed them to tell a name from another spelling of it.
type spelling struct {
	mu    sync.Mutex
	names map[string]map[string]bool
}

// forget forgets the names: they may have changed.
func (s *spelling) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = nil
}

// spelled returns [fs.ErrNotExist] if a directory does not list a name as it is spelled.
func (s *spelling) spelled(r *root, path string) error {
	if path == "" {
		return nil
	}
	dir := Parent(path)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names[dir] == nil {
		d, names, err := r.list(dir)
		if err != nil {
			return err
		}
		d.close()
		listed := make(map[string]bool, len(names))
		for _, name := range names {
			listed[name] = true
		}
		if s.names == nil {
			s.names = map[string]map[string]bool{}
		}
		s.names[dir] = listed
	}
	if !s.names[dir][Base(path)] {
		return fs.ErrNotExist
	}
	return nil
}

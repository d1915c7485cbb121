package objects

import (
	"os"
	"path/filepath"
)

// Share makes a new directory the one of another store with the same contents. Its packs are the same files. They are synced,
// and neither store adds to them or makes holes in them while the other one has them.
func (s *Store) Share(dir string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.flush(); err != nil {
		return err
	}
	if err := s.sync(); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	s.active = nil // the next record begins another pack
	for _, p := range s.packs {
		if err := os.Link(p.file.Name(), filepath.Join(dir, filepath.Base(p.file.Name()))); err != nil {
			return err
		}
	}
	return SyncDir(dir)
}

// shared reports whether other stores have the pack, too. Where that is not known, it is true.
func (p *pack) shared() bool {
	n, err := links(p.file)
	return err != nil || n > 1
}

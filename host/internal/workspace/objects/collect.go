package objects

import (
	"cmp"
	"fmt"
	"os"
	"slices"
)

// Collect removes contents that live does not want, as far as that frees at least a quarter of a pack. Live is asked
// about every content, and must be true for those that are put meanwhile. It returns how many bytes were freed.
//
// It may be killed at any moment: a pack is removed after the contents it shares are on disk in another one.
func (s *Store) Collect(live func(ID) bool) (freed int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.flush(); err != nil {
		return 0, err
	}
	before := s.stored
	// The active pack takes part too. The next record begins another pack.
	packs := make([]*pack, 0, len(s.packs))
	for _, p := range s.packs {
		packs = append(packs, p)
	}
	slices.SortFunc(packs, func(a, b *pack) int { return cmp.Compare(a.number, b.number) })
	s.active = nil
	for _, p := range packs {
		if err := s.collectPack(p, live); err != nil {
			return before - s.stored, err
		}
	}
	return before - s.stored, nil
}

// collectPack copies the live contents of a pack and removes it, unless it is mostly live.
func (s *Store) collectPack(p *pack, live func(ID) bool) error {
	var total, dead int64
	keep := map[uint32][]int{}
	var order []uint32
	if err := p.scan(false, func(offset uint32, items []item) {
		for i, it := range items {
			total += int64(it.size) + int64(tableRow)
			if at, _ := s.index.get(it.id); at.pack != p.number || at.offset != offset || !live(it.id) {
				dead += int64(it.size) + int64(tableRow) // dead, or stored twice
				continue
			}
			if keep[offset] == nil {
				order = append(order, offset)
			}
			keep[offset] = append(keep[offset], i)
		}
	}); err != nil {
		return err
	}
	if dead == 0 || dead*4 < total {
		return nil
	}
	moved := block{}
	flush := func() error {
		if len(moved.items) == 0 {
			return nil
		}
		s.pending, moved = moved, s.pending
		err := s.flush()
		s.pending, moved = moved, s.pending
		return err
	}
	for _, offset := range order {
		b, err := p.read(offset, s.decoder)
		if err != nil {
			return err
		}
		for _, i := range keep[offset] {
			content := b.content(i)
			if IDOf(content) != b.items[i].id {
				return fmt.Errorf("%s is damaged: the content %d at %d is not %s", p.file.Name(), i, offset, b.items[i].id)
			}
			if moved.raw() > 0 && moved.raw()+len(content) > blockSize || len(moved.items) == maxItems {
				if err := flush(); err != nil {
					return err
				}
			}
			moved.add(b.items[i].id, content)
		}
	}
	if err := flush(); err != nil {
		return err
	}
	if err := s.sync(); err != nil {
		return err
	}
	// From here on nothing needs the pack.
	if err := p.scan(false, func(_ uint32, items []item) {
		for _, it := range items {
			if at, _ := s.index.get(it.id); at.pack == p.number {
				s.index.remove(it.id)
			}
		}
	}); err != nil {
		return err
	}
	name := p.file.Name()
	delete(s.packs, p.number)
	s.unsaved = slices.DeleteFunc(s.unsaved, func(u *pack) bool { return u == p })
	s.cache = cache{}
	s.stored -= p.size
	if err := p.file.Close(); err != nil {
		return err
	}
	return os.Remove(name)
}

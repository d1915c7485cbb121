package objects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"tidemark.dev/tidemark/installer/safefile"
)

// Waste is the share of a pack's bytes that may be dead when it is left as it is.
type Waste int

// Usual leaves a pack that is less than a quarter dead. None copies the live contents of every pack that has a dead one.
const (
	Usual Waste = iota
	None
)

// Collect removes contents that live does not want. Live is asked about every content, and must be true for those that
// are put meanwhile. It returns how many bytes were freed, also after an error.
//
// It may be cancelled between two packs, and killed at any moment: a pack is removed after the contents it shares are on
// disk in another one.
func (s *Store) Collect(ctx context.Context, waste Waste, live func(ID) bool) (freed int64, err error) {
	for _, n := range s.Packs() {
		if err := ctx.Err(); err != nil {
			return freed, err
		}
		more, err := s.CollectPack(n, waste, live)
		freed += more
		if err != nil {
			return freed, err
		}
	}
	return freed, nil
}

// Packs returns the numbers of the packs, the oldest first.
func (s *Store) Packs() []uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.packs))
}

// CollectPack is [Store.Collect] for one pack. A pack that no longer exists is no error. Where the disk has no room for the
// copy, the pack stays, and the room of records without live contents is given back to the filesystem, if that takes it.
func (s *Store) CollectPack(number uint32, waste Waste, live func(ID) bool) (freed int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.packs[number]
	if p == nil {
		return 0, nil
	}
	s.dropPending(live)
	before := s.stored
	active := s.active
	if active == p {
		s.active = nil // it takes part too: the next record begins another pack
	}
	collected, err := s.collectPack(p, waste, live)
	if !collected && s.active == nil && s.packs[number] == p {
		s.active = active
	}
	if NoRoom(err) && s.packs[number] == p {
		switch dug, failed := s.digUp(p, live); {
		case failed != nil:
			err = errors.Join(err, failed)
		case dug:
			err = nil
		}
	}
	return before - s.stored, err
}

// dropPending removes contents from the pending block that live does not want.
func (s *Store) dropPending(live func(ID) bool) {
	kept := block{}
	for i, it := range s.pending.items {
		if live(it.id) {
			s.index.set(it.id, place{0, 0, uint16(len(kept.items))})
			kept.add(it.id, s.pending.content(i))
		} else {
			s.index.remove(it.id)
		}
	}
	if len(kept.items) < len(s.pending.items) {
		s.pending = kept
	}
}

// collectPack copies the live contents of a pack and removes it, unless it is mostly live.
func (s *Store) collectPack(p *pack, waste Waste, live func(ID) bool) (collected bool, err error) {
	var total, dead int64
	var damaged error
	keep := map[uint32][]int{}
	var order []uint32
	if err := p.whole(func(offset uint32, h header, items []item) {
		for i, it := range items {
			total += h.share(it)
			if at, is := s.damaged[it.id]; is && at.pack == p.number && at.offset == offset && live(it.id) {
				damaged = cmp.Or(damaged, error(&DamagedError{p.file.Name(), int64(offset), fmt.Errorf("the content %d is not %s", i, it.id)}))
			}
			if at, _ := s.index.get(it.id); at.pack != p.number || at.offset != offset || !live(it.id) {
				dead += h.share(it) // dead, or stored twice
				continue
			}
			if keep[offset] == nil {
				order = append(order, offset)
			}
			keep[offset] = append(keep[offset], i)
		}
	}); err != nil || damaged != nil {
		return false, cmp.Or(err, damaged) // what can be read of it is kept
	}
	if dead == 0 || waste == Usual && dead*4 < total {
		return false, nil
	}
	if len(order) > 0 {
		at := s.here()
		defer func() {
			if err != nil && s.packs[p.number] == p {
				err = errors.Join(err, s.takeBack(at, p, keep))
			}
		}()
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
		if b == nil {
			return false, err
		}
		for _, i := range keep[offset] {
			content := b.content(i)
			if IDOf(content) != b.items[i].id {
				return false, cmp.Or(err, error(&DamagedError{p.file.Name(), int64(offset), fmt.Errorf("the content %d is not %s", i, b.items[i].id)}))
			}
			if moved.raw() > 0 && moved.raw()+len(content) > blockSize || len(moved.items) == maxItems {
				if err := flush(); err != nil {
					return false, err
				}
			}
			moved.add(b.items[i].id, content)
		}
	}
	if err := flush(); err != nil {
		return false, err
	}
	if err := s.sync(); err != nil {
		return false, err
	}
	// From here on nothing needs the pack.
	if err := p.whole(func(_ uint32, _ header, items []item) {
		for _, it := range items {
			if at, _ := s.index.get(it.id); at.pack == p.number {
				s.index.remove(it.id)
			}
			if at := s.damaged[it.id]; at.pack == p.number {
				delete(s.damaged, it.id)
			}
		}
	}); err != nil {
		return false, err
	}
	name := p.file.Name()
	delete(s.packs, p.number)
	s.unsaved = slices.DeleteFunc(s.unsaved, func(u *pack) bool { return u == p })
	s.cache = cache{}
	s.stored -= p.bytes()
	if err := p.file.Close(); err != nil {
		return false, err
	}
	_ = os.Remove(name + cutSuffix) // in the usual case there is none
	return true, safefile.Remove(name)
}

// Each calls do with every content and an estimate of the bytes that it takes on disk: its share of its record. A content
// that is stored twice is one of the two times other. The sum of all is [Store.Size] but for the heads of files and records.
func (s *Store) Each(do func(id ID, bytes int64, other bool)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range slices.Sorted(maps.Keys(s.packs)) {
		p := s.packs[n]
		if _, _, err := p.scan(func(offset uint32, h header, items []item) {
			for _, it := range items {
				at, _ := s.index.get(it.id)
				do(it.id, h.share(it), at.pack != n || at.offset != offset)
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

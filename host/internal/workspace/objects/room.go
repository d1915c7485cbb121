package objects

import (
	"errors"
	"maps"
	"os"
	"slices"
)

// mark is where the store ends.
type mark struct {
	active *pack
	size   int64
	next   uint32
}

func (s *Store) here() mark {
	m := mark{active: s.active, next: s.next}
	if m.active != nil {
		m.size = m.active.size
	}
	return m
}

// takeBack removes what was written since a mark: contents that are in a pack too, by the offsets of their records.
func (s *Store) takeBack(m mark, p *pack, contents map[uint32][]int) error {
	for offset, numbers := range contents {
		_, items, err := p.head(int64(offset))
		if err != nil {
			return err
		}
		for _, i := range numbers {
			s.index.set(items[i].id, place{p.number, offset, uint16(i)})
		}
	}
	s.cache = cache{}
	var errs []error
	for n, since := range s.packs {
		if n < m.next {
			continue
		}
		delete(s.packs, n)
		s.unsaved = slices.DeleteFunc(s.unsaved, func(u *pack) bool { return u == since })
		s.stored -= since.bytes()
		errs = append(errs, since.file.Close(), os.Remove(since.file.Name()))
	}
	if s.active = m.active; s.active != nil && s.active.size > m.size {
		if err := s.active.file.Truncate(m.size); err != nil {
			return errors.Join(append(errs, err)...)
		}
		s.stored -= s.active.size - m.size
		s.active.size = m.size
	}
	return errors.Join(errs...)
}

// minHole is the smallest hole that is made, in bytes: filesystems give back whole blocks.
const minHole = 16 << 10

// digUp makes holes of the records of a pack in which nothing is live, and reports whether it made one. It needs no room. A
// kill leaves a record, or a hole.
func (s *Store) digUp(p *pack, live func(ID) bool) (dug bool, err error) {
	if p.shared() {
		return false, nil
	}
	if err := dig(p.file, p.size, minHole); err != nil {
		return false, nil //nolint:nilerr // the filesystem has no holes
	}
	type run struct{ from, to int64 }
	var runs []run
	dead := map[ID]bool{}
	if err := p.whole(func(offset uint32, h header, items []item) {
		at := int64(offset)
		for _, it := range items {
			if is, _ := s.index.get(it.id); is.pack == p.number && is.offset == offset && live(it.id) {
				return
			}
		}
		if len(items) == 0 {
			return
		}
		for _, it := range items {
			if is, _ := s.index.get(it.id); is.pack == p.number && is.offset == offset {
				dead[it.id] = true
			}
		}
		if last := len(runs) - 1; last >= 0 && runs[last].to == at && at+h.size()-runs[last].from <= headSize+MaxContent {
			runs[last].to = at + h.size()
			return
		}
		runs = append(runs, run{at, at + h.size()})
	}); err != nil {
		return false, err
	}
	runs = slices.DeleteFunc(runs, func(r run) bool { n := r.to - r.from - headSize; return n < minHole || n > MaxContent })
	if len(runs) == 0 {
		return false, nil
	}
	for id := range dead {
		s.index.remove(id)
	}
	maps.DeleteFunc(s.damaged, func(_ ID, at place) bool {
		return at.pack == p.number && slices.ContainsFunc(runs, func(r run) bool { return r.from <= int64(at.offset) && int64(at.offset) < r.to })
	})
	s.cache = cache{}
	zeros := make([]byte, MaxContent)
	for _, r := range runs {
		content := zeros[:r.to-r.from-headSize]
		header := head([]item{{IDOf(content), uint32(len(content))}}, len(content), content, hole)
		if _, err := p.file.WriteAt(header, r.from); err != nil {
			return false, err
		}
	}
	// The contents go after they are no longer named.
	if err := p.file.Sync(); err != nil {
		return false, err
	}
	for _, r := range runs {
		n := r.to - r.from - headSize
		if err := dig(p.file, r.from+headSize, n); err != nil {
			return dug, err
		}
		dug = true
		p.holes += n
		s.stored -= n
	}
	return dug, nil
}

// dig makes zeros of a part of a file, which take no room on disk. Tests set it.
var dig = digIn

// headSize is the size of the header and the table of a hole.
const headSize = int64(headerSize + tableRow)

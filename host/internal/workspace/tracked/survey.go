package tracked

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// survey is what the snapshots need of the store. It keeps 8 bytes of each ID: should two contents have them in common,
// one is kept for nothing.
type survey struct {
	p         *Provider
	rewritten int
	// seen is the number of the newest snapshot in it.
	seen uint64
	// contents are those of files, streams those of trees and changes.
	contents map[uint64]span
	streams  map[uint64]bool
	// others are contents that no kept snapshot needs, but a checkout that is being written, or the next snapshot.
	others map[uint64]bool
}

// span is from which to which kept snapshot a content is needed, by their place. While a survey is made, uses counts the
// paths that have the content.
type span struct{ first, last, uses int32 }

func key(id objects.ID) uint64 { return binary.LittleEndian.Uint64(id[:]) }

func (s *survey) needs(id objects.ID) bool {
	_, ok := s.contents[key(id)]
	return ok || s.streams[key(id)] || s.others[key(id)]
}

// other notes the contents of an entry.
func (s *survey) other(e *tree.Entry) error {
	ids, err := s.p.idsOf(e)
	if err != nil && !errors.Is(err, objects.ErrMissing) {
		return err
	}
	for _, id := range ids {
		s.others[key(id)] = true
	}
	return nil
}

// use notes that one more path, or one less, has the contents of an entry from a snapshot on.
func (s *survey) use(e *tree.Entry, at, by int32) error {
	ids, err := s.p.idsOf(e)
	if err != nil && !errors.Is(err, objects.ErrMissing) { // without its list a content cannot be read
		return err
	}
	for _, id := range ids {
		c, known := s.contents[key(id)]
		if !known {
			c = span{first: at, last: -1}
		}
		c.uses += by
		if by < 0 && c.uses == 0 {
			c.last = max(c.last, at-1)
		}
		s.contents[key(id)] = c
	}
	return nil
}

// stream notes a stream.
func (s *survey) stream(st stream) error {
	if !st.is() {
		return nil
	}
	ids, err := s.p.chunks(st.List)
	if err != nil && !errors.Is(err, objects.ErrMissing) {
		return err
	}
	for _, id := range append(ids, st.List) {
		s.streams[key(id)] = true
	}
	return nil
}

// surveyOf reads what the snapshots need. The caller has the turn and the lock.
func surveyOf(p *Provider) (*survey, error) {
	s := &survey{p: p, rewritten: p.rewritten, seen: p.highest, contents: map[uint64]span{}, streams: map[uint64]bool{}, others: map[uint64]bool{}}
	at, before := int32(-1), -1
	for i, one := range p.all {
		// Those of deleted ones are needed too, until the history is rewritten.
		if err := errors.Join(s.stream(one.rec.Tree), s.stream(one.rec.DeltaAt)); err != nil {
			return nil, err
		}
		if one.deleted {
			continue
		}
		at++
		if before < 0 {
			t, err := p.treeAt(i)
			if err != nil {
				return nil, err
			}
			for _, n := range t.All() {
				if err := s.use(&n.Entry, at, 1); err != nil {
					return nil, err
				}
			}
		} else {
			changes, err := p.between(before, i)
			if err != nil {
				return nil, err
			}
			for _, by := range []int32{1, -1} { // a content that moves is never without use
				for _, c := range changes {
					e := c.After
					if by < 0 {
						e = c.Before
					}
					if err := s.use(e, at, by); err != nil {
						return nil, err
					}
				}
			}
		}
		before = i
	}
	for k, c := range s.contents {
		if c.uses > 0 {
			c.last = at
			s.contents[k] = c
		}
	}
	trees := slices.Collect(maps.Keys(p.reading))
	if len(p.all) > 0 && p.all[len(p.all)-1].deleted {
		trees = append(trees, p.now) // it says what need not be stored
	}
	for _, t := range trees {
		for _, n := range t.All() {
			if err := s.other(&n.Entry); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// between returns the changes from one place in the list to a later one.
func (p *Provider) between(from, to int) ([]tree.Change, error) {
	steps := [][]tree.Change{}
	for i := from + 1; i <= to; i++ {
		step, err := p.delta(p.all[i].rec)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return tree.Compose(steps...), nil
}

// extend adds the snapshots that were taken since.
func (s *survey) extend() error {
	p := s.p
	for i := len(p.all) - 1; i >= 0 && p.all[i].Number > s.seen; i-- {
		rec := p.all[i].rec
		changes, err := p.delta(rec)
		if err != nil {
			return err
		}
		if err := errors.Join(s.stream(rec.Tree), s.stream(rec.DeltaAt)); err != nil {
			return err
		}
		for _, c := range changes {
			if err := s.other(c.After); err != nil {
				return err
			}
		}
	}
	s.seen = p.highest
	return nil
}

// Usage returns what the snapshots take on disk. It reads the whole history.
func (p *Provider) Usage(ctx context.Context) (provider.Usage, error) {
	held, err := p.Hold(ctx)
	if err != nil {
		return provider.Usage{}, err
	}
	defer held.Release()
	u, _, err := measure(p)
	return u, err
}

// Stored returns what a policy needs to choose. It reads the whole history.
func (p *Provider) Stored(ctx context.Context) (provider.Stored, error) {
	held, err := p.Hold(ctx)
	if err != nil {
		return provider.Stored{}, err
	}
	defer held.Release()
	return storedOf(p)
}

// storedOf is [Provider.Stored]. The caller has the turn.
func storedOf(p *Provider) (provider.Stored, error) {
	list := p.Snapshots()
	u, spans, err := measure(p)
	if err != nil {
		return provider.Stored{}, err
	}
	stored := provider.Stored{Snapshots: list, Fixed: u.Total()}
	for at, bytes := range spans {
		stored.Spans = append(stored.Spans, provider.Span{First: list[at.first].Number, Last: list[at.last].Number, Bytes: bytes})
		stored.Fixed -= bytes
	}
	stored.Fixed -= u.Reclaimable
	slices.SortFunc(stored.Spans, func(a, b provider.Span) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Last, b.Last))
	})
	return stored, nil
}

// measure returns the usage, and the bytes of contents by the snapshots that need them. The caller has the turn.
func measure(p *Provider) (u provider.Usage, spans map[span]int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	need, err := surveyOf(p)
	if err != nil {
		return u, nil, err
	}
	spans = map[span]int64{}
	u.History = p.history.bytes()
	if err := p.objects.Each(func(id objects.ID, bytes int64, other bool) {
		c, isContent := need.contents[key(id)]
		switch {
		case other || !need.needs(id):
			u.Reclaimable += bytes
		case need.streams[key(id)]:
			u.History += bytes
		case isContent:
			c.uses = 0
			spans[c] += bytes
		}
	}); err != nil {
		return u, nil, err
	}
	u.Contents = p.objects.Size() + p.history.bytes() - u.History - u.Reclaimable
	return u, spans, nil
}

// countBetween is [Snapshot.Changed] of two snapshots. A path that only one of them leaves out did not change.
func countBetween(p *Provider, before, after *record, changes []tree.Change) int {
	if before.Rules == after.Rules || p.options.SkipBy == nil {
		return tree.Count(changes)
	}
	then, now := p.options.SkipBy(before.Rules), p.options.SkipBy(after.Rules)
	return tree.Count(slices.DeleteFunc(slices.Clone(changes), func(c tree.Change) bool {
		return c.Before == nil && LeftOut(then, c.Path) != "" || c.After == nil && LeftOut(now, c.Path) != ""
	}))
}

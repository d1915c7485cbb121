package tracked

import (
	"context"
	"errors"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// collector removes what no snapshot needs. Its user has the turn, and pause may give it away for a while.
type collector struct {
	p     *Provider
	pause func() error
	// freed counts the bytes of contents that were removed.
	freed int64
}

// run compacts and collects.
func (c *collector) run(ctx context.Context, waste objects.Waste) error {
	p := c.p
	p.objects.SetLimit(0) // what it writes replaces more
	err := c.compact()
	if objects.NoRoom(err) {
		// What only deleted snapshots need can go before the history is rewritten.
		giveReserve(p)
		if err := p.history.sync(); err != nil {
			return err
		}
		if failed := c.collect(ctx, waste); failed != nil && !objects.NoRoom(failed) {
			return errors.Join(err, failed)
		}
		err = c.compact()
	}
	if err != nil {
		return err
	}
	if err := c.collect(ctx, waste); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return dropIndexes(p)
}

func (c *collector) compact() error {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	defer show(c.p, nil)
	return compact(c.p)
}

// collect collects pack by pack. Those for which a full disk has no room come again when others have made some.
func (c *collector) collect(ctx context.Context, waste objects.Waste) error {
	p := c.p
	var need *survey
	var damages []error
	packs := p.objects.Packs()
	for len(packs) > 0 {
		var again []uint32
		var full error
		before := c.freed
		for _, pack := range packs {
			if err := ctx.Err(); err != nil {
				return err
			}
			p.mu.Lock()
			var err error
			if need == nil || need.rewritten != p.rewritten {
				need, err = surveyOf(p)
			} else {
				err = need.extend()
			}
			p.mu.Unlock()
			if err != nil {
				return err
			}
			freed, err := p.objects.CollectPack(pack, waste, need.needs)
			c.freed += max(0, freed)
			switch {
			case objects.NoRoom(err):
				again, full = append(again, pack), err
			case err != nil:
				damages = append(damages, err) // the other ones can be collected
			}
			if err := c.pause(); err != nil {
				return err
			}
		}
		if packs = again; c.freed == before {
			damages = append(damages, full)
			break
		}
	}
	return errors.Join(damages...)
}

// compact rewrites the history without the deleted snapshots. Changes of deleted ones that later ones need become part of
// these. The caller has the turn and the lock.
func compact(p *Provider) error {
	var kept []int
	for i, s := range p.all {
		if !s.deleted {
			kept = append(kept, i)
		}
	}
	if len(kept) == len(p.all) && p.lost == 0 && !p.history.torn {
		return nil
	}
	var all []*Snapshot
	var records []*record
	deltas, whole := p.deltas, p.whole
	undo := func() { p.deltas, p.whole = deltas, whole }
	p.deltas, p.whole = 0, 0
	before := -1
	for _, i := range kept {
		s, err := rebase(p, i, before)
		if err != nil {
			undo()
			return err
		}
		p.count(s.rec)
		all, records, before = append(all, s), append(records, s.rec), i
	}
	now := p.now
	if before != len(p.all)-1 { // the newest ones were deleted: the next snapshot is compared with the newest that remains
		now = tree.New()
		if before >= 0 {
			var err error
			if now, err = p.treeAt(before); err != nil {
				undo()
				return err
			}
		}
	}
	if len(records) == 0 || records[len(records)-1].Number < p.highest {
		records = append(records, &record{Number: p.highest, Deleted: true}) // no later one gets its number
	}
	// The contents that the new records name are on disk before them.
	if err := p.objects.Sync(); err != nil {
		undo()
		return err
	}
	next, replaced, err := p.history.rewrite(records)
	if next != nil {
		p.history = next
	}
	if !replaced {
		undo()
		return err
	}
	if now != p.now && p.options.Changes != nil {
		p.options.Changes.Return(tree.Dirty{}, true)
	}
	p.all, p.now = all, now
	p.rewritten++
	return err
}

// rebase returns a snapshot with the changes since an earlier one, -1 for none.
func rebase(p *Provider, i, before int) (*Snapshot, error) {
	s := *p.all[i]
	rec := *s.rec
	s.rec = &rec
	var changes []tree.Change
	if before >= 0 {
		steps := [][]tree.Change{}
		for j := before + 1; j <= i && before < i-1; j++ {
			step, err := p.delta(p.all[j].rec)
			if err != nil {
				return nil, err
			}
			steps = append(steps, step)
		}
		changes = tree.Compose(steps...)
	}
	if before != i-1 {
		rec.Delta, rec.DeltaAt, rec.Changed = nil, stream{}, countBetween(p, p.all[max(before, 0)].rec, &rec, changes)
		if err := p.encodeDelta(&rec, changes); err != nil {
			return nil, err
		}
		s.Changed = rec.Changed
	}
	if size := int64(len(rec.Delta)) + rec.DeltaAt.Size; rec.Tree.is() || before >= 0 && p.deltas+size <= p.whole {
		return &s, nil
	}
	t := p.now // with the stats of files, which spare the next process from reading them
	if i < len(p.all)-1 {
		var err error
		if t, err = p.treeAt(i); err != nil {
			return nil, err
		}
	}
	var err error
	rec.Tree, err = p.store(t.Encode)
	return &s, err
}

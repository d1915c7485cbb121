package tracked

import (
	"context"
	"errors"
	"slices"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// Delete deletes snapshots, none if one does not exist. What only they need is freed by the next [Provider.Prune].
func (p *Provider) Delete(numbers ...uint64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range numbers {
		if _, err := p.get(n); err != nil {
			return err
		}
	}
	for _, n := range numbers {
		i, err := p.get(n)
		if err != nil {
			continue // it is twice in the list
		}
		if err := p.history.append(&record{Number: n, Deleted: true}); err != nil {
			return err
		}
		p.all[i].deleted = true
		p.unsynced = true
	}
	return nil
}

// Prune deletes snapshots, rewrites the history without them, and frees what no snapshot needs. It returns how many bytes
// were freed, also after an error. Snapshots can be taken between its steps, each of which copies at most one file of
// contents (64 MiB).
//
// When it is cancelled, the snapshots are deleted, and the next call frees the rest. It may be killed at any moment.
func (p *Provider) Prune(ctx context.Context, numbers ...uint64) (freed int64, err error) {
	return p.pruneWithin(ctx, p.options.Budget, numbers)
}

func (p *Provider) pruneWithin(ctx context.Context, budget int64, numbers []uint64) (freed int64, err error) {
	held, err := p.Hold(ctx)
	if err != nil {
		return 0, err
	}
	defer func() {
		if held != nil {
			held.Release()
		}
	}()
	if err := p.Delete(numbers...); err != nil {
		return 0, err
	}
	before := p.Size()
	defer func() { freed = before - p.Size() }()
	pause := func() error {
		held.Release()
		held, err = p.Hold(ctx)
		return err
	}
	if err := p.prune(ctx, objects.Usual, pause); err != nil {
		return 0, err
	}
	if budget > 0 && p.Size() > budget {
		return 0, p.collect(ctx, objects.None, pause)
	}
	return 0, nil
}

// prune compacts and collects. The caller has the turn, and pause may give it away for a while.
func (p *Provider) prune(ctx context.Context, waste objects.Waste, pause func() error) error {
	p.objects.SetLimit(0) // what it writes replaces more
	p.mu.Lock()
	err := p.compact()
	p.mu.Unlock()
	if err != nil {
		return err
	}
	return p.collect(ctx, waste, pause)
}

func (p *Provider) collect(ctx context.Context, waste objects.Waste, pause func() error) error {
	var need *survey
	var damages []error
	for _, pack := range p.objects.Packs() {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.mu.Lock()
		var err error
		if need == nil || need.rewritten != p.rewritten {
			need, err = p.survey()
		} else {
			err = p.extend(need)
		}
		p.mu.Unlock()
		if err != nil {
			return err
		}
		if _, err := p.objects.CollectPack(pack, waste, need.needs); err != nil {
			damages = append(damages, err) // the other ones can be collected
		}
		if err := pause(); err != nil {
			return err
		}
	}
	return errors.Join(damages...)
}

// compact rewrites the history without the deleted snapshots. Changes of deleted ones that later ones need become part of
// these. The caller has the turn and the lock.
func (p *Provider) compact() error {
	var kept []int
	for i, s := range p.all {
		if !s.deleted {
			kept = append(kept, i)
		}
	}
	if len(kept) == len(p.all) && p.lost == 0 {
		return nil
	}
	var all []*Snapshot
	var records []*record
	deltas, whole := p.deltas, p.whole
	undo := func() { p.deltas, p.whole = deltas, whole }
	p.deltas, p.whole = 0, 0
	before := -1
	for _, i := range kept {
		s, err := p.rebase(i, before)
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
func (p *Provider) rebase(i, before int) (*Snapshot, error) {
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
		rec.Delta, rec.DeltaAt, rec.Changed = nil, stream{}, len(changes)
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

// takeWithin takes a snapshot within the budget, and makes room for it if it must. The caller has the turn.
func (p *Provider) takeWithin(ctx context.Context, label string) (s *Snapshot, same bool, err error) {
	if p.options.Budget <= 0 {
		return p.take(ctx, label)
	}
	p.limit()
	if s, same, err = p.take(ctx, label); !errors.Is(err, objects.ErrFull) {
		return s, same, err
	}
	// How much it needs is not known before it is taken.
	for _, part := range []int64{0, 8, 2, 1} {
		more, err := p.makeRoom(ctx, part)
		if err != nil {
			return nil, false, err
		}
		if !more {
			continue
		}
		if s, same, err = p.take(ctx, label); !errors.Is(err, objects.ErrFull) {
			return s, same, err
		}
	}
	if _, err := p.makeRoom(ctx, 0); err != nil {
		return nil, false, err
	}
	return nil, false, &provider.FullError{Budget: p.options.Budget, Used: p.Size()}
}

// limit bounds the contents to what the history leaves of the budget.
func (p *Provider) limit() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.objects.SetLimit(max(1, p.options.Budget-p.history.size-inlineDelta))
}

// makeRoom deletes the oldest snapshots that nothing refers to until a part of the budget is free, none for 0, and
// collects. It reports whether there is more room than before.
func (p *Provider) makeRoom(ctx context.Context, part int64) (more bool, err error) {
	var choice provider.Choice
	if part > 0 {
		if p.options.References == nil {
			return false, nil
		}
		stored, err := p.stored()
		if err != nil {
			return false, err
		}
		budget := p.options.Budget
		references := p.options.References()
		choice = provider.Policy{Bytes: max(1, budget-budget/part)}.Choose(stored, references, time.Time{})
		choice.Delete = slices.DeleteFunc(choice.Delete, func(n uint64) bool { _, is := references[n]; return is })
		if len(choice.Delete) == 0 {
			return false, nil
		}
		if err := p.Delete(choice.Delete...); err != nil {
			return false, err
		}
	}
	before := p.Size()
	err = p.prune(ctx, objects.None, func() error { return nil })
	p.limit()
	if len(choice.Delete) > 0 && p.options.Pruned != nil {
		p.options.Pruned(choice.Delete)
	}
	return p.Size() < before, err
}

// Retain deletes the snapshots that a policy does not keep. See [provider.Policy.Choose]. The choice says what was deleted,
// and what is left on disk.
func (p *Provider) Retain(ctx context.Context, policy provider.Policy, references map[uint64]string) (all provider.Choice, err error) {
	for {
		stored, err := p.Stored(ctx)
		if err != nil {
			return all, err
		}
		choice := policy.Choose(stored, references, p.options.Clock())
		over := policy.Bytes > 0 && p.Size() > policy.Bytes
		if len(choice.Delete) > 0 || over && len(all.Delete) == 0 {
			if _, err := p.pruneWithin(ctx, policy.Bytes, choice.Delete); err != nil {
				return all, err
			}
		}
		all.Delete, all.Forced = append(all.Delete, choice.Delete...), append(all.Forced, choice.Forced...)
		all.Left = p.Size()
		if all.Over = max(0, all.Left-policy.Bytes); policy.Bytes == 0 {
			all.Over = 0
		}
		// What a deletion frees was an estimate.
		if len(choice.Delete) == 0 || all.Over == 0 {
			slices.Sort(all.Delete)
			return all, nil
		}
	}
}

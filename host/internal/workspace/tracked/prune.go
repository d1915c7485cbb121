package tracked

import (
	"context"
	"slices"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
)

// Delete deletes snapshots, none if one does not exist. What only they need is freed by the next [Provider.Prune].
func (p *Provider) Delete(numbers ...uint64) error {
	if err := p.exist(numbers); err != nil {
		return err
	}
	if len(numbers) > 0 && p.options.Deleting != nil {
		p.options.Deleting(numbers)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
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

// exist returns an error if one of the snapshots does not exist.
func (p *Provider) exist(numbers []uint64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range numbers {
		if _, err := p.get(n); err != nil {
			return err
		}
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
	c := collector{p: p, pause: func() error {
		held.Release()
		held, err = p.Hold(ctx)
		return err
	}}
	if err := c.run(ctx, objects.Usual); err != nil {
		return 0, err
	}
	if budget > 0 && p.Size() > budget {
		return 0, c.collect(ctx, objects.None)
	}
	return 0, nil
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

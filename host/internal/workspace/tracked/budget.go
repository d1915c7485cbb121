package tracked

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// Take is [Provider.Take] for the holder.
func (h *Held) Take(ctx context.Context, label string) (s *Snapshot, same bool, err error) {
	if s, same, err = h.take(ctx, label); err == nil && !same {
		release(s.Changed)
	}
	return s, same, err
}

// take takes a snapshot. If the disk is full, what the attempt wrote is removed, so that smaller ones find room again.
func (h *Held) take(ctx context.Context, label string) (s *Snapshot, same bool, err error) {
	for try := 1; ; try++ {
		before := h.p.Size()
		if s, same, err = h.within(ctx, label); !objects.NoRoom(err) {
			return s, same, err
		}
		if _, failed := h.makeRoom(ctx, 0); failed != nil && !objects.NoRoom(failed) {
			return nil, false, errors.Join(err, failed)
		}
		if try == 2 || h.p.Size() >= before { // else there is room that earlier ones had left
			return nil, false, fmt.Errorf("%w. Free some space on this disk, or delete snapshots (`tidemark timeline prune --mib N`).", err)
		}
	}
}

// within takes a snapshot within the budget.
func (h *Held) within(ctx context.Context, label string) (s *Snapshot, same bool, err error) {
	p := h.p
	if p.options.Budget <= 0 {
		return p.take(ctx, label, h)
	}
	limit(p)
	if s, same, err = p.take(ctx, label, h); !errors.Is(err, objects.ErrFull) {
		return s, same, err
	}
	first := err
	// How much it needs is not known before it is taken.
	for _, part := range []int64{0, 8, 2, 1} {
		more, err := h.makeRoom(ctx, part)
		if err != nil {
			return nil, false, err
		}
		if !more {
			continue
		}
		if s, same, err = p.take(ctx, label, h); !errors.Is(err, objects.ErrFull) {
			return s, same, err
		}
	}
	if _, err := h.makeRoom(ctx, 0); err != nil {
		return nil, false, err
	}
	full := &provider.FullError{Budget: p.options.Budget, Used: p.Size()}
	if changing := (*tree.ChangingError)(nil); errors.As(err, &changing) || errors.As(first, &changing) {
		full.Changing, full.Times, full.Size = changing.Path, changing.Times, changing.Size
	}
	return nil, false, full
}

// limit bounds the contents to what the history leaves of the budget.
func limit(p *Provider) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.objects.SetLimit(max(1, p.options.Budget-p.history.bytes()-2*inlineDelta))
}

// makeRoom deletes the oldest snapshots that nothing refers to until a part of the budget is free, none for 0, and
// collects. It reports whether there is more room than before.
func (h *Held) makeRoom(ctx context.Context, part int64) (more bool, err error) {
	p := h.p
	var choice provider.Choice
	if part > 0 {
		if p.options.References == nil {
			return false, nil
		}
		stored, err := storedOf(p)
		if err != nil {
			return false, err
		}
		budget := p.options.Budget
		references := p.options.References()
		choice = provider.Policy{Bytes: max(1, budget-budget/part)}.Choose(stored, references, retention.Never)
		choice.Delete = slices.DeleteFunc(choice.Delete, func(n uint64) bool { _, is := references[n]; return is })
		if len(choice.Delete) == 0 {
			return false, nil
		}
		if err := p.Delete(choice.Delete...); err != nil {
			return false, err
		}
	}
	before := p.Size()
	c := collector{p: p, pause: func() error { return nil }}
	err = c.run(ctx, objects.None)
	if p.options.Budget > 0 {
		limit(p)
	}
	return p.Size() < before, err
}

// manyChanges are so many that the memory they need is worth a collection.
const manyChanges = 50_000

// entrySize is how many bytes an entry of the workspace takes at most in memory: in the tree, in the index of the store and,
// if it is a directory, in the watcher. comparing is what a comparison of everything may need for a moment beside it.
const (
	entrySize = 200
	comparing = 512 << 20
)

// need makes the process' limit of memory one that has room for the workspace. The caller holds the lock.
func (p *Provider) need(more int64) { p.memory.Need(int64(p.now.Files)*entrySize + more) }

// release gives memory back to the system that many changes needed for a moment.
func release(changes int) {
	if changes > manyChanges {
		debug.FreeOSMemory()
	}
}

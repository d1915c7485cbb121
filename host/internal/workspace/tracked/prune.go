package tracked

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"tidemark.dev/tidemark/host/internal/retention"
	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
	"tidemark.dev/tidemark/installer/safefile"
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
	defer show(p, nil)
	var records []*record
	var deleted []*Snapshot
	for _, n := range numbers {
		if i, err := p.get(n); err == nil && !slices.Contains(deleted, p.all[i]) {
			records, deleted = append(records, &record{Number: n, Deleted: true}), append(deleted, p.all[i])
		}
	}
	if err := p.history.append(records...); err != nil {
		return err
	}
	for _, s := range deleted {
		s.deleted = true
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
//
// On a full disk it frees what needs no room first. Where nothing can be freed, no snapshot is deleted.
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
	since := endOf(p)
	if err = p.Delete(numbers...); objects.NoRoom(err) {
		giveReserve(p)
		err = p.Delete(numbers...)
	}
	if err != nil {
		return 0, full(err, 0, 0)
	}
	before := p.Size()
	c := collector{p: p, pause: func() error {
		held.Release()
		held, err = p.Hold(ctx)
		return err
	}}
	if err = c.run(ctx, objects.Usual); err == nil && budget > 0 && p.Size() > budget {
		err = c.collect(ctx, objects.None)
	}
	freed = before - p.Size()
	if objects.NoRoom(err) && c.freed == 0 && held != nil && undelete(p, since, numbers) {
		numbers = nil
	}
	if err == nil {
		keepReserve(p)
	}
	return freed, full(err, len(numbers), freed)
}

// full adds to the error of a full disk what was done.
func full(err error, deleted int, freed int64) error {
	switch {
	case !objects.NoRoom(err):
		return err
	case deleted == 0:
		return fmt.Errorf("%w. No snapshot was deleted. Free some space on this disk and try again.", err)
	}
	return fmt.Errorf("%w. %d snapshots were deleted, %.1f MiB are free again. Free some space on this disk and try again.", err, deleted, float64(max(0, freed))/(1<<20))
}

// end is where the history ends, after it was rewritten so often, with the snapshots that it has.
type end struct {
	size      int64
	rewritten int
	all       []*Snapshot
	now       *tree.Tree
	highest   uint64
}

func endOf(p *Provider) end {
	p.mu.Lock()
	defer p.mu.Unlock()
	return end{p.history.size, p.rewritten, slices.Clone(p.all), p.now, p.highest}
}

// undelete takes back a deletion that freed nothing, if nothing but it was recorded since.
func undelete(p *Provider, since end, numbers []uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer show(p, nil)
	switch {
	case p.rewritten == since.rewritten && p.history.cutTo(since.size, len(numbers)) == nil:
	case p.rewritten == since.rewritten || p.highest != since.highest || !rewriteAs(p, since.all, numbers):
		return false
	}
	p.all, p.now = since.all, since.now
	for _, n := range numbers {
		if i, ok := p.index(n); ok {
			p.all[i].deleted = false
		}
	}
	p.unsynced = true
	return true
}

// rewriteAs makes the history one of snapshots, of which some are not deleted after all.
func rewriteAs(p *Provider, all []*Snapshot, numbers []uint64) bool {
	var records []*record
	for _, s := range all {
		records = append(records, s.rec)
	}
	for _, s := range all {
		if s.deleted && !slices.Contains(numbers, s.Number) {
			records = append(records, &record{Number: s.Number, Deleted: true})
		}
	}
	if n := len(all); n == 0 || all[n-1].Number < p.highest {
		records = append(records, &record{Number: p.highest, Deleted: true})
	}
	next, replaced, err := p.history.rewrite(records)
	if next != nil {
		p.history = next
	}
	if !replaced {
		return false
	}
	p.rewritten++
	p.deltas, p.whole = 0, 0
	for _, rec := range records {
		if !rec.Deleted {
			p.count(rec)
		}
	}
	return err == nil
}

// reserveFile is a file of the store that is given up when the disk is full: a deletion has to be recorded before it frees
// something. Its content means nothing, and takes reserveSize bytes on any filesystem.
const (
	reserveFile = "reserve"
	reserveSize = 64 << 10
)

// keepReserve makes the reserve, where there is none and the disk has room.
func keepReserve(p *Provider) {
	path := filepath.Join(p.options.Store, reserveFile)
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == reserveSize {
		return
	}
	content := make([]byte, reserveSize)
	if _, err := rand.Read(content); err != nil {
		return
	}
	if safefile.Overwrite(path, content) != nil {
		giveReserve(p)
	}
}

func giveReserve(p *Provider) { _ = os.Remove(filepath.Join(p.options.Store, reserveFile)) }

// Retain deletes the snapshots that a policy does not keep. See [provider.Policy.Choose]. The choice says what was deleted,
// and what is left on disk.
func (p *Provider) Retain(ctx context.Context, policy provider.Policy, age retention.Age, references map[uint64]string) (all provider.Choice, err error) {
	for {
		stored, err := p.Stored(ctx)
		if err != nil {
			return all, err
		}
		choice := policy.Choose(stored, references, age)
		over := policy.Bytes > 0 && p.Size() > policy.Bytes
		if len(choice.Delete) > 0 || over && len(all.Delete) == 0 {
			if _, err := p.pruneWithin(ctx, policy.Bytes, choice.Delete); err != nil {
				if p.exist(choice.Delete) != nil {
					all.Delete, all.Forced = append(all.Delete, choice.Delete...), append(all.Forced, choice.Forced...)
				}
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

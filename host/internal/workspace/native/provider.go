package native

import (
	"context"
	"path/filepath"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// Provider opens a provider whose snapshots are those of a filesystem, with a record of package tracked. Open opens the first
// ones in a directory, whose parent exists.
func Provider(ctx context.Context, o provider.Options, open func(ctx context.Context, workspace, dir string, clock func() time.Time) (*Store, error)) (provider.Provider, error) {
	place, err := provider.Place(o.Workspace, o.Store, o.Store)
	if err == nil {
		err = place.Create()
	}
	if err != nil {
		return nil, err
	}
	s, err := open(ctx, o.Workspace, filepath.Join(place.Dir, "native"), o.Clock)
	if err != nil {
		return nil, err
	}
	p, err := tracked.Open(tracked.Options{
		Workspace: o.Workspace, Store: o.Store, Skip: o.Skip, SkipBy: func(string) func(string) bool { return o.Skip },
		Clock: o.Clock, Budget: o.Budget, Freezer: s, Deleting: func(numbers []uint64) { s.Forget(numbers...) },
	})
	if err != nil {
		return nil, err
	}
	return &both{Provider: p.Common(), record: p, store: s}, s.Settle(ctx, p.List())
}

// both is a record with the snapshots of the filesystem.
type both struct {
	provider.Provider
	record *tracked.Provider
	store  *Store
}

func (b *both) View(ctx context.Context, number uint64, dir string) error {
	return b.store.Checkout(ctx, b.record, number, dir, true)
}

func (b *both) Clone(ctx context.Context, number uint64, dir string) error {
	return b.store.Checkout(ctx, b.record, number, dir, false)
}

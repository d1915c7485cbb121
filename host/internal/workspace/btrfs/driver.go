package btrfs

import (
	"context"
	"path/filepath"

	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// Driver makes providers whose snapshots are those of the filesystem, with a record of package tracked. A workspace that it
// cannot take snapshots of is an error.
type Driver struct{}

// Name is "btrfs".
func (Driver) Name() string { return "btrfs" }

// Probe reports whether a workspace is a subvolume. Whether its user may remove snapshots is known when it is opened.
func (Driver) Probe(_ context.Context, workspace string) (provider.Support, error) {
	if err := Fit(workspace); err != nil {
		return provider.Support{Why: err.Error()}, nil
	}
	return provider.Support{Supported: true, Why: "the project is a Btrfs subvolume"}, nil
}

// Open opens the snapshots of a workspace.
func (Driver) Open(_ context.Context, o provider.Options) (provider.Provider, error) {
	place, err := provider.Place(o.Workspace, o.Store)
	if err == nil {
		err = place.Create()
	}
	if err != nil {
		return nil, err
	}
	s, err := Open(o.Workspace, filepath.Join(place.Dir, "native"), o.Clock)
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
	return &both{Provider: p.Common(), record: p, store: s}, s.Settle(p.List())
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

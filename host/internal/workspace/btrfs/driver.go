package btrfs

import (
	"context"

	"tidemark.dev/tidemark/host/internal/workspace/native"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
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
func (Driver) Open(ctx context.Context, o provider.Options) (provider.Provider, error) {
	return native.Provider(ctx, o, Open)
}

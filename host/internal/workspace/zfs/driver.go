package zfs

import (
	"context"

	"tidemark.dev/tidemark/host/internal/workspace/native"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
)

// Driver makes providers whose snapshots are those of the filesystem, with a record of package tracked. A workspace that it
// cannot take snapshots of is an error.
type Driver struct{}

// Name is "zfs".
func (Driver) Name() string { return "zfs" }

// Probe reports whether a workspace is on a dataset. Whether its user may take snapshots is known when it is opened.
func (Driver) Probe(_ context.Context, workspace string) (provider.Support, error) {
	d, err := fit(workspace)
	if err != nil {
		return provider.Support{Why: err.Error()}, nil
	}
	return provider.Support{Supported: true, Why: "the project is on the ZFS dataset " + d.Name}, nil
}

// Open opens the snapshots of a workspace.
func (Driver) Open(ctx context.Context, o provider.Options) (provider.Provider, error) {
	return native.Provider(ctx, o, Open)
}

package nilfs2

import (
	"context"

	"tidemark.dev/tidemark/host/internal/workspace/native"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
)

// Driver makes providers whose snapshots are those of the filesystem, with a record of package tracked. A workspace that it
// cannot take snapshots of is an error.
type Driver struct{}

// Name is "nilfs2".
func (Driver) Name() string { return "nilfs2" }

// Probe reports whether a workspace is on NILFS2. Whether this process may promote checkpoints is known when it is opened.
func (Driver) Probe(_ context.Context, workspace string) (provider.Support, error) {
	if err := Fit(workspace); err != nil {
		return provider.Support{Why: err.Error()}, nil
	}
	return provider.Support{Supported: true, Why: "the project is on NILFS2"}, nil
}

// Open opens the snapshots of a workspace.
func (Driver) Open(ctx context.Context, o provider.Options) (provider.Provider, error) {
	return native.Provider(ctx, o, Open)
}

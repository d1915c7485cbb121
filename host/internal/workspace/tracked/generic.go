package tracked

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"tidemark.dev/tidemark/host/internal/workspace/provider"
)

// UnknownError is the answer to a request for a snapshot that does not exist.
type UnknownError = provider.UnknownError

// Driver makes providers that compare the whole workspace for each snapshot. To have [Changes], use [Open] and
// [Provider.Common].
type Driver struct{}

// Name is "tracked".
func (Driver) Name() string { return "tracked" }

// Probe reports that every workspace is supported.
func (Driver) Probe(context.Context, string) (provider.Support, error) {
	return provider.Support{Supported: true, Why: "it works on every filesystem, and stores contents once"}, nil
}

// Open opens the snapshots of a workspace.
func (Driver) Open(_ context.Context, o provider.Options) (provider.Provider, error) {
	p, err := Open(Options{Workspace: o.Workspace, Store: o.Store, Skip: o.Skip, Clock: o.Clock, Budget: o.Budget})
	if err != nil {
		return nil, err
	}
	return p.Common(), nil
}

// Common returns the provider in the form that all have in common.
func (p *Provider) Common() provider.Provider { return common{p} }

// common is a [Provider] as others are.
type common struct{ p *Provider }

func (c common) Snapshot(ctx context.Context, label string) (provider.Snapshot, bool, error) {
	s, same, err := c.p.Take(ctx, label)
	if err != nil {
		return provider.Snapshot{}, false, err
	}
	return s.common(), same, nil
}

// View writes the snapshot with nothing that can be written. The files' owner can change that, and root needs not.
func (c common) View(ctx context.Context, number uint64, dir string) error {
	return c.p.Checkout(ctx, number, dir, true)
}

func (c common) Clone(ctx context.Context, number uint64, dir string) error {
	return c.p.Checkout(ctx, number, dir, false)
}

func (c common) Release(_ context.Context, dir string) error {
	for _, ours := range []string{c.p.options.Workspace, c.p.options.Store} {
		inside, err := filepath.Rel(dir, ours)
		if err == nil && filepath.IsLocal(inside) {
			return fmt.Errorf("%s has %s in it, and is not a view or a clone", dir, ours)
		}
	}
	return RemoveAll(dir)
}

func (c common) Delete(ctx context.Context, numbers ...uint64) error {
	_, err := c.p.Prune(ctx, numbers...)
	return err
}

func (c common) List(context.Context) ([]provider.Snapshot, error) { return c.p.Snapshots(), nil }

func (c common) Usage(ctx context.Context) (provider.Usage, error) { return c.p.Usage(ctx) }

func (c common) Check(ctx context.Context) ([]string, error) { return c.p.Check(), ctx.Err() }

func (c common) Close() error { return c.p.Close() }

// Snapshots returns the snapshots in their order, in the form that all providers have in common.
func (p *Provider) Snapshots() []provider.Snapshot {
	list := p.List()
	all := make([]provider.Snapshot, len(list))
	for i := range list {
		all[i] = list[i].common()
	}
	return all
}

func (s *Snapshot) common() provider.Snapshot {
	return provider.Snapshot{
		Number: s.Number, At: s.At, Label: s.Label, Reference: strconv.FormatUint(s.Number, 10), Problems: s.Problems, Files: s.Files, Changed: s.Changed,
	}
}

//go:build !cgo

package imagefs

import (
	"context"

	"tidemark.dev/tidemark/host/internal/workspace/pathfs"
)

// Serve mounts an image and serves it until it is unmounted, or until the context ends: then it unmounts it.
func Serve(ctx context.Context, o Options) error {
	return pathfs.Serve(ctx, pathfs.Options{
		Image: o.Image, Dir: o.Dir, Source: o.Source, Name: Name, Written: o.Written, Sealed: o.Sealed, Fold: true, Asked: o.Asked, Ready: o.Ready,
	})
}

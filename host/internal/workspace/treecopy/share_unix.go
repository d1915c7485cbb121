//go:build linux || darwin

package treecopy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/extents"
)

// shareSize is the size in bytes from which a file is shared. Sharing less saves no block.
const shareSize = 4 << 10

// alike is a directory that may have the same files at the same paths. It is not trusted: what was cloned is compared.
type alike struct {
	root *os.Root
	// off is true when nothing of it can be cloned.
	off atomic.Bool
}

// share makes a file that shares its extents with one that is the same, and returns it. Where there is none, it returns nil and has
// made nothing. A file with holes is not shared, as those of the other one may be elsewhere.
func (c *copier) share(to *os.Root, name, full string, source *os.File, info fs.FileInfo) *os.File {
	if info.Size() < shareSize || holes(info) {
		return nil
	}
	for _, a := range c.like {
		if made := a.clone(c.ctx, to, name, full, source, info); made != nil {
			return made
		}
	}
	return nil
}

func (a *alike) clone(ctx context.Context, to *os.Root, name, full string, source *os.File, info fs.FileInfo) *os.File {
	if a.off.Load() {
		return nil
	}
	from, err := a.root.OpenFile(full, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = from.Close() }()
	is, err := from.Stat()
	if err != nil || !is.Mode().IsRegular() || is.Size() != info.Size() || !is.ModTime().Equal(info.ModTime()) || holes(is) {
		return nil
	}
	made, err := extents.Clone(to, name, from)
	if err != nil {
		if errors.Is(err, extents.ErrUnsupported) || errors.Is(err, extents.ErrElsewhere) {
			a.off.Store(true)
		}
		return nil
	}
	if equal(ctx, made, source) {
		return made
	}
	_ = made.Close()
	_ = to.Remove(name) // what cannot be removed is reported by the next creation
	return nil
}

// compared is how many bytes are compared at once.
const compared = 256 << 10

// equal reports whether two files have the same content. It moves the place of neither.
func equal(ctx context.Context, a, b *os.File) bool {
	one, other := make([]byte, compared), make([]byte, compared)
	for at := int64(0); ctx.Err() == nil; at += compared {
		n, err := a.ReadAt(one, at)
		m, failed := b.ReadAt(other, at)
		if !bytes.Equal(one[:n], other[:m]) || err != nil && !errors.Is(err, io.EOF) || failed != nil && !errors.Is(failed, io.EOF) {
			return false
		}
		if err != nil {
			return true // both have ended, as they have the same size
		}
	}
	return false
}

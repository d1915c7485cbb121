package tracked

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"

	"tidemark.dev/tidemark/host/internal/workspace/extents"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// cloneSize is the size in bytes from which a file is cloned. Sharing less saves no block, and writing it is as fast.
const cloneSize = 4 << 10

// live is the workspace as a source of contents for a checkout: a file that did not change since it was read is cloned,
// where the filesystem shares extents. It is safe for concurrent use, and nil has nothing.
type live struct {
	p    *Provider
	root *os.Root
	off  atomic.Bool
}

func openLive(p *Provider) *live {
	root, err := os.OpenRoot(p.options.Workspace)
	if err != nil {
		return nil // the store has everything
	}
	return &live{p: p, root: root}
}

func (l *live) close() {
	if l != nil {
		_ = l.root.Close()
	}
}

// clone creates a file with the content of an entry, and returns it open for writing. It returns nil, and has created
// nothing, where the workspace cannot provide it.
//
// A write changes the stat of a file before it changes the content. A file whose stat is that of the recorded content,
// before and after it was cloned, had this content meanwhile.
func (l *live) clone(r *os.Root, path string, e *tree.Entry) *os.File {
	if l == nil || e.Size < cloneSize || e.Content == [32]byte{} || l.off.Load() {
		return nil
	}
	n := l.recorded(path, e)
	if n == nil {
		return nil
	}
	from, err := openFile(l.root, filepath.FromSlash(path))
	if err != nil {
		return nil
	}
	defer func() { _ = from.Close() }()
	if !n.Unchanged(from) {
		return nil
	}
	to, err := extents.Clone(r, filepath.FromSlash(path), from)
	if err != nil {
		if errors.Is(err, extents.ErrUnsupported) || errors.Is(err, extents.ErrElsewhere) {
			l.off.Store(true)
		}
		return nil
	}
	if cloned != nil {
		cloned(path)
	}
	if n.Unchanged(from) {
		return to
	}
	_ = to.Close()
	_ = r.Remove(filepath.FromSlash(path)) // what cannot be removed is reported by the next creation
	return nil
}

// cloned is called between cloning a file and looking at its stat again. Tests set it.
var cloned func(path string)

// recorded returns what the newest snapshot recorded of a path, nil if that is another content.
func (l *live) recorded(path string, e *tree.Entry) *tree.Node {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	n := l.p.now.Lookup(path)
	if n == nil || !n.SameContent(e) || n.Sparse != e.Sparse {
		return nil
	}
	same := *n
	return &same
}

package tracked

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/attrs"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// Freezer makes copies of the workspace that do not change while a snapshot reads them.
type Freezer interface {
	// Freeze returns a copy of the workspace as it is at one instant. It returns nil where that is not possible now: the
	// workspace itself is read then.
	Freeze(ctx context.Context) *Frozen
}

// Frozen is a copy of the workspace. Inodes and times of its files are those of the workspace.
type Frozen struct {
	Dir string
	// At is a time shortly before the instant.
	At time.Time
	// Keep is called with the snapshot that was read from it, once that survives the end of the process, and with the files of
	// which the copy has another state: they changed while it was made. Drop is called instead where nothing changed, or where it
	// could not be read.
	Keep func(s *Snapshot, differs []string)
	Drop func()
}

// freeze has a scanner read a copy of the workspace, if there can be one and live is false. It adds to dirty what may have changed up to the
// instant, and leaves what may have changed since to the next snapshot.
func freeze(ctx context.Context, p *Provider, s *tree.Scanner, dirty tree.Dirty, whole, live bool) (*Frozen, bool, error) {
	if p.options.Freezer == nil || live || !whole && len(dirty) == 0 {
		return nil, whole, nil
	}
	f := p.options.Freezer.Freeze(ctx)
	if f == nil {
		return nil, whole, nil
	}
	s.Dir, s.Live, s.Clock = f.Dir, s.Dir, func() time.Time { return f.At }
	if whole {
		return f, whole, nil
	}
	// Some of these changes were made before the instant, the others after it.
	more, all, err := p.options.Changes.Take(ctx)
	if err != nil {
		return f, whole, err
	}
	p.options.Changes.Return(more, all)
	dirty.AddDirty(more)
	return f, all, nil
}

// end keeps the copy of which a snapshot was read, or drops it.
func (f *Frozen) end(s *Snapshot, found *tree.Found, same bool, err error) {
	if err != nil || same {
		f.Drop()
		return
	}
	f.Keep(s, found.Differs)
}

// Rewrite sets files of a checkout to what a snapshot has, in place: hard links stay, and so do times of directories.
func Rewrite(p *Provider, number uint64, dir string, paths []string) error {
	r, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	for _, path := range paths {
		e, err := p.Entry(number, path)
		if err != nil || e == nil {
			return cmp.Or(err, fmt.Errorf("%s is not in s%d", path, number))
		}
		if err := rewrite(p, r, filepath.FromSlash(path), e); err != nil {
			return err
		}
	}
	return nil
}

func rewrite(p *Provider, r *os.Root, name string, e *tree.Entry) error {
	if err := r.Chmod(name, 0o600); err != nil {
		return err
	}
	f, err := r.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(p.fillFile(f, e), attrs.SetXattrs(f, e.Xattrs), f.Chmod(modeOf(e, false)), f.Close()); err != nil {
		return err
	}
	return r.Chtimes(name, time.Time{}, time.Unix(0, e.Mtime))
}

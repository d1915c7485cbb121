package tracked

import (
	"context"
	"time"

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
	// Keep is called with the snapshot that was read from it, once that survives the end of the process. Drop is called instead
	// where nothing changed, or where it could not be read.
	Keep func(*Snapshot)
	Drop func()
}

// freeze has a scanner read a copy of the workspace, if there can be one. It adds to dirty what may have changed up to the
// instant, and leaves what may have changed since to the next snapshot.
func (p *Provider) freeze(ctx context.Context, s *tree.Scanner, dirty tree.Dirty, whole bool) (*Frozen, bool, error) {
	if p.options.Freezer == nil || !whole && len(dirty) == 0 {
		return nil, whole, nil
	}
	f := p.options.Freezer.Freeze(ctx)
	if f == nil {
		return nil, whole, nil
	}
	s.Dir, s.Clock = f.Dir, func() time.Time { return f.At }
	if whole {
		return f, whole, nil
	}
	// Some of these changes were made before the instant, the others after it.
	more, all, err := p.options.Changes.Take(ctx)
	if err != nil {
		return f, whole, err
	}
	p.options.Changes.Return(more, all)
	for dir, names := range more {
		if names == nil {
			dirty.AddAll(dir)
		}
		for name := range names {
			dirty.Add(dir, name)
		}
	}
	return f, all, nil
}

// end keeps the copy of which a snapshot was read, or drops it.
func (f *Frozen) end(s *Snapshot, same bool, err error) {
	if err != nil || same {
		f.Drop()
		return
	}
	f.Keep(s)
}

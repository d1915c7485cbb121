package tracked

import (
	"fmt"
	"io"
	"runtime/debug"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// manyChanges are so many that the memory they need is worth a collection.
const manyChanges = 50_000

// entrySize is how many bytes an entry of the workspace takes at most in memory: in the tree, in the index of the store and,
// if it is a directory, in the watcher. comparing is what a comparison of everything may need for a moment beside it.
const (
	entrySize = 200
	comparing = 512 << 20
)

// need makes the process' limit of memory one that has room for the workspace. The caller holds the lock.
func (p *Provider) need(more int64) { p.memory.Need(int64(p.now.Files)*entrySize + more) }

// release gives memory back to the system that many changes needed for a moment.
func release(changes int) {
	if changes > manyChanges {
		debug.FreeOSMemory()
	}
}

// open reads a stream from the store.
func (p *Provider) open(s stream) (io.Reader, error) {
	ids, err := p.chunks(s.List)
	if err != nil {
		return nil, err
	}
	return &streamReader{p: p, ids: ids}, nil
}

type streamReader struct {
	p   *Provider
	ids []objects.ID
	now []byte
}

func (r *streamReader) Read(b []byte) (int, error) {
	for len(r.now) == 0 {
		if len(r.ids) == 0 {
			return 0, io.EOF
		}
		var err error
		if r.now, err = r.p.objects.Get(r.ids[0]); err != nil {
			return 0, err
		}
		r.ids = r.ids[1:]
	}
	n := copy(b, r.now)
	r.now = r.now[n:]
	return n, nil
}

// decode returns the tree that a record has.
func (p *Provider) decode(rec *record) (*tree.Tree, error) {
	r, err := p.open(rec.Tree)
	if err != nil {
		return nil, fmt.Errorf("the tree of s%d: %w", rec.Number, err)
	}
	t, err := tree.Decode(r)
	if err != nil {
		return nil, fmt.Errorf("the tree of s%d: %w", rec.Number, err)
	}
	return t, nil
}

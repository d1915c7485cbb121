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

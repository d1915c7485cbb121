package tracked

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/restic/chunker"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// Files up to wholeSize bytes are one content. Larger ones are cut where their content says, so that an edit in a large
// file stores only the chunks around it.
const (
	wholeSize = 1 << 20
	minChunk  = 256 << 10
	maxChunk  = 4 << 20
)

// polynomial defines where contents are cut. Another one would store every large file anew.
const polynomial = chunker.Pol(0x3DA3358B4DC173)

// buffers are reused between files.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, wholeSize+1); return &b }}

// read stores the content of a file.
func (p *Provider) read(f *os.File, size int64) (tree.Content, error) {
	var c tree.Content
	c.Sparse = sparse(f, size)
	if size <= wholeSize {
		kept := buffers.Get().(*[]byte)
		defer buffers.Put(kept)
		data := (*kept)[:0]
		for len(data) < cap(data) { // full, it grew beyond the limit while it was read
			n, err := f.Read(data[len(data):cap(data)])
			data = data[:len(data)+n]
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return c, err
			}
		}
		id, err := p.objects.Put(data)
		if err != nil {
			return c, tree.StoreError(err)
		}
		c.Content, c.Size = id, int64(len(data))
		return c, nil
	}
	ids, n, err := p.readChunks(f)
	if err != nil {
		return c, err
	}
	id, err := p.objects.Put(ids)
	if err != nil {
		return c, tree.StoreError(err)
	}
	c.Content, c.Chunked, c.Size = id, true, n
	return c, nil
}

// readChunks stores a content in chunks and returns their IDs, one after the other.
func (p *Provider) readChunks(r io.Reader) (ids []byte, size int64, err error) {
	cut := chunker.NewWithBoundaries(r, polynomial, minChunk, maxChunk)
	buffer := make([]byte, maxChunk)
	for {
		chunk, err := cut.Next(buffer)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, 0, err
		}
		id, err := p.objects.Put(chunk.Data)
		if err != nil {
			return nil, 0, tree.StoreError(err)
		}
		ids = append(ids, id[:]...)
		size += int64(chunk.Length)
		if len(ids) > objects.MaxContent-len(id) {
			return nil, 0, fmt.Errorf("it is larger than %d GiB", int64(objects.MaxContent)/int64(len(id))*minChunk>>30)
		}
	}
	return ids, size, nil
}

// idsOf returns the IDs of the contents that an entry consists of, the list of chunks included.
func (p *Provider) idsOf(e *tree.Entry) ([]objects.ID, error) {
	switch {
	case e == nil || e.Kind != tree.File || e.Content == objects.ID{}:
		return nil, nil
	case !e.Chunked:
		return []objects.ID{e.Content}, nil
	}
	chunks, err := p.chunks(e.Content)
	return append(chunks, e.Content), err
}

func (p *Provider) chunks(list objects.ID) ([]objects.ID, error) {
	data, err := p.objects.Get(list)
	if err != nil {
		return nil, err
	}
	if len(data)%len(list) != 0 {
		return nil, fmt.Errorf("the list of chunks %s is damaged", list)
	}
	ids := make([]objects.ID, len(data)/len(list))
	for i := range ids {
		copy(ids[i][:], data[i*len(list):])
	}
	return ids, nil
}

// write writes the content of an entry.
func (p *Provider) write(w io.Writer, e *tree.Entry) error {
	if e.Content == (objects.ID{}) {
		return fmt.Errorf("its content was not recorded: %s", e.Unread)
	}
	ids := []objects.ID{e.Content}
	if e.Chunked {
		var err error
		if ids, err = p.chunks(e.Content); err != nil {
			return err
		}
	}
	for _, id := range ids {
		data, err := p.objects.Get(id)
		if err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	return nil
}

// holes writes a file without the blocks that are all zero.
type holes struct {
	f    *os.File
	size int64
}

// page is the smallest hole.
const page = 4096

func (h *holes) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		part := b[:min(len(b), page-int(h.size%page))]
		zero := true
		for _, c := range part {
			if c != 0 {
				zero = false
				break
			}
		}
		if !zero {
			if _, err := h.f.WriteAt(part, h.size); err != nil {
				return 0, err
			}
		}
		h.size += int64(len(part))
		b = b[len(part):]
	}
	return n, nil
}

func (h *holes) close() error { return h.f.Truncate(h.size) }

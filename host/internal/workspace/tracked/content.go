package tracked

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
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

// contents is the store of contents, and how files, trees and changes are in it. It is safe for concurrent use.
type contents struct {
	objects *objects.Store
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

func openContents(dir string) (*contents, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
	if err != nil {
		return nil, err
	}
	store, err := objects.Open(dir)
	if err != nil {
		return nil, err
	}
	return &contents{store, encoder, decoder}, nil
}

func (c *contents) close() error {
	c.decoder.Close()
	return c.objects.Close()
}

// read stores the content of a file.
func (c *contents) read(f *os.File, size int64) (tree.Content, error) {
	var read tree.Content
	read.Sparse = sparse(f, size)
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
				return read, err
			}
		}
		id, err := c.objects.Put(data)
		if err != nil {
			return read, tree.StoreError(err)
		}
		read.Content, read.Size = id, int64(len(data))
		return read, nil
	}
	var ids []byte
	var n int64
	var err error
	if parts := dataIn(f, size, read.Sparse); len(parts) > 0 {
		ids, n, err = c.readSparse(f, size, parts)
	} else {
		ids, n, err = c.readChunks(f)
	}
	if err != nil {
		return read, err
	}
	id, err := c.objects.Put(ids)
	if err != nil {
		return read, tree.StoreError(err)
	}
	read.Content, read.Chunked, read.Size = id, true, n
	return read, nil
}

// part is where a file with holes has data: from a byte to before another one.
type part struct{ from, to int64 }

// readSparse is [contents.readChunks] for a file with holes, which it does not read.
func (c *contents) readSparse(f *os.File, size int64, parts []part) (ids []byte, n int64, err error) {
	var whole objects.ID
	hole := func(to int64) error {
		for n < to {
			length := min(to-n, maxChunk)
			id := whole
			if length < maxChunk || id == (objects.ID{}) {
				if id, err = c.objects.Put(make([]byte, length)); err != nil {
					return tree.StoreError(err)
				}
			}
			if length == maxChunk {
				whole = id
			}
			ids, n = append(ids, id[:]...), n+length
			if len(ids) > objects.MaxContent-len(id) {
				return errTooLarge
			}
		}
		return nil
	}
	for _, p := range parts {
		if err := hole(p.from); err != nil {
			return nil, 0, err
		}
		more, read, err := c.readChunks(io.NewSectionReader(f, p.from, p.to-p.from))
		if err != nil {
			return nil, 0, err
		}
		if ids, n = append(ids, more...), n+read; n < p.to {
			return ids, n, nil // it is shorter by now
		}
		if len(ids) > objects.MaxContent-len(whole) {
			return nil, 0, errTooLarge
		}
	}
	err = hole(size)
	return ids, n, err
}

// errTooLarge is the error for a file of which the list of chunks would be no content.
var errTooLarge = fmt.Errorf("it is larger than %d GiB", int64(objects.MaxContent)/int64(len(objects.ID{}))*minChunk>>30)

// readChunks stores a content in chunks and returns their IDs, one after the other.
func (c *contents) readChunks(r io.Reader) (ids []byte, size int64, err error) {
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
		id, err := c.objects.Put(chunk.Data)
		if err != nil {
			return nil, 0, tree.StoreError(err)
		}
		ids = append(ids, id[:]...)
		size += int64(chunk.Length)
		if len(ids) > objects.MaxContent-len(id) {
			return nil, 0, errTooLarge
		}
	}
	return ids, size, nil
}

// idsOf returns the IDs of the contents that an entry consists of, the list of chunks included.
func (c *contents) idsOf(e *tree.Entry) ([]objects.ID, error) {
	switch {
	case e == nil || e.Kind != tree.File || e.Content == objects.ID{}:
		return nil, nil
	case !e.Chunked:
		return []objects.ID{e.Content}, nil
	}
	chunks, err := c.chunks(e.Content)
	return append(chunks, e.Content), err
}

// lacks reports whether the store lacks a content of an entry, or knows that it is damaged.
func (c *contents) lacks(e *tree.Entry) bool {
	if !e.Chunked {
		return e.Kind == tree.File && e.Content != objects.ID{} && !c.objects.Has(e.Content)
	}
	ids, err := c.idsOf(e)
	return err != nil || slices.ContainsFunc(ids, func(id objects.ID) bool { return !c.objects.Has(id) })
}

func (c *contents) chunks(list objects.ID) ([]objects.ID, error) {
	data, err := c.objects.Get(list)
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
func (c *contents) write(w io.Writer, e *tree.Entry) error {
	if e.Content == (objects.ID{}) {
		return fmt.Errorf("its content was not recorded: %s", e.Unread)
	}
	ids := []objects.ID{e.Content}
	if e.Chunked {
		var err error
		if ids, err = c.chunks(e.Content); err != nil {
			return err
		}
	}
	var data []byte
	for i, id := range ids {
		if i == 0 || id != ids[i-1] { // a large hole has the same chunk many times
			var err error
			if data, err = c.objects.Get(id); err != nil {
				return err
			}
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	return nil
}

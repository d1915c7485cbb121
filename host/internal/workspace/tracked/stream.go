package tracked

import (
	"bytes"
	"fmt"
	"io"

	"github.com/vmihailenco/msgpack/v5"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// store writes a stream into the store of contents.
func (c *contents) store(write func(io.Writer) error) (stream, error) {
	r, w := io.Pipe()
	go func() { _ = w.CloseWithError(write(w)) }()
	ids, size, err := c.readChunks(r)
	_ = r.CloseWithError(err)
	if err != nil {
		return stream{}, err
	}
	list, err := c.objects.Put(ids)
	return stream{List: list, Size: size}, err
}

// open reads a stream from the store.
func (c *contents) open(s stream) (io.Reader, error) {
	ids, err := c.chunks(s.List)
	if err != nil {
		return nil, err
	}
	return &streamReader{c: c, ids: ids}, nil
}

type streamReader struct {
	c   *contents
	ids []objects.ID
	now []byte
}

func (r *streamReader) Read(b []byte) (int, error) {
	for len(r.now) == 0 {
		if len(r.ids) == 0 {
			return 0, io.EOF
		}
		var err error
		if r.now, err = r.c.objects.Get(r.ids[0]); err != nil {
			return 0, err
		}
		r.ids = r.ids[1:]
	}
	n := copy(b, r.now)
	r.now = r.now[n:]
	return n, nil
}

func (c *contents) encodeDelta(rec *record, changes []tree.Change) error {
	data, err := msgpack.Marshal(changes)
	if err != nil {
		return err
	}
	if small := c.encoder.EncodeAll(data, nil); len(small) <= inlineDelta {
		rec.Delta = small
		return nil
	}
	rec.DeltaAt, err = c.store(func(w io.Writer) error { _, err := w.Write(data); return err })
	return err
}

// delta returns the changes of a snapshot since the one before it. The first one is only a tree.
func (c *contents) delta(rec *record) ([]tree.Change, error) {
	if rec.Tree.is() && len(rec.Delta) == 0 && !rec.DeltaAt.is() {
		t, err := c.decode(rec)
		if err != nil {
			return nil, err
		}
		return t.Entries(), nil
	}
	var data []byte
	var err error
	if rec.DeltaAt.is() {
		var r io.Reader
		if r, err = c.open(rec.DeltaAt); err == nil {
			data, err = io.ReadAll(r)
		}
	} else {
		data, err = c.decoder.DecodeAll(rec.Delta, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("the changes of s%d: %w", rec.Number, err)
	}
	changes, err := tree.DecodeChanges(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("the changes of s%d: %w", rec.Number, err)
	}
	return changes, nil
}

// decode returns the tree that a record has.
func (c *contents) decode(rec *record) (*tree.Tree, error) {
	r, err := c.open(rec.Tree)
	if err != nil {
		return nil, fmt.Errorf("the tree of s%d: %w", rec.Number, err)
	}
	t, err := tree.Decode(r)
	if err != nil {
		return nil, fmt.Errorf("the tree of s%d: %w", rec.Number, err)
	}
	return t, nil
}

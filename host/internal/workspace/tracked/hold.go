package tracked

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"

	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// Held is a provider of which nobody else takes a snapshot, until it is released. Who changes the workspace in several
// steps holds it, so that no snapshot shows a state between them.
type Held struct {
	p *Provider
	// Listed is [tree.Scanner].Listed for the snapshots that are taken.
	Listed bool
	// Live has snapshots read from the workspace itself, although there is a [Freezer].
	Live bool
}

// Hold waits until no snapshot is being taken, and keeps other callers of [Provider.Take] waiting.
func (p *Provider) Hold(ctx context.Context) (*Held, error) {
	select {
	case p.turn <- struct{}{}:
		return &Held{p: p}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Release lets others take snapshots.
func (h *Held) Release() { <-h.p.turn }

// Now calls see with the tree of the last snapshot, with the stats of its files. See must not change or keep it.
func (h *Held) Now(see func(*tree.Tree)) {
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	see(h.p.now)
}

// Changed notes that paths may have changed, so that the next snapshot compares them whatever [Changes] reports.
func (h *Held) Changed(dirty tree.Dirty) {
	if h.p.options.Changes != nil {
		h.p.options.Changes.Return(dirty, false)
	}
}

// Options returns what the provider was opened with.
func (p *Provider) Options() Options { return p.options }

// Skips reports whether a path is part of no snapshot: the workspace's own .git, what [Options] leaves out, and what is
// below either.
func (p *Provider) Skips(path string) bool { return LeftOut(p.options.Skip, path) != "" }

// LeftOut returns the path, or the directory above it, that is left out of snapshots with everything below it, "" if there
// is none. A nil skip leaves out nothing but the workspace's own .git.
func LeftOut(skip func(path string) bool, path string) string {
	for i := range len(path) + 1 {
		if i == len(path) || path[i] == '/' {
			if at := path[:i]; at != "" && (ours(at) || skip != nil && skip(at)) {
				return at
			}
		}
	}
	return ""
}

// Skip returns what was left out of a snapshot, as [Options].Skip. It may be nil.
func (p *Provider) Skip(number uint64) (func(path string) bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, err := p.get(number)
	if err != nil {
		return nil, err
	}
	if p.options.SkipBy == nil {
		return nil, nil
	}
	return p.options.SkipBy(p.all[i].rec.Rules), nil
}

// Sync makes every snapshot survive a loss of power.
func (h *Held) Sync() error { return errors.Join(h.p.objects.Sync(), h.p.history.sync()) }

// Place writes a file or a link of a snapshot as a name that does not exist yet. Of a file whose content was not recorded
// it writes an empty one.
func (h *Held) Place(r *os.Root, name string, e *tree.Entry) error {
	return h.p.place(r, name, e, false, nil)
}

// ErrDiffers means that a file has not the content that a snapshot recorded.
var ErrDiffers = errors.New("its content is not the recorded one")

// Verify reads a content and compares it with that of an entry. The error is [ErrDiffers] where they differ.
func (h *Held) Verify(r io.Reader, e *tree.Entry) error {
	if err := h.p.write(&comparer{r: r}, e); err != nil {
		return err
	}
	if n, err := r.Read(make([]byte, 1)); n > 0 || err == nil {
		return ErrDiffers
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// Keep makes sure that the content of an entry can be read back, before the last other copy of it goes: what is damaged is
// stored again. Open opens that copy, a file of the workspace. The error is [ErrDiffers] where it has another content.
func (h *Held) Keep(e *tree.Entry, open func() (*os.File, error)) error {
	for try := 1; ; try++ {
		err := h.p.probe(e)
		if err == nil || try == 3 { // the list of chunks is read back before the chunks
			return err
		}
		f, err := open()
		if err != nil {
			return err
		}
		read, err := h.p.read(f, e.Size)
		_ = f.Close()
		if err != nil {
			return err
		}
		if read.Content != e.Content || read.Chunked != e.Chunked {
			return ErrDiffers
		}
	}
}

// probe reads all contents of an entry, so that the store knows those that are damaged.
func (c *contents) probe(e *tree.Entry) error {
	ids, err := c.idsOf(e)
	for i, id := range ids {
		if i > 0 && id == ids[i-1] {
			continue // a large hole has the same chunk many times
		}
		if _, failed := c.objects.Get(id); failed != nil {
			err = failed
		}
	}
	return err
}

// comparer compares what is written to it with what it reads. The store checks the hash of every content that it
// returns, so that equal bytes have the recorded hash.
type comparer struct {
	r    io.Reader
	room []byte
}

func (c *comparer) Write(b []byte) (int, error) {
	if len(c.room) < len(b) {
		c.room = make([]byte, len(b))
	}
	_, err := io.ReadFull(c.r, c.room[:len(b)])
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return 0, ErrDiffers
	case err != nil:
		return 0, err
	case !bytes.Equal(c.room[:len(b)], b):
		return 0, ErrDiffers
	}
	return len(b), nil
}

package objects

import (
	"cmp"
	"container/list"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Place is where a content is in the packs of a store. In linked packs it stays there, see [Store.Link].
type Place struct {
	Pack, Offset uint32
	Item         uint16
}

// Locate returns where a content is that was flushed. It is false for one that the store lacks or knows to be damaged.
func (s *Store) Locate(id ID) (Place, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.index.get(id)
	return Place{at.pack, at.offset, at.item}, ok && at.pack != 0
}

// Link links the packs into a new directory, for [OpenPacks]. What the store has now can be read there, whatever becomes of the
// store: it only appends to packs that are linked, and makes no holes in them. With durable it survives a loss of power.
func (s *Store) Link(dir string, durable bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.flush()
	if err == nil && durable {
		err = s.sync()
	}
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil {
		return err
	}
	for n := range s.packs {
		if err := os.Link(s.path(n), filepath.Join(dir, filepath.Base(s.path(n)))); err != nil {
			return errors.Join(err, os.RemoveAll(dir))
		}
	}
	if durable {
		return SyncDir(dir)
	}
	return nil
}

// Packs reads contents from linked packs by their place, without the tables of a store. It is safe for concurrent use.
type Packs struct {
	dir     string
	decoder *zstd.Decoder
	most    int64

	mu    sync.Mutex
	open  map[uint32]*pack
	known map[blockAt]*list.Element // of recent, whose values are *cachedBlock
	// recent are the blocks in memory, the one that was read last in front. bytes counts their contents.
	recent *list.List
	bytes  int64
}

// blockAt is where a record is.
type blockAt struct{ pack, offset uint32 }

// cachedBlock is a block in memory. It is read once. Where it is damaged, there are both an error and what could be read.
type cachedBlock struct {
	at   blockAt
	size int64

	once sync.Once
	b    *block
	err  error
}

// OpenPacks opens the packs that [Store.Link] linked into a directory. It keeps at most so many bytes of contents in memory,
// beyond the block that is read.
func OpenPacks(dir string, cache int64) (*Packs, error) {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(2*MaxContent), zstd.IgnoreChecksum(true))
	if err != nil {
		return nil, err
	}
	return &Packs{dir: dir, decoder: decoder, most: cache, open: map[uint32]*pack{}, known: map[blockAt]*list.Element{}, recent: list.New()}, nil
}

// pack returns an open pack.
func (p *Packs) pack(number uint32) (*pack, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.open[number]; one != nil {
		return one, nil
	}
	f, err := OpenFile(filepath.Join(p.dir, fmt.Sprintf("%08d.pack", number)), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	one := &pack{number: number, file: f, size: info.Size()}
	p.open[number] = one
	return one, nil
}

// block returns a block, from memory if it was read lately.
func (p *Packs) block(at blockAt) (*cachedBlock, error) {
	p.mu.Lock()
	e := p.known[at]
	if e == nil {
		e = p.recent.PushFront(&cachedBlock{at: at})
		p.known[at] = e
	} else {
		p.recent.MoveToFront(e)
	}
	c := e.Value.(*cachedBlock)
	p.mu.Unlock()
	c.once.Do(func() {
		var from *pack
		if from, c.err = p.pack(at.pack); c.err == nil {
			c.b, c.err = from.read(at.offset, p.decoder)
		}
		p.count(c)
	})
	if c.b == nil {
		return nil, c.err
	}
	return c, nil
}

// count adds a block that was read to those in memory, and forgets the oldest ones that are too many. One that could not be
// read is not kept.
func (p *Packs) count(c *cachedBlock) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.known[c.at]; c.b != nil && e != nil && e.Value == c { // else it was forgotten meanwhile
		c.size = int64(len(c.b.data))
		p.bytes += c.size
	}
	for e := p.recent.Back(); e != nil; {
		old, before := e.Value.(*cachedBlock), e.Prev()
		if old == c && c.b == nil || old != c && old.size > 0 && p.bytes > p.most {
			p.recent.Remove(e)
			delete(p.known, old.at)
			p.bytes -= old.size
		}
		e = before
	}
}

// Get returns a content, which the caller must not change. The error is [ErrMissing] if what is at its place is not it, by the
// checksums of its record, or where these differ by its hash.
func (p *Packs) Get(id ID, at Place) ([]byte, error) {
	c, err := p.block(blockAt{at.Pack, at.Offset})
	if err != nil {
		return nil, err
	}
	if int(at.Item) >= len(c.b.items) {
		return nil, fmt.Errorf("%w: %s has no content %d at %d", ErrMissing, p.dir, at.Item, at.Offset)
	}
	content := c.b.content(int(at.Item))
	// The checksums of a record that is whole vouch for its table and its contents. Hashing them would take as long as reading them.
	if c.b.items[at.Item].id != id || c.err != nil && IDOf(content) != id {
		return nil, cmp.Or(c.err, error(&DamagedError{filepath.Join(p.dir, fmt.Sprintf("%08d.pack", at.Pack)), int64(at.Offset), fmt.Errorf("the content %d is not %s", at.Item, id)}))
	}
	return content, nil
}

// Size returns how long a content is, without reading it.
func (p *Packs) Size(at Place) (int64, error) {
	from, err := p.pack(at.Pack)
	if err != nil {
		return 0, err
	}
	_, items, err := from.head(int64(at.Offset))
	if err != nil {
		return 0, err
	}
	if int(at.Item) >= len(items) {
		return 0, fmt.Errorf("%w: %s has no content %d at %d", ErrMissing, p.dir, at.Item, at.Offset)
	}
	return int64(items[at.Item].size), nil
}

// Close closes the files.
func (p *Packs) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, one := range p.open {
		errs = append(errs, one.file.Close())
	}
	p.open = map[uint32]*pack{}
	p.decoder.Close()
	return errors.Join(errs...)
}

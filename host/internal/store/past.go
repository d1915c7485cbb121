package store

import (
	"iter"
	"sync"

	"go.etcd.io/bbolt"

	"tidemark.dev/tidemark/host/internal/boltfile"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// Past is one reading of the journal, which does not change until it is closed. It implements
// [capture.Past] and [capture.Journal]. It is for one goroutine.
type Past struct {
	s     *Store
	tx    *bbolt.Tx
	logs  map[capture.Section]*sectionLog
	index *capture.Index
	lost  int
	// spares are buffers for blocks, sealed and opened.
	spares [][]byte
	// decoding are the goroutines that decode blocks.
	decoding sync.WaitGroup
}

// Past begins a reading. Index is the index of the store whose tables share values with the reading.
func (s *Store) Past(index *capture.Index) (*Past, error) {
	p := &Past{s: s, index: index}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.logs = s.logs
	err := boltfile.Guard(func() (err error) {
		p.tx, err = s.db.Begin(false)
		return err
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Close ends the reading. It waits until no block is decoded ahead.
func (p *Past) Close() {
	p.decoding.Wait()
	_ = boltfile.Guard(p.tx.Rollback)
}

// Lost counts the entries that could not be read so far.
func (p *Past) Lost() int { return p.lost }

// sealed is a block as it is on disk.
func (p *Past) sealed(section capture.Section, b block) (data []byte, err error) {
	err = boltfile.Guard(func() error {
		bucket := p.tx.Bucket([]byte(section))
		if bucket == nil {
			return boltfile.ErrDamaged
		}
		data = append(p.spare(), bucket.Get(b.key())...)
		return nil
	})
	return data, err
}

// spare returns an empty buffer.
func (p *Past) spare() []byte {
	n := len(p.spares)
	if n == 0 {
		return nil
	}
	var b []byte
	b, p.spares = p.spares[n-1], p.spares[:n-1]
	return b[:0]
}

// release takes buffers back for the next blocks.
func (p *Past) release(buffers ...[]byte) { p.spares = append(p.spares, buffers...) }

// read opens a block.
func (p *Past) read(section capture.Section, b block) (opened, error) {
	data, err := p.sealed(section, b)
	if err != nil {
		return opened{}, err
	}
	defer p.release(data)
	return p.s.openBlock(b, data, nil)
}

// miss records that a block could not be read.
func (p *Past) miss(section capture.Section, b block, err error) {
	p.lost += int(b.entries)
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	for _, d := range p.s.damaged {
		if d.Section == section && d.Last == b.last && d.Entries == int(b.entries) {
			return
		}
	}
	p.s.damaged = append(p.s.damaged, Damage{Section: section, Entries: int(b.entries), Last: b.last, Err: err})
}

// ahead is how many blocks are decoded at once while one is read.
const ahead = 3

// decoded is a block's entries, or why they cannot be read.
type decoded struct {
	block
	// sealed and opened are buffers that its entries do not use.
	sealed, opened []byte
	list           capture.List
	err            error
}

// decode opens a block in a separate goroutine, which ends even if no receiver waits, before [Past.Close] returns. Spare is a list for its entries, or
// nil.
func (p *Past) decode(section capture.Section, b block, spare capture.List) <-chan decoded {
	done := make(chan decoded, 1)
	data, err := p.sealed(section, b)
	into := p.spare()
	p.decoding.Go(func() {
		d := decoded{block: b, sealed: data, opened: into, err: err}
		if d.err == nil {
			var content opened
			if content, d.err = p.s.openBlock(b, data, into); d.err == nil {
				d.opened = content.data
				d.list, d.err = decodeEntries(section, content.entries, b.entries, spare)
			}
		}
		done <- d
	})
	return done
}

// Entries implements [capture.Past]. It records and skips unreadable entries.
func (p *Past) Entries(section capture.Section, from, to uint64) iter.Seq2[uint64, event.Event] {
	return p.entries(section, from, to, nil)
}

// entries yields entries. The first block of them may already be decoded: then they are yielded once, and each may be used
// only until the next one.
func (p *Past) entries(section capture.Section, from, to uint64, first <-chan decoded) iter.Seq2[uint64, event.Event] {
	return func(yield func(uint64, event.Event) bool) {
		log := p.logs[section]
		i := log.find(from)
		var coming []<-chan decoded
		var spare []capture.List
		once := first != nil
		if once {
			coming = append(coming, first)
			i++
		}
		for {
			for ; len(coming) < ahead && i < len(log.blocks) && log.blocks[i].pos < to; i++ {
				var list capture.List
				if n := len(spare); n > 0 {
					list, spare = spare[n-1], spare[:n-1]
				}
				coming = append(coming, p.decode(section, log.blocks[i], list))
			}
			if len(coming) == 0 {
				return
			}
			d := <-coming[0]
			coming = coming[1:]
			p.release(d.opened, d.sealed) // taken in the reverse order: what was opened takes much more room
			if d.err != nil {
				p.miss(section, d.block, d.err)
				continue
			}
			for j := range d.list.Len() {
				pos := d.pos + uint64(j)
				if pos >= from && pos < to && !yield(pos, d.list.At(j)) {
					return
				}
			}
			if once {
				spare = append(spare, d.list)
			}
		}
	}
}

// First implements [capture.Past]. A section of which nothing is kept has a first position that is
// later than any.
func (p *Past) First() capture.Positions {
	return capture.BySection(func(s capture.Section) uint64 {
		if first := p.logs[s].first(); first > 0 {
			return first
		}
		return 1<<63 - 1
	})
}

// After implements [capture.Past]. It is 1 where what was let go of may be later than the time.
func (p *Past) After(ms int64) capture.Positions {
	return capture.BySection(func(s capture.Section) uint64 {
		log := p.logs[s]
		for i, b := range log.blocks {
			if b.last <= ms {
				continue
			}
			for pos, e := range p.Entries(s, b.pos, b.end()) {
				if e.Header().At > ms {
					if i == 0 && pos == b.pos {
						return 1
					}
					return pos
				}
			}
		}
		if len(log.blocks) == 0 {
			return 1
		}
		return log.blocks[len(log.blocks)-1].end()
	})
}

// frameBefore finds the nearest block with a state, at a position or before it.
func (p *Past) frameBefore(section capture.Section, pos uint64) (block, []byte, bool) {
	log := p.logs[section]
	for i := min(log.find(pos), len(log.blocks)-1); i >= 0; i-- {
		b := log.blocks[i]
		if !b.framed || b.pos > pos {
			continue
		}
		content, err := p.read(section, b)
		if err != nil {
			p.miss(section, b, err)
			return block{}, nil, false // what lies between cannot be replayed
		}
		return b, content.frame, true
	}
	return block{}, nil, false
}

// Endpoints implements [capture.Past].
func (p *Past) Endpoints(pos uint64) *capture.Table {
	b, frame, ok := p.frameBefore(capture.NetworkSection, pos)
	if !ok {
		return nil
	}
	t, err := decodeTable(frame, p.index)
	if err != nil {
		p.miss(capture.NetworkSection, b, err)
		return nil
	}
	for _, n := range p.Entries(capture.NetworkSection, b.pos, pos) {
		t = t.Replay(n.(*event.Network))
	}
	return t
}

// DOMState implements [capture.Past].
func (p *Past) DOMState(pos uint64) *capture.DOMState {
	b, frame, ok := p.frameBefore(capture.DOMSection, pos)
	if !ok {
		return nil
	}
	page, err := decodePage(frame)
	if err != nil {
		p.miss(capture.DOMSection, b, err)
		return nil
	}
	for _, c := range p.Entries(capture.DOMSection, b.pos, pos) {
		page = page.Replay(c.(*capture.Change))
	}
	return page
}

// smallFields is what an entry on disk takes beside the texts that count for its buffer: numbers, flags and short words.
const smallFields = 120

// Tail implements [capture.Journal].
func (p *Past) Tail(section capture.Section, limit capture.Limit, index *capture.Index) capture.Tail {
	log := p.logs[section]
	if len(log.blocks) == 0 {
		return capture.Tail{From: 1, Entries: func(func(uint64, event.Event) bool) {}}
	}
	framed := section == capture.NetworkSection || section == capture.DOMSection
	// An entry takes more in a buffer than on disk.
	more := max(0, capture.EntryBytes(section)-smallFields)
	i, n, size := len(log.blocks), 0, 0
	for i > 0 && (n < limit.Count && size < limit.Bytes || framed && !log.blocks[i].framed) {
		i--
		b := log.blocks[i]
		n, size = n+int(b.entries), size+int(b.raw)+int(b.entries)*more
	}
	from := log.blocks[i].pos
	// The first block is decoded while the entries of other sections are taken.
	t := capture.Tail{From: from, Entries: p.entries(section, from, 1<<63-1, p.decode(section, log.blocks[i], nil))}
	if i > 0 {
		t.Before = log.blocks[i-1].last
	}
	p.index = index
	switch section {
	case capture.NetworkSection:
		t.Endpoints = p.Endpoints(from)
	case capture.DOMSection:
		t.DOMState = p.DOMState(from)
	}
	return t
}

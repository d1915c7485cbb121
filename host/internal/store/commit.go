package store

import (
	"bytes"
	"errors"
	"math"
	"time"

	"github.com/vmihailenco/msgpack/v5"
	"go.etcd.io/bbolt"

	"tidemark.dev/tidemark/host/internal/boltfile"
	"tidemark.dev/tidemark/host/internal/capture"
	"tidemark.dev/tidemark/host/internal/event"
)

// Keys of the meta bucket.
const (
	stateKey = "state"
	gapsKey  = "gaps"
	liveKey  = "live"
	tallyKey = "tally"
	// CheckpointsKey and ClientsKey are for the more of [Store.Commit].
	CheckpointsKey = "checkpoints"
	ClientsKey     = "clients"
)

// Commit writes a delta and other changed data, by key. When it returns nil, the data is on disk.
func (s *Store) Commit(d *capture.Delta, more map[string][]byte) error {
	s.mu.Lock()
	logs := map[capture.Section]*sectionLog{}
	for section, log := range s.logs {
		c := *log
		logs[section] = &c
	}
	s.mu.Unlock()
	w := &writer{s: s, logs: logs}
	err := boltfile.Guard(func() error {
		return s.db.Update(func(tx *bbolt.Tx) error {
			w.tx = tx
			if err := w.delta(d); err != nil {
				return err
			}
			meta := tx.Bucket(metaBucket)
			for key, data := range more {
				if err := meta.Put([]byte(key), s.seal([]byte(key), data)); err != nil {
					return err
				}
			}
			return errors.Join(w.trim(), w.tally())
		})
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.logs = logs
	s.mu.Unlock()
	return nil
}

// writer is one commit. It works on copies of the logs, which count only when all is written.
type writer struct {
	s    *Store
	tx   *bbolt.Tx
	logs map[capture.Section]*sectionLog
}

func (w *writer) delta(d *capture.Delta) error {
	table, page := d.Endpoints, d.DOMState
	sections := map[capture.Section]*sectionWriter{}
	for _, e := range d.Entries {
		sw := sections[e.Section]
		if sw == nil {
			sw = &sectionWriter{w: w, section: e.Section, log: w.logs[e.Section]}
			sections[e.Section] = sw
		}
		if sw.n == 0 && sw.log.tail.n == 0 {
			var err error
			switch e.Section {
			case capture.NetworkSection:
				sw.log.tail.frame, err = encodeTable(table)
			case capture.DOMSection:
				sw.log.tail.frame, err = marshal(pageOf(page))
			}
			if err != nil {
				return err
			}
		}
		if err := sw.add(e.Pos, e.Value); err != nil {
			return err
		}
		switch v := e.Value.(type) {
		case *event.Network:
			table = table.Replay(v)
		case *capture.Change:
			page = page.Replay(v)
		}
	}
	for _, sw := range sections {
		if err := sw.flush(); err != nil {
			return err
		}
	}
	return w.state(&d.State)
}

func (w *writer) state(st *capture.State) error {
	meta := w.tx.Bucket(metaBucket)
	put := func(key string, v any) error {
		data, err := marshal(v)
		if err != nil {
			return err
		}
		return meta.Put([]byte(key), w.s.seal([]byte(key), data))
	}
	small := *st
	small.Gaps, small.Live = nil, nil
	err := put(stateKey, small)
	if st.Gaps != nil {
		err = errors.Join(err, put(gapsKey, gapsOf(st.Gaps)))
	}
	if st.Live != nil {
		err = errors.Join(err, put(liveKey, st.Live))
	}
	return err
}

// sectionWriter adds entries to the end of one section.
type sectionWriter struct {
	w       *writer
	section capture.Section
	log     *sectionLog

	part bytes.Buffer // the entries of this commit that are in no block yet
	enc  *msgpack.Encoder
	pos  uint64 // of the first of them
	n    uint32
	last int64
}

func (sw *sectionWriter) add(pos uint64, value event.Event) error {
	if sw.n > 0 && pos != sw.pos+uint64(sw.n) || sw.n == 0 && sw.log.tail.n > 0 && pos != sw.log.blocks[len(sw.log.blocks)-1].end() {
		// A hole: what comes after it begins a block of its own.
		if err := sw.flush(); err != nil {
			return err
		}
		sw.log.tail = tail{}
	}
	if sw.n == 0 {
		sw.pos, sw.last = pos, math.MinInt64
	}
	if sw.enc == nil {
		sw.enc = newEncoder(&sw.part)
	}
	if err := encodeEntry(sw.enc, value); err != nil {
		return err
	}
	sw.n++
	sw.last = max(sw.last, value.Header().At)
	if len(sw.log.tail.raw)+sw.part.Len() >= blockBytes {
		return sw.flush()
	}
	return nil
}

// flush writes what was added: as one more part of the tail, or, when the tail has grown enough, as one
// block in place of all its parts.
func (sw *sectionWriter) flush() error {
	if sw.n == 0 {
		return nil
	}
	t, log := &sw.log.tail, sw.log
	bucket := sw.w.tx.Bucket([]byte(sw.section))
	b := block{pos: sw.pos, entries: sw.n, framed: t.n == 0 && t.frame != nil, last: sw.last}
	data := sw.part.Bytes()
	frame := t.frame
	whole := len(t.raw)+len(data) >= blockBytes || t.parts+1 >= partsPerBlock
	raw := append(t.raw[:len(t.raw):len(t.raw)], data...)
	switch {
	case whole && t.n > 0:
		parts := log.blocks[len(log.blocks)-t.parts:]
		b = block{pos: parts[0].pos, entries: t.n + sw.n, framed: t.frame != nil, last: max(t.last, sw.last)}
		for _, p := range parts {
			if err := bucket.Delete(p.key()); err != nil {
				return err
			}
			log.bytes -= p.size
		}
		log.blocks = log.blocks[: len(log.blocks)-t.parts : len(log.blocks)-t.parts]
		data = raw
	case t.n > 0:
		frame = nil
	}
	content := payload(frame, data)
	b.raw = uint32(len(content))
	sealed := sw.w.s.seal(b.key(), content)
	b.size = keyBytes + int64(len(sealed))
	if err := bucket.Put(b.key(), sealed); err != nil {
		return err
	}
	log.blocks = append(log.blocks[:len(log.blocks):len(log.blocks)], b)
	log.bytes += b.size
	if whole {
		*t = tail{}
	} else {
		*t = tail{frame: t.frame, raw: raw, parts: t.parts + 1, n: t.n + sw.n, last: max(t.last, sw.last)}
	}
	sw.part.Reset()
	sw.n = 0
	return nil
}

// trim drops the oldest blocks until the rest is within the limits.
func (w *writer) trim() error {
	var total int64
	for _, log := range w.logs {
		total += log.bytes
	}
	for {
		var section capture.Section
		var first *block
		var oldest time.Duration
		for name, log := range w.logs {
			if len(log.blocks) <= log.tail.parts {
				continue
			}
			b := &log.blocks[0]
			age := w.s.limits.Aged(time.UnixMilli(b.last), w.s.limits.Age)
			if first == nil || age > oldest || age == oldest && b.last < first.last {
				section, first, oldest = name, b, age
			}
		}
		if first == nil || total <= w.s.limits.Bytes && oldest <= w.s.limits.Age {
			return nil
		}
		if err := w.tx.Bucket([]byte(section)).Delete(first.key()); err != nil {
			return err
		}
		log := w.logs[section]
		total -= first.size
		log.bytes -= first.size
		log.blocks = log.blocks[1:]
	}
}

// tally writes what the file holds after this commit.
func (w *writer) tally() error {
	meta := w.tx.Bucket(metaBucket)
	f := tallyFile{Entries: map[capture.Section]uint64{}}
	for section, log := range w.logs {
		f.Entries[section] = log.entries()
	}
	if err := meta.ForEach(func(k, _ []byte) error {
		f.Keys = append(f.Keys, string(k))
		return nil
	}); err != nil {
		return err
	}
	data, err := marshal(f)
	if err != nil {
		return err
	}
	return meta.Put([]byte(tallyKey), w.s.seal([]byte(tallyKey), data))
}

package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/vmihailenco/msgpack/v5"

	"tidemark.dev/tidemark/host/internal/boltfile"
)

// A block is closed when its entries take blockBytes, or partsPerBlock commits have added to it. One
// entry alone may be larger; maxBlock is more than any.
const (
	blockBytes    = 256 << 10
	partsPerBlock = 64
	maxBlock      = 16 << 20
)

// block is what the key of a block tells.
type block struct {
	pos     uint64 // of its first entry
	entries uint32
	framed  bool   // it begins with the state before its first entry
	raw     uint32 // its bytes before compression
	last    int64  // the time of its newest entry, in milliseconds
	size    int64  // of key and value
}

const keyBytes = 8 + 4 + 4 + 8

const framedBit = 1 << 31

func (b block) key() []byte {
	k := make([]byte, 0, keyBytes)
	n := b.entries
	if b.framed {
		n |= framedBit
	}
	k = binary.BigEndian.AppendUint64(k, b.pos)
	k = binary.BigEndian.AppendUint32(k, n)
	k = binary.BigEndian.AppendUint32(k, b.raw)
	return binary.BigEndian.AppendUint64(k, uint64(b.last))
}

func blockOf(key, value []byte) (block, error) {
	if len(key) != keyBytes {
		return block{}, fmt.Errorf("%w: a block's key has %d bytes", boltfile.ErrDamaged, len(key))
	}
	n := binary.BigEndian.Uint32(key[8:])
	return block{
		pos: binary.BigEndian.Uint64(key), entries: n &^ framedBit, framed: n&framedBit != 0, raw: binary.BigEndian.Uint32(key[12:]),
		last: int64(binary.BigEndian.Uint64(key[16:])), size: int64(len(key) + len(value)),
	}, nil
}

// end is the position after its last entry.
func (b block) end() uint64 { return b.pos + uint64(b.entries) }

// sectionLog is the blocks of one section, oldest first.
type sectionLog struct {
	blocks []block
	bytes  int64
	tail   tail
}

// tail is the end of a section that is not one closed block yet: every commit adds a small block, until
// all are put together.
type tail struct {
	frame []byte // before the first entry
	raw   []byte // all entries
	parts int    // how many blocks of the log it is so far
	n     uint32
	last  int64
}

func (l *sectionLog) load(k, v []byte) error {
	b, err := blockOf(k, v)
	if err != nil {
		return err
	}
	l.blocks = append(l.blocks, b)
	l.bytes += b.size
	return nil
}

// first is the oldest position held, next the one after the newest; both 0 when nothing is.
func (l *sectionLog) first() uint64 {
	if len(l.blocks) == 0 {
		return 0
	}
	return l.blocks[0].pos
}

// entries counts what the blocks hold.
func (l *sectionLog) entries() (n uint64) {
	for _, b := range l.blocks {
		n += uint64(b.entries)
	}
	return n
}

// find is the index of the block that holds a position, or of the first one after it.
func (l *sectionLog) find(pos uint64) int {
	i, _ := slices.BinarySearchFunc(l.blocks, pos, func(b block, pos uint64) int {
		if b.end() <= pos {
			return -1
		}
		return 1
	})
	return i
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal compresses what is kept under a key and puts a checksum of both before it; unseal is its reverse.
func (s *Store) seal(key, data []byte) []byte {
	out := s.packer.EncodeAll(data, make([]byte, 4, 4+len(data)/4+64))
	binary.BigEndian.PutUint32(out, checksum(key, out[4:]))
	return out
}

// checksum is of a key and what is kept under it: the key of a block says where its entries stand.
func checksum(key, packed []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, packed)
}

func (s *Store) unseal(key, sealed, into []byte) ([]byte, error) {
	if len(sealed) < 4 || binary.BigEndian.Uint32(sealed) != checksum(key, sealed[4:]) {
		return nil, fmt.Errorf("%w: wrong checksum", boltfile.ErrDamaged)
	}
	data, err := s.opener.DecodeAll(sealed[4:], into[:0])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", boltfile.ErrDamaged, err)
	}
	return data, nil
}

// payload is a block before it is sealed.
func payload(frame, entries []byte) []byte {
	p := binary.AppendUvarint(make([]byte, 0, len(frame)+len(entries)+8), uint64(len(frame)))
	return append(append(p, frame...), entries...)
}

// opened is a block's content.
type opened struct {
	data    []byte // all of it
	frame   []byte
	entries []byte
}

// openBlock opens a block into a buffer, or into a new one if that is too small.
func (s *Store) openBlock(b block, sealed, into []byte) (opened, error) {
	data, err := s.unseal(b.key(), sealed, into)
	if err != nil {
		return opened{}, err
	}
	n, width := binary.Uvarint(data)
	if width <= 0 || n > uint64(len(data)-width) {
		return opened{}, fmt.Errorf("%w: a block has no entries", boltfile.ErrDamaged)
	}
	return opened{data, data[width : width+int(n)], data[width+int(n):]}, nil
}

// newEncoder makes an encoder of entries and states: structs are lists of their fields, so that one
// that has more fields than it had once reads what was written before.
func newEncoder(w *bytes.Buffer) *msgpack.Encoder {
	e := msgpack.NewEncoder(w)
	e.UseArrayEncodedStructs(true)
	e.UseCompactInts(true)
	return e
}

func unmarshal(data []byte, into any) error {
	if err := msgpack.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%w: %w", boltfile.ErrDamaged, err)
	}
	return nil
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	err := newEncoder(&b).Encode(v)
	return b.Bytes(), err
}

// Package objects stores contents by their hash, in files that are only appended to.
//
// Guarantees:
//   - A content that [Store.Flush] has written survives the end of the process, however it ends. One that [Store.Sync]
//     has written survives a loss of power.
//   - A record that was cut short, or damaged, is never taken for a whole one: [Open] drops an end that no whole record
//     follows, and [Store.Get] returns only bytes that have the hash they were asked by. A damage takes only the contents in
//     it. One that was found damaged is stored again when it is put again.
//   - Equal contents are stored once. Stores that share packs ([Store.Share]) never change what another one has.
//   - Only the user can read the files (0700, 0600).
//   - A collection that is killed loses no live content: a file is removed after its live contents are on disk elsewhere.
//
// A pack is a file of records. A record is a block of contents that are compressed together, because most files are
// small. A pack begins with [magic], which ends with the number of the format.
package objects

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// ID is the SHA-256 of a content.
type ID [sha256.Size]byte

// IDOf returns the ID of a content.
func IDOf(content []byte) ID { return sha256.Sum256(content) }

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// Sizes in bytes. A block is compressed when it has blockSize; a content of at least blockSize is a block of its own.
// A pack takes no further record when it has packSize.
const (
	blockSize = 256 << 10
	packSize  = 64 << 20
	// MaxContent bounds one content. Larger files are stored in chunks.
	MaxContent = 8 << 20
)

// ErrMissing means that the store has no content of that ID.
var ErrMissing = errors.New("the content is not in the store")

// ErrFull means that a content would exceed the limit of [Store.SetLimit].
var ErrFull = errors.New("the store has reached its limit")

// Store is a store in a directory. It is safe for concurrent use within one process; its directory belongs to one
// store at a time.
type Store struct {
	dir string

	mu    sync.Mutex
	index index
	// damaged are contents that could not be read back, with where they are. They are not in the index. found counts those
	// that were found, ever.
	damaged map[ID]place
	found   int
	// notes say what Open cut off, missing what it found no longer there, or not wholly.
	notes   []string
	missing []string
	packs   map[uint32]*pack
	// active takes records. It is nil until the first record is written.
	active *pack
	next   uint32 // number of the next pack
	// pending are contents of the block that is not yet written.
	pending block
	unsaved []*pack // written since the last Sync
	cache   cache
	encoder *zstd.Encoder
	decoder *zstd.Decoder
	stored  int64 // bytes of all packs
	limit   int64
}

// place is where a content is: a pack, the offset of its record, and its number in the record. The pack 0 is the
// pending block.
type place struct {
	pack, offset uint32
	item         uint16
}

// Open opens the store in a directory, and creates both. It reads the table of every record, and the whole last pack.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(2*MaxContent), zstd.IgnoreChecksum(true))
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, damaged: map[ID]place{}, packs: map[uint32]*pack{}, next: 1, encoder: encoder, decoder: decoder}
	numbers, err := s.list()
	if err != nil {
		return nil, err
	}
	if len(numbers) == 0 {
		s.missing = []string{s.path(s.next) + " does not exist"}
	}
	for i, n := range numbers {
		for ; s.next < n; s.next++ {
			s.missing = append(s.missing, s.path(s.next)+" does not exist")
		}
		p, err := openPack(s.path(n), n)
		if err != nil {
			return nil, errors.Join(err, s.closePacks())
		}
		s.packs[n], s.next = p, n+1
		last := i == len(numbers)-1
		if err := s.load(p, last); err != nil {
			return nil, errors.Join(err, s.closePacks())
		}
		s.stored += p.bytes()
		if last && p.size < packSize && !p.shared() {
			s.active = p
		}
	}
	return s, nil
}

// load reads the tables of a pack, and of the last one the contents too: only that can have an end that is not whole. Of
// a content that is stored twice, the later one counts: the other one may be damaged.
func (s *Store) load(p *pack, last bool) error {
	end, _, err := p.scan(func(offset uint32, h header, items []item) {
		if h.compressed == hole {
			p.holes += int64(h.stored)
			return
		}
		var b *block
		damaged := false
		if last {
			if _, err := p.stored(int64(offset), h); err != nil {
				damaged = true
				b, _ = p.read(offset, s.decoder)
			}
		}
		for i, it := range items {
			at := place{p.number, offset, uint16(i)}
			switch {
			case !damaged || b != nil && IDOf(b.content(i)) == it.id:
				s.index.set(it.id, at)
				delete(s.damaged, it.id)
			default:
				if _, known := s.index.get(it.id); !known {
					s.damaged[it.id] = at
				}
			}
		}
	})
	if err != nil || end == p.size {
		return err
	}
	s.missing = append(s.missing, fmt.Sprintf("%s ends at %d within a record", p.file.Name(), p.size))
	if !last {
		return nil
	}
	note, err := p.cut(end)
	if note != "" {
		s.notes = append(s.notes, note)
	}
	return err
}

// list returns the numbers of the packs in their order.
func (s *Store) list() ([]uint32, error) {
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	var numbers []uint32
	for _, f := range files {
		var n uint32
		name, isPack := strings.CutSuffix(f.Name(), ".pack")
		if _, err := fmt.Sscanf(name, "%d", &n); err == nil && isPack && n > 0 {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

func (s *Store) path(n uint32) string { return filepath.Join(s.dir, fmt.Sprintf("%08d.pack", n)) }

// Has reports whether the store has a content.
func (s *Store) Has(id ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.index.get(id)
	return ok
}

// Put stores a content of at most [MaxContent] bytes and returns its ID. It is on disk after the next [Store.Flush].
// The store does not keep the slice.
func (s *Store) Put(content []byte) (ID, error) {
	id := IDOf(content)
	if len(content) > MaxContent {
		return id, fmt.Errorf("a content of %d bytes exceeds the limit of %d", len(content), MaxContent)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.index.get(id); ok {
		return id, nil
	}
	if s.limit > 0 && s.stored+int64(s.pending.bytes()+len(magic)+headerSize+tableRow+len(content)) > s.limit {
		return id, fmt.Errorf("%w of %d bytes", ErrFull, s.limit)
	}
	if s.pending.raw() > 0 && s.pending.raw()+len(content) > blockSize || len(s.pending.items) == maxItems {
		if err := s.flush(); err != nil {
			return id, err
		}
	}
	s.index.set(id, place{0, 0, uint16(len(s.pending.items))})
	delete(s.damaged, id)
	s.pending.add(id, content)
	if s.pending.raw() >= blockSize {
		return id, s.flush()
	}
	return id, nil
}

// Get returns a content. The error is [ErrMissing], or says which file is damaged.
func (s *Store) Get(id ID) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.index.get(id)
	damaged := false
	if !ok {
		if at, damaged = s.damaged[id]; !damaged {
			return nil, fmt.Errorf("%w: %s", ErrMissing, id)
		}
	}
	if ok && at.pack == 0 {
		return slices.Clone(s.pending.content(int(at.item))), nil
	}
	b, err := s.read(at)
	if b != nil {
		content := b.content(int(at.item))
		if IDOf(content) == id {
			if damaged { // it could not be read for a while
				s.index.set(id, at)
				delete(s.damaged, id)
			}
			return slices.Clone(content), nil
		}
		err = cmp.Or(err, error(&DamagedError{s.path(at.pack), int64(at.offset), fmt.Errorf("the content %d is not %s", at.item, id)}))
	}
	if !damaged {
		s.damage(id, at)
		s.check(s.packs[at.pack]) // damage is seldom alone
	}
	return nil, err
}

// damage notes that a content cannot be read back.
func (s *Store) damage(id ID, at place) {
	s.index.remove(id)
	if _, known := s.damaged[id]; !known {
		s.found++
	}
	s.damaged[id] = at
}

// Missing says what of the store was not there when it was opened: packs without which there are later ones, and ends. A
// collection leaves such gaps too, so it is the cause only where contents are missing.
func (s *Store) Missing() []string { return s.missing }

// Found returns how many contents were ever found damaged. It is larger when there are new ones, and those that they were
// stored with.
func (s *Store) Found() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found
}

// read returns a block, from memory when it was read before, of a damaged record perhaps with an error.
func (s *Store) read(at place) (*block, error) {
	if b := s.cache.get(at); b != nil {
		return b, nil
	}
	p := s.packs[at.pack]
	b, err := p.read(at.offset, s.decoder)
	if err == nil {
		s.cache.put(at, b)
	}
	return b, err
}

// Flush writes the pending block, so that it survives the end of the process.
func (s *Store) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flush()
}

func (s *Store) flush() error {
	if len(s.pending.items) == 0 {
		return nil
	}
	if s.active == nil || s.active.size >= packSize {
		if err := s.rotate(); err != nil {
			return err
		}
	}
	before := s.active.size
	offset, err := s.active.write(&s.pending, s.encoder)
	if err != nil {
		return err // the block stays pending, so that the next call tries again
	}
	for i, it := range s.pending.items {
		s.index.set(it.id, place{s.active.number, offset, uint16(i)})
	}
	s.stored += s.active.size - before
	if !slices.Contains(s.unsaved, s.active) {
		s.unsaved = append(s.unsaved, s.active)
	}
	s.pending.reset()
	return nil
}

// rotate begins a pack. A full pack is on disk before its successor has a record, so that only the last one can have a
// damaged end.
func (s *Store) rotate() error {
	if err := s.sync(); err != nil {
		return err
	}
	p, err := createPack(s.path(s.next), s.next)
	if err != nil {
		return err
	}
	if err := SyncDir(s.dir); err != nil {
		_ = p.file.Close()
		_ = os.Remove(p.file.Name())
		return err
	}
	s.packs[s.next], s.active, s.next = p, p, s.next+1
	s.stored += p.size
	return nil
}

// Sync writes everything so that it survives a loss of power. Others use the store while the disk writes.
func (s *Store) Sync() error {
	s.mu.Lock()
	if err := s.flush(); err != nil {
		s.mu.Unlock()
		return err
	}
	packs := slices.Clone(s.unsaved)
	sizes := make([]int64, len(packs))
	for i, p := range packs {
		sizes[i] = p.size
	}
	s.mu.Unlock()
	for i, p := range packs {
		err := p.file.Sync()
		s.mu.Lock()
		switch at := slices.Index(s.unsaved, p); {
		case at < 0:
			err = nil // somebody else has synced it, or a collection removed it after its contents were synced elsewhere
		case err == nil && p.size == sizes[i]:
			s.unsaved = slices.Delete(s.unsaved, at, at+1)
		}
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) sync() error {
	for len(s.unsaved) > 0 {
		if err := s.unsaved[0].file.Sync(); err != nil {
			return err
		}
		s.unsaved = s.unsaved[1:]
	}
	return nil
}

// SetLimit bounds the bytes that the packs take: contents that may exceed it are refused with [ErrFull]. 0 is no limit. A
// collection may exceed it until it has removed the pack that it copies from.
func (s *Store) SetLimit(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = bytes
}

// Size returns the bytes that the packs take, without the pending block.
func (s *Store) Size() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stored
}

// Close syncs and closes the files.
func (s *Store) Close() error {
	err := s.Sync()
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(err, s.sync(), s.closePacks())
}

func (s *Store) closePacks() error {
	var errs []error
	for _, p := range s.packs {
		errs = append(errs, p.file.Close())
	}
	s.packs, s.active = nil, nil
	s.decoder.Close()
	return errors.Join(errs...)
}

// Check reads every content and returns the damages, one line each.
func (s *Store) Check() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	damages := slices.Clone(s.notes)
	for _, n := range slices.Sorted(maps.Keys(s.packs)) {
		damages = append(damages, s.check(s.packs[n])...)
	}
	return damages
}

// check is [Store.Check] for one pack.
func (s *Store) check(p *pack) (damages []string) {
	s.cache = cache{} // what is on disk counts
	if _, err := os.Lstat(p.file.Name()); errors.Is(err, os.ErrNotExist) {
		damages = append(damages, p.file.Name()+" does not exist any more. Its contents can be read until the daemon ends")
	}
	found := map[uint32]bool{}
	err := p.whole(func(offset uint32, _ header, items []item) {
		found[offset] = true
		if len(items) == 0 {
			return
		}
		b, err := p.read(offset, s.decoder)
		lost := false
		for i, it := range items {
			if b != nil && IDOf(b.content(i)) == it.id {
				continue
			}
			at := place{p.number, offset, uint16(i)}
			if now, known := s.index.get(it.id); known && now != at {
				continue // it is stored again
			}
			s.damage(it.id, at)
			if lost = true; err == nil {
				damages = append(damages, fmt.Sprintf("%s: the content %d at %d is not %s", p.file.Name(), i, offset, it.id))
			}
		}
		if err != nil && lost {
			damages = append(damages, err.Error())
		}
	})
	if err == nil {
		return damages
	}
	for _, r := range s.index.in(p.number) {
		if !found[r.at.offset] {
			s.damage(r.id, r.at)
		}
	}
	return append(damages, err.Error())
}

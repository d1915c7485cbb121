package boltfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"

	"go.etcd.io/bbolt"

	"tidemark.dev/tidemark/installer/safefile"
)

// The layout of a file of bbolt: pages that begin with a head (number u64, kind u16, count u16, further pages u32). The first two
// have the meta data. Numbers are those of the machine; every machine that Tidemark runs on stores the low byte first.
const (
	headBytes    = 16
	elementBytes = 16

	branchPage   = 0x01
	leafPage     = 0x02
	freelistPage = 0x10

	bucketElement = 0x01
	magic         = 0xED0CDAED
	// manyFree is the count of a list of free pages that begins with its length.
	manyFree = 0xFFFF
	// maxDepth bounds the levels of a tree and the buckets in buckets.
	maxDepth = 64
)

var order = binary.LittleEndian

// structure is a file whose pages are followed once.
type structure struct {
	f        *os.File
	pageSize int64
	// root and free are the pages of the tree of buckets and of the list of free pages, high is the number of pages.
	root, free, high uint64
	seen             []bool
	// spare are buffers of pages that were read.
	spare [][]byte
}

// sound returns an error for a file whose trees do not end, share pages or reach outside of themselves. Package bbolt would follow
// them without end. It counts the heads that are undamaged, at most 2.
func sound(path string) (heads int, err error) {
	f, info, err := safefile.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	s, heads, err := readMeta(f, info.Size())
	if err != nil {
		return 0, err
	}
	s.seen = make([]bool, s.high)
	if err := s.tree(s.root, 0); err != nil {
		return 0, err
	}
	return heads, s.freePages()
}

// readMeta returns the newer of the two states that a file has, and counts the heads that are undamaged.
func readMeta(f *os.File, size int64) (newest *structure, heads int, err error) {
	last := uint64(0)
	for _, at := range []int64{0, int64(os.Getpagesize())} {
		meta := make([]byte, headBytes+64)
		if _, err := f.ReadAt(meta, at); err != nil {
			continue
		}
		meta = meta[headBytes:]
		sum := fnv.New64a()
		_, _ = sum.Write(meta[:56])
		if order.Uint32(meta) != magic || order.Uint64(meta[56:]) != sum.Sum64() {
			continue
		}
		s := &structure{f: f, pageSize: int64(order.Uint32(meta[8:])), root: order.Uint64(meta[16:]), free: order.Uint64(meta[32:]), high: order.Uint64(meta[40:])}
		tx := order.Uint64(meta[48:])
		if newest == nil || tx != last { // a copy of the other head is not one
			heads++
		}
		if newest == nil || tx > last {
			newest, last = s, tx
		}
	}
	if newest == nil {
		return nil, 0, fmt.Errorf("%w: its head is not readable", ErrDamaged)
	}
	if newest.pageSize < 1024 || newest.pageSize > 64<<10 || newest.high > uint64(size/newest.pageSize) {
		return nil, 0, fmt.Errorf("%w: it is cut off", ErrDamaged)
	}
	return newest, heads, nil
}

// page is one that nothing referred to before, with the pages that continue it. Most of a file is values, which are not read.
type page struct {
	*structure
	id   uint64
	size uint64
	// first is the page without those that continue it.
	first []byte
}

// page reads a page, and marks it and those that continue it as used.
func (s *structure) page(id uint64) (*page, error) {
	if id < 2 || id >= s.high {
		return nil, fmt.Errorf("%w: it refers to page %d of %d", ErrDamaged, id, s.high)
	}
	var first []byte
	if n := len(s.spare); n > 0 {
		first, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		first = make([]byte, s.pageSize)
	}
	if _, err := s.f.ReadAt(first, int64(id)*s.pageSize); err != nil {
		return nil, err
	}
	more := uint64(order.Uint32(first[12:]))
	if order.Uint64(first) != id || more >= s.high-id {
		return nil, fmt.Errorf("%w: page %d is not what it was", ErrDamaged, id)
	}
	for p := id; p <= id+more; p++ {
		if s.seen[p] {
			return nil, fmt.Errorf("%w: page %d is used twice", ErrDamaged, p)
		}
		s.seen[p] = true
	}
	return &page{structure: s, id: id, size: (more + 1) * uint64(s.pageSize), first: first}, nil
}

// read returns bytes of a page, which end within it.
func (p *page) read(from, n uint64) ([]byte, error) {
	if from+n <= uint64(len(p.first)) {
		return p.first[from : from+n], nil
	}
	data := make([]byte, n)
	_, err := p.f.ReadAt(data, int64(p.id)*p.pageSize+int64(from))
	return data, err
}

// tree follows a tree from its root.
func (s *structure) tree(id uint64, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: its trees are too deep", ErrDamaged)
	}
	p, err := s.page(id)
	if err != nil {
		return err
	}
	err = p.elements(0, p.size, depth)
	s.spare = append(s.spare, p.first)
	return err
}

// elements follows the elements of a page, or of a small bucket inside of one, which begins somewhere and has a size.
func (p *page) elements(begin, size uint64, depth int) error {
	bad := fmt.Errorf("%w: page %d is not what it was", ErrDamaged, p.id)
	head, err := p.read(begin, headBytes)
	if err != nil {
		return err
	}
	kind, count := order.Uint16(head[8:]), uint64(order.Uint16(head[10:]))
	if kind != branchPage && kind != leafPage || kind == branchPage && count == 0 || headBytes+count*elementBytes > size {
		return bad
	}
	table, err := p.read(begin+headBytes, count*elementBytes)
	if err != nil {
		return err
	}
	var before []byte
	for i := range count {
		e := table[i*elementBytes:]
		pos, keySize, valueSize := uint64(order.Uint32(e)), uint64(order.Uint32(e[4:])), uint64(0)
		if kind == leafPage {
			pos, keySize, valueSize = uint64(order.Uint32(e[4:])), uint64(order.Uint32(e[8:])), uint64(order.Uint32(e[12:]))
		}
		from := headBytes + i*elementBytes + pos
		if from < headBytes+count*elementBytes || from+keySize+valueSize > size || keySize > bbolt.MaxKeySize {
			return bad
		}
		key, err := p.read(begin+from, keySize)
		if err != nil {
			return err
		}
		if i > 0 && bytes.Compare(before, key) >= 0 {
			return bad
		}
		before = key
		switch {
		case kind == branchPage:
			err = p.tree(order.Uint64(e[8:]), depth+1)
		case order.Uint32(e)&bucketElement != 0:
			err = p.bucket(begin+from+keySize, valueSize, depth)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bucket follows the bucket in a value, which is the number of the page of its root, or a page inside of the value.
func (p *page) bucket(from, size uint64, depth int) error {
	bad := fmt.Errorf("%w: page %d is not what it was", ErrDamaged, p.id)
	if size < headBytes {
		return bad
	}
	head, err := p.read(from, min(size, 2*headBytes))
	if err != nil {
		return err
	}
	switch root := order.Uint64(head); {
	case root != 0:
		return p.tree(root, depth+1)
	case size < 2*headBytes || order.Uint16(head[headBytes+8:]) != leafPage || depth >= maxDepth:
		return bad
	}
	return p.elements(from+headBytes, size-headBytes, depth+1)
}

// freePages checks that pages which are free are used by nothing.
func (s *structure) freePages() error {
	p, err := s.page(s.free)
	if err != nil {
		return err
	}
	data, err := p.read(0, p.size)
	if err != nil {
		return err
	}
	bad := fmt.Errorf("%w: its list of free pages is not what it was", ErrDamaged)
	count, ids := uint64(order.Uint16(data[10:])), data[headBytes:]
	if count == manyFree {
		count, ids = order.Uint64(ids), ids[8:]
	}
	if order.Uint16(data[8:]) != freelistPage || count > uint64(len(ids)/8) {
		return bad
	}
	for i := range count {
		id := order.Uint64(ids[8*i:])
		if id < 2 || id >= s.high || s.seen[id] {
			return bad
		}
		s.seen[id] = true
	}
	return nil
}

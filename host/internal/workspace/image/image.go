// Package image is a snapshot as a read-only filesystem: numbered nodes, whose contents are read from the packs of a store when
// they are asked for. It mounts nothing.
//
// Guarantees:
//   - An image has what a checkout of the same snapshot writes: kinds, modes, times, links, hard links, extended attributes and
//     contents, with names of any bytes.
//   - The number of a node is the same whenever the image is opened. Hard links have one number.
//   - A content that is damaged is an error, never other bytes.
//   - What is in memory does not grow with what is read. The index of all names is in memory.
package image

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sort"
	"sync"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// Root is the number of the root.
const Root = 1

// cache is how many bytes of contents are kept in memory, maxLists of how many large files the places of the chunks.
const (
	cache    = 48 << 20
	maxLists = 256
)

// maxIndex bounds an index in bytes.
const maxIndex = 2 << 30

// Image is an open image. It is safe for concurrent use.
type Image struct {
	packs                         *objects.Packs
	nodes, entries, chunks, texts []byte

	mu    sync.Mutex
	lists map[uint64][]chunk
}

// Attr describes a node.
type Attr struct {
	Kind  tree.Kind
	Mode  uint16
	Links uint32
	Size  int64
	Mtime int64
	// Sparse means that the file had holes. Parent is the directory of a directory, and one of those of a file.
	Sparse bool
	Parent uint64
	// Ctime and Inode are those that the store knows of the original, 0 where it knows none. A copy with them is known to be
	// unchanged without reading it.
	Ctime int64
	Inode uint64
}

// chunk is a part of a large file: its content, where that is, and where it ends in the file. A hole is all zeros.
type chunk struct {
	id   objects.ID
	at   objects.Place
	ends int64
	hole bool
}

// Open opens an image: the index that [Create] wrote, and the directory of packs.
func Open(index, packs string) (*Image, error) {
	f, err := os.OpenFile(index, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxIndex))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	m, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s %w", index, err)
	}
	m.packs, err = objects.OpenPacks(packs, cache)
	return m, err
}

func parse(data []byte) (*Image, error) {
	if len(data) < headSize+nodeSize+4 || string(data[:len(magic)-1]) != magic[:len(magic)-1] {
		return nil, errors.New("is not an image of Tidemark")
	}
	if data[len(magic)-1] != magic[len(magic)-1] {
		return nil, fmt.Errorf("has format %d, this program reads format %d", data[len(magic)-1], magic[len(magic)-1])
	}
	body := data[:len(data)-4]
	if crc32.Checksum(body, castagnoli) != le.Uint32(data[len(body):]) {
		return nil, errors.New("is damaged: its checksum differs")
	}
	count := func(i int) int { return int(le.Uint32(data[len(magic)+4*i:])) }
	m := &Image{lists: map[uint64][]chunk{}}
	rest := body[headSize:]
	for i, part := range []*[]byte{&m.nodes, &m.entries, &m.chunks, &m.texts} {
		n := count(i) * []int{nodeSize, entrySize, chunkSize, 1}[i]
		if n > len(rest) {
			return nil, errors.New("is damaged: it ends too early")
		}
		*part, rest = rest[:n], rest[n:]
	}
	return m, nil
}

// Close closes the packs.
func (m *Image) Close() error { return m.packs.Close() }

// Nodes returns how many nodes there are. Their numbers are from 1 on.
func (m *Image) Nodes() int { return len(m.nodes) / nodeSize }

// node returns the record of a node, nil if there is none.
func (m *Image) node(number uint64) []byte {
	if number == 0 || number > uint64(m.Nodes()) { //nolint:gosec // a length
		return nil
	}
	return m.nodes[(number-1)*nodeSize : number*nodeSize]
}

// Attr returns what a node is, false if there is none of that number.
func (m *Image) Attr(number uint64) (a Attr, ok bool) {
	b := m.node(number)
	if b == nil {
		return a, false
	}
	return Attr{
		Kind: tree.Kind(b[0]), Mode: le.Uint16(b[2:]), Links: le.Uint32(b[4:]), Size: int64(le.Uint64(b[8:])), Mtime: int64(le.Uint64(b[16:])), //nolint:gosec // as they were written
		Sparse: b[1]&isSparse != 0, Parent: uint64(le.Uint32(b[36:])),
		Ctime: int64(le.Uint64(b[72:])), Inode: le.Uint64(b[80:]), //nolint:gosec // as it was written
	}, true
}

// list returns the entries of a directory.
func (m *Image) list(dir uint64) []byte {
	b := m.node(dir)
	if b == nil || tree.Kind(b[0]) != tree.Dir {
		return nil
	}
	first, count := int(le.Uint32(b[24:])), int(le.Uint32(b[28:]))
	return m.entries[first*entrySize : (first+count)*entrySize]
}

func (m *Image) name(e []byte) []byte {
	at := int(le.Uint32(e))
	return m.texts[at : at+int(le.Uint16(e[8:]))]
}

// Lookup returns the node of a name in a directory, false if there is none.
func (m *Image) Lookup(dir uint64, name string) (number uint64, ok bool) {
	list := m.list(dir)
	n := len(list) / entrySize
	i := sort.Search(n, func(i int) bool { return string(m.name(list[i*entrySize:])) >= name })
	if i == n || string(m.name(list[i*entrySize:])) != name {
		return 0, false
	}
	return uint64(le.Uint32(list[i*entrySize+4:])), true
}

// Entry returns an entry of a directory by its place, from 0 on in the order of names; false behind the last one.
func (m *Image) Entry(dir uint64, place int) (name string, number uint64, ok bool) {
	list := m.list(dir)
	if place < 0 || (place+1)*entrySize > len(list) {
		return "", 0, false
	}
	e := list[place*entrySize:]
	return string(m.name(e)), uint64(le.Uint32(e[4:])), true
}

// extra returns the texts of a node.
func (m *Image) extra(number uint64) (all [][]byte) {
	b := m.node(number)
	if b == nil {
		return nil
	}
	at := le.Uint32(b[88:])
	for rest := m.texts[at : at+le.Uint32(b[92:])]; len(rest) > 0; {
		n, size := binary.Uvarint(rest)
		if size <= 0 || n > uint64(len(rest)-size) { //nolint:gosec // a length
			return nil
		}
		rest = rest[size:]
		all, rest = append(all, rest[:n]), rest[n:]
	}
	return all
}

// Target returns where a link points.
func (m *Image) Target(number uint64) []byte {
	if all := m.extra(number); len(all) > 0 {
		return all[0]
	}
	return nil
}

// Xattrs returns the extended attributes of a node, sorted by name.
func (m *Image) Xattrs(number uint64) (list []tree.Xattr) {
	all := m.extra(number)
	for i := 1; i+1 < len(all); i += 2 {
		list = append(list, tree.Xattr{Name: string(all[i]), Value: all[i+1]})
	}
	return list
}

// content returns the content of a file that is not in chunks, or the list of its chunks, nil where nothing of it is known.
func (m *Image) content(b []byte) ([]byte, error) {
	if b[1]&hasContent == 0 {
		return nil, nil
	}
	return m.packs.Get(objects.ID(b[40:72]), objects.Place{Pack: le.Uint32(b[24:]), Offset: le.Uint32(b[28:]), Item: le.Uint16(b[32:])})
}

// ReadAt reads from a file. It returns less than was asked for at the end alone, and no error there.
func (m *Image) ReadAt(number uint64, to []byte, from int64) (n int, err error) {
	b := m.node(number)
	if b == nil || tree.Kind(b[0]) != tree.File || from < 0 {
		return 0, fmt.Errorf("node %d is not a file", number)
	}
	if b[1]&isChunked == 0 {
		content, err := m.content(b)
		if err != nil || from >= int64(len(content)) {
			return 0, err
		}
		return copy(to, content[from:]), nil
	}
	chunks, err := m.chunksOf(number)
	if err != nil {
		return 0, err
	}
	for i := at(chunks, from); i < len(chunks) && n < len(to); i++ {
		content, err := m.packs.Get(chunks[i].id, chunks[i].at)
		if err != nil {
			return n, err
		}
		begins := chunks[i].ends - int64(len(content))
		n += copy(to[n:], content[from+int64(n)-begins:])
	}
	return n, nil
}

// at returns the chunk that a place in a file is in.
func at(chunks []chunk, from int64) int {
	return sort.Search(len(chunks), func(i int) bool { return chunks[i].ends > from })
}

// chunksOf returns the chunks of a large file.
func (m *Image) chunksOf(number uint64) ([]chunk, error) {
	m.mu.Lock()
	list, known := m.lists[number]
	m.mu.Unlock()
	if known {
		return list, nil
	}
	b := m.node(number)
	data, err := m.content(b)
	if err != nil {
		return nil, err
	}
	sparse, ends := b[1]&isSparse != 0, int64(0)
	for ; len(data) >= len(objects.ID{}); data = data[len(objects.ID{}):] {
		c := chunk{id: objects.ID(data[:len(objects.ID{})])}
		i := sort.Search(len(m.chunks)/chunkSize, func(i int) bool { return bytes.Compare(m.chunks[i*chunkSize:i*chunkSize+len(c.id)], c.id[:]) >= 0 })
		if (i+1)*chunkSize > len(m.chunks) || objects.ID(m.chunks[i*chunkSize:i*chunkSize+len(c.id)]) != c.id {
			return nil, fmt.Errorf("%w: %s", objects.ErrMissing, c.id)
		}
		row := m.chunks[i*chunkSize+len(c.id):]
		c.at = objects.Place{Pack: le.Uint32(row), Offset: le.Uint32(row[4:]), Item: le.Uint16(row[8:])}
		size, err := m.packs.Size(c.at)
		if err != nil {
			return nil, err
		}
		ends += size
		c.ends, c.hole = ends, sparse && c.id == zeros(size)
		list = append(list, c)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.lists) >= maxLists {
		clear(m.lists)
	}
	m.lists[number] = list
	return list, nil
}

func compareIDs(a, b objects.ID) int { return bytes.Compare(a[:], b[:]) }

// zeroIDs are the IDs of contents that are all zeros, by their size in bytes.
var zeroIDs sync.Map

func zeros(size int64) objects.ID {
	if id, ok := zeroIDs.Load(size); ok {
		return id.(objects.ID)
	}
	id := objects.IDOf(make([]byte, size))
	zeroIDs.Store(size, id)
	return id
}

// Seek returns where the next data of a file begins at or after a place, or with hole the next hole, of which one is at the end.
// It is false behind the end, and for data where no more follow. A hole is known where it is a chunk of its own.
func (m *Image) Seek(number uint64, from int64, hole bool) (to int64, ok bool, err error) {
	a, _ := m.Attr(number)
	if from < 0 || from >= a.Size {
		return 0, false, nil
	}
	b := m.node(number)
	if b[1]&isChunked == 0 || !a.Sparse {
		if hole {
			return a.Size, true, nil
		}
		return from, true, nil
	}
	chunks, err := m.chunksOf(number)
	if err != nil {
		return 0, false, err
	}
	for i := at(chunks, from); i < len(chunks); i++ {
		if chunks[i].hole == hole {
			return from, true, nil
		}
		from = chunks[i].ends
	}
	return a.Size, hole, nil
}

// Allocated returns how many bytes of a file are data.
func (m *Image) Allocated(number uint64) int64 {
	a, _ := m.Attr(number)
	b := m.node(number)
	if b == nil || b[1]&isChunked == 0 || !a.Sparse {
		return a.Size
	}
	chunks, err := m.chunksOf(number)
	if err != nil {
		return a.Size // reading it is an error
	}
	total, before := int64(0), int64(0)
	for _, c := range chunks {
		if !c.hole {
			total += c.ends - before
		}
		before = c.ends
	}
	return total
}

// Package image is a snapshot as a read-only filesystem: numbered nodes, whose contents are read from the packs of a store when
// they are asked for. It mounts nothing.
//
// Guarantees:
//   - An image has what a checkout of the same snapshot writes: kinds, modes, times, links, hard links, extended attributes and
//     contents, with names of any bytes.
//   - The number of a node is the same whenever the image is opened. Hard links have one number.
//   - A content that is damaged is an error, never other bytes.
//   - What could not be read when the snapshot was taken is an error too, never an empty file, list or link: EACCES where the user may not
//     read it, else EIO.
//   - What is in memory does not grow with what is read. The index of all names is, from when it is needed.
//   - To open one takes no longer with more files.
//
// An index is of one snapshot. Others are that index and a file of what they have otherwise, so that an image of a snapshot near
// it costs as much as differs. [Kept] keeps such indexes.
package image

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"sort"
	"sync"
	"syscall"

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

// Files are what an image is read from: an index, the changes since it, and the directory of the linked packs.
type Files struct{ Index, Changes, Packs string }

// Image is an open image. It is safe for concurrent use.
type Image struct {
	packs                               *objects.Packs
	index                               *pages
	nodes, entries, hard, chunks, texts part
	changed                             changed
	usage                               Usage
	ahead                               chan struct{} // has as many as are read ahead

	mu    sync.Mutex
	lists map[uint64][]chunk
	// read is until where large files were read.
	read map[uint64]int64
	// merged are the entries of directories that differ from the index, once they were asked for.
	merged map[uint64][]named
}

// Usage is what all nodes are together: how many there are, and the blocks of [BlockSize] bytes of the files.
type Usage struct{ Nodes, Blocks uint64 }

// BlockSize is the size of a block in bytes.
const BlockSize = 4096

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
	// Unread means that what is in it could not be read when the snapshot was taken.
	Unread bool
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

// Open opens an image, which [Kept] made.
func Open(files Files) (m *Image, err error) {
	m = &Image{lists: map[uint64][]chunk{}, read: map[uint64]int64{}, ahead: make(chan struct{}, aheadChunks), merged: map[uint64][]named{}}
	f, err := objects.OpenFile(files.Index, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	sum, err := m.openIndex(f)
	if err == nil {
		err = m.openChanges(files.Changes, sum)
	}
	if err == nil {
		m.packs, err = objects.OpenPacks(files.Packs, cache)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return m, nil
}

// openIndex reads the end of an index, and returns its checksum. The pages before it are read when they are needed.
func (m *Image) openIndex(f *os.File) (sum uint32, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	begin, end := make([]byte, len(magic)), make([]byte, endSize)
	size := info.Size()
	if size < int64(len(magic)+endSize) || size > maxIndex {
		return 0, fmt.Errorf("%s has %d bytes, which no index has", f.Name(), size)
	}
	if _, err := f.ReadAt(begin, 0); err != nil {
		return 0, err
	}
	if err := begins(f.Name(), begin, magic); err != nil {
		return 0, err
	}
	if _, err := f.ReadAt(end, size-endSize); err != nil {
		return 0, err
	}
	parts := []*part{&m.nodes, &m.entries, &m.hard, &m.chunks, &m.texts}
	body := int64(len(magic))
	for i := range parts {
		body += int64(le.Uint32(end[4*i:])) * int64(rowSizes[i])
	}
	if body > size || body+int64(4*countPages(int(body))+endSize) != size {
		return 0, fmt.Errorf("%s is damaged: %w", f.Name(), errEnds)
	}
	tail := make([]byte, size-body)
	if _, err := f.ReadAt(tail, body); err != nil {
		return 0, err
	}
	last := len(tail) - 4
	if sum = le.Uint32(tail[last:]); crc32.Checksum(tail[:last], castagnoli) != sum {
		return 0, fmt.Errorf("%s is damaged: its checksum differs", f.Name())
	}
	m.index = newPages(f, make([]byte, body), tail[:4*countPages(int(body))])
	from := len(magic)
	for i, p := range parts {
		n := int(le.Uint32(end[4*i:])) * rowSizes[i]
		*p = part{m.index, from, m.index.data[from : from+n]}
		from += n
	}
	m.usage = Usage{uint64(m.indexed()), le.Uint64(end[4*len(parts):])} //nolint:gosec // a length
	return sum, nil
}

// begins checks how a file begins. The last byte of a magic is the number of the format.
func begins(path string, data []byte, magic string) error {
	last := len(magic) - 1
	switch {
	case len(data) <= last || string(data[:last]) != magic[:last]:
		return fmt.Errorf("%s is not a part of an image of Tidemark", path)
	case data[last] != magic[last]:
		return fmt.Errorf("%s has format %d, this program reads format %d", path, data[last], magic[last])
	}
	return nil
}

var errEnds = errors.New("its parts do not have the size that it names")

// Close closes the files.
func (m *Image) Close() error {
	for range aheadChunks { // what is read ahead has ended then
		m.ahead <- struct{}{}
	}
	return errors.Join(m.packs.Close(), m.index.file.Close())
}

// Check reads an image wholly, except for contents, and returns its damages, one line each.
func Check(files Files) []string {
	m, err := Open(files)
	if err != nil {
		return []string{err.Error()}
	}
	damages := m.index.check()
	if err := m.Close(); err != nil {
		damages = append(damages, err.Error())
	}
	return damages
}

// Usage returns how many nodes there are, and what they take.
func (m *Image) Usage() Usage { return m.usage }

// indexed returns how many nodes the index has. Their numbers are from 1 on, those of others follow.
func (m *Image) indexed() int { return m.nodes.len() / nodeSize }

// node returns the record of a node, nil if there is none.
func (m *look) node(number uint64) []byte {
	if b, ok := m.changed.nodes[number]; ok {
		return b
	}
	if number == 0 || number > uint64(m.indexed()) { //nolint:gosec // a length
		return nil
	}
	n := int(number) //nolint:gosec // see above
	return m.slice(m.nodes, (n-1)*nodeSize, n*nodeSize)
}

// Attr returns what a node is, false if there is none of that number. This error, and those of what follows, is that the index is
// damaged at a place that the answer needs, or that the answer could not be read when the snapshot was taken.
func (m *Image) Attr(number uint64) (a Attr, ok bool, err error) {
	l := look{Image: m}
	a, ok = l.attr(number)
	if b := l.node(number); ok && b[1]&isUnknown != 0 {
		return Attr{}, false, notRead(b)
	}
	return a, ok, l.damaged
}

// notRead is the error of a node that could not be read when the snapshot was taken.
func notRead(b []byte) error {
	if b[1]&isDenied != 0 {
		return syscall.EACCES
	}
	return syscall.EIO
}

// readable is the error of a node, nil if what is in it was read.
func (m *look) readable(number uint64) error {
	if b := m.node(number); m.damaged == nil && b != nil && b[1]&isUnread != 0 {
		return notRead(b)
	}
	return m.damaged
}

func (m *look) attr(number uint64) (a Attr, ok bool) {
	b := m.node(number)
	if b == nil {
		return a, false
	}
	return Attr{
		Kind: tree.Kind(b[0]), Mode: le.Uint16(b[2:]), Links: le.Uint32(b[4:]), Size: int64(le.Uint64(b[8:])), Mtime: int64(le.Uint64(b[16:])), //nolint:gosec // as they were written
		Sparse: b[1]&isSparse != 0, Parent: uint64(le.Uint32(b[36:])), Unread: b[1]&isUnread != 0,
		Ctime: int64(le.Uint64(b[72:])), Inode: le.Uint64(b[80:]), //nolint:gosec // as it was written
	}, true
}

// list returns the entries that a directory has in the index.
func (m *look) list(dir uint64) []byte {
	b := m.node(dir)
	if b == nil || tree.Kind(b[0]) != tree.Dir {
		return nil
	}
	first, count := int(le.Uint32(b[24:])), int(le.Uint32(b[28:]))
	return m.slice(m.entries, first*entrySize, (first+count)*entrySize)
}

func (m *look) name(e []byte) []byte {
	at := int(le.Uint32(e))
	return m.slice(m.texts, at, at+int(le.Uint16(e[8:])))
}

// Lookup returns the node of a name in a directory, false if there is none.
func (m *Image) Lookup(dir uint64, name string) (number uint64, ok bool, err error) {
	l := look{Image: m}
	if number, ok = l.lookup(dir, name); ok {
		return number, ok, l.damaged
	}
	return 0, false, l.readable(dir)
}

func (m *look) lookup(dir uint64, name string) (number uint64, ok bool) {
	if number, differs := m.changed.dirs[dir][name]; differs {
		return number, number != 0
	}
	list := m.list(dir)
	n := len(list) / entrySize
	i := sort.Search(n, func(i int) bool { return string(m.name(list[i*entrySize:])) >= name })
	if i == n || string(m.name(list[i*entrySize:])) != name {
		return 0, false
	}
	return uint64(le.Uint32(list[i*entrySize+4:])), true
}

// Entry returns an entry of a directory by its place, from 0 on in the order of names; false behind the last one.
func (m *Image) Entry(dir uint64, place int) (name string, number uint64, ok bool, err error) {
	l := look{Image: m}
	if err := l.readable(dir); err != nil {
		return "", 0, false, err
	}
	name, number, ok = l.entry(dir, place)
	return name, number, ok, l.damaged
}

func (m *look) entry(dir uint64, place int) (name string, number uint64, ok bool) {
	if m.changed.dirs[dir] != nil {
		list := m.merge(dir)
		if place < 0 || place >= len(list) {
			return "", 0, false
		}
		return list[place].name, list[place].number, true
	}
	list := m.list(dir)
	if place < 0 || (place+1)*entrySize > len(list) {
		return "", 0, false
	}
	e := list[place*entrySize:]
	return string(m.name(e)), uint64(le.Uint32(e[4:])), true
}

// extra returns the texts of a node.
func (m *look) extra(number uint64) (all [][]byte) {
	b := m.node(number)
	if b == nil {
		return nil
	}
	for rest := m.extraOf(b); len(rest) > 0; {
		n, size := binary.Uvarint(rest)
		if size <= 0 || n > uint64(len(rest)-size) { //nolint:gosec // a length
			return nil
		}
		rest = rest[size:]
		all, rest = append(all, rest[:n]), rest[n:]
	}
	return all
}

// extraOf returns the extra of a record. Those of changes follow those of the index.
func (m *look) extraOf(b []byte) []byte {
	at, n, texts := int(le.Uint32(b[88:])), int(le.Uint32(b[92:])), m.texts
	if at >= texts.len() {
		at, texts = at-texts.len(), m.changed.texts
	}
	return m.slice(texts, at, at+n)
}

// Target returns where a link points.
func (m *Image) Target(number uint64) ([]byte, error) {
	l := look{Image: m}
	if all := l.extra(number); len(all) > 0 && len(all[0]) > 0 {
		return all[0], l.damaged
	}
	return nil, l.readable(number)
}

// Xattrs returns the extended attributes of a node, sorted by name.
func (m *Image) Xattrs(number uint64) (list []tree.Xattr, err error) {
	l := look{Image: m}
	all := l.extra(number)
	for i := 1; i+1 < len(all); i += 2 {
		list = append(list, tree.Xattr{Name: string(all[i]), Value: all[i+1]})
	}
	return list, l.damaged
}

// content returns the content of a file that is not in chunks, or the list of its chunks.
func (m *Image) content(b []byte) ([]byte, error) {
	if b[1]&hasContent == 0 {
		return nil, notRead(b)
	}
	return m.packs.Get(objects.ID(b[40:72]), objects.Place{Pack: le.Uint32(b[24:]), Offset: le.Uint32(b[28:]), Item: le.Uint16(b[32:])})
}

// ReadAt reads from a file. It returns less than was asked for at the end alone, and no error there.
func (m *Image) ReadAt(number uint64, to []byte, from int64) (n int, err error) {
	part, err := m.Part(number, to, from)
	return copy(to, part), err
}

// Part returns a part of a file that is as long as a buffer, or ends with the file. It is in the buffer or, where nothing had to be
// copied, in memory that must not be changed.
func (m *Image) Part(number uint64, buffer []byte, from int64) ([]byte, error) {
	l := look{Image: m}
	b := l.node(number)
	if l.damaged != nil {
		return nil, l.damaged
	}
	if b == nil || tree.Kind(b[0]) != tree.File || from < 0 {
		return nil, fmt.Errorf("node %d is not a file", number)
	}
	if b[1]&isChunked == 0 {
		content, err := m.content(b)
		if err != nil || from >= int64(len(content)) {
			return nil, err
		}
		return content[from:min(int64(len(content)), from+int64(len(buffer)))], nil
	}
	chunks, err := l.chunksOf(number)
	if err != nil {
		return nil, err
	}
	i := at(chunks, from)
	m.readAhead(number, chunks, i, from, int64(len(buffer)))
	n := 0
	for ; i < len(chunks) && n < len(buffer); i++ {
		content, err := m.packs.Get(chunks[i].id, chunks[i].at)
		if err != nil {
			return buffer[:n], err
		}
		content = content[from+int64(n)-(chunks[i].ends-int64(len(content))):]
		if n == 0 && len(content) >= len(buffer) {
			return content[:len(buffer)], nil
		}
		n += copy(buffer[n:], content)
	}
	return buffer[:n], nil
}

// Of a file that is read from its begin to its end, so many chunks are read ahead. Reads of the kernel are not in order: those that are
// so many bytes apart count.
const (
	aheadChunks = 4
	aheadApart  = 1 << 20
)

// readAhead reads the chunks that follow one into memory, if a file is read from its begin to its end.
func (m *Image) readAhead(number uint64, chunks []chunk, i int, from, bytes int64) {
	m.mu.Lock()
	if len(m.read) >= maxLists {
		clear(m.read)
	}
	last := m.read[number]
	m.read[number] = from + bytes
	m.mu.Unlock()
	if apart := from - last; apart > aheadApart || apart < -aheadApart {
		return
	}
	for _, next := range chunks[min(i+1, len(chunks)):min(i+1+aheadChunks, len(chunks))] {
		select {
		case m.ahead <- struct{}{}:
			go func() {
				defer func() { <-m.ahead }()
				_, _ = m.packs.Get(next.id, next.at) // an error is that of who reads it
			}()
		default:
			return
		}
	}
}

// at returns the chunk that a place in a file is in.
func at(chunks []chunk, from int64) int {
	return sort.Search(len(chunks), func(i int) bool { return chunks[i].ends > from })
}

// chunksOf returns the chunks of a large file.
func (m *look) chunksOf(number uint64) ([]chunk, error) {
	m.mu.Lock()
	list, known := m.lists[number]
	m.mu.Unlock()
	if known {
		return list, nil
	}
	b := m.node(number)
	if m.damaged != nil {
		return nil, m.damaged
	}
	data, err := m.content(b)
	if err != nil {
		return nil, err
	}
	sparse, ends := b[1]&isSparse != 0, int64(0)
	for ; len(data) >= len(objects.ID{}); data = data[len(objects.ID{}):] {
		c, ok := chunk{id: objects.ID(data[:len(objects.ID{})])}, false
		if c.at, ok = m.placeIn(m.chunks, c.id); !ok {
			if c.at, ok = m.placeIn(m.changed.chunks, c.id); !ok && m.damaged == nil {
				return nil, fmt.Errorf("%w: %s", objects.ErrMissing, c.id)
			}
		}
		if m.damaged != nil {
			return nil, m.damaged
		}
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

// placeIn returns where a chunk is by a table of chunks.
func (m *look) placeIn(table part, id objects.ID) (at objects.Place, ok bool) {
	row := func(i int) []byte { return m.slice(table, i*chunkSize, (i+1)*chunkSize) }
	n := table.len() / chunkSize
	i := sort.Search(n, func(i int) bool { return bytes.Compare(row(i)[:len(id)], id[:]) >= 0 })
	if i == n || objects.ID(row(i)[:len(id)]) != id {
		return at, false
	}
	place := row(i)[len(id):]
	return objects.Place{Pack: le.Uint32(place), Offset: le.Uint32(place[4:]), Item: le.Uint16(place[8:])}, true
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
	l := look{Image: m}
	a, _ := l.attr(number)
	if err := l.readable(number); err != nil || from < 0 || from >= a.Size {
		return 0, false, err
	}
	b := l.node(number)
	if b[1]&isChunked == 0 || !a.Sparse {
		if hole {
			return a.Size, true, nil
		}
		return from, true, nil
	}
	chunks, err := l.chunksOf(number)
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
	l := look{Image: m}
	a, _ := l.attr(number)
	b := l.node(number)
	if b == nil || b[1]&isChunked == 0 || !a.Sparse {
		return a.Size
	}
	chunks, err := l.chunksOf(number)
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

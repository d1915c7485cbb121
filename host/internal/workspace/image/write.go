package image

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// magic begins an index. Its last byte is the number of the format.
const magic = "tidemark image\x00\x02"

// An index is [magic], the nodes, the entries of all directories, the hard links, the chunks and the texts, then the CRC-32C of each
// page of that, and the end: how many nodes, entries, hard links, chunks and bytes of texts there are (4 bytes each), the blocks of
// all files (8), and the CRC-32C of all from the first checksum on. Numbers are little endian.
//
//	node   kind, flags (1 byte each), mode (2), links (4), size, mtime (8 each), first, count (4 each), item (2), 2 unused,
//	       parent (4), content (32), ctime, inode (8 each), extra, extra's length (4 each)
//	entry  name, node (4 each), name's length (2), 2 unused
//	hard   number that the names of a file have in common (8), node (4)
//	chunk  content (32), pack, offset (4 each), item (2), 2 unused
//
// The number of a node is its place plus one. The entries of a directory follow each other, sorted by name, from first on. First,
// count and item are the place of the content of a file. Names and extras are in the texts. An extra has the target of a link
// and the extended attributes, each text with its length (uvarint) before it. Hard links are sorted by their number, chunks by their content.
const (
	nodeSize  = 96
	entrySize = 12
	hardSize  = 12
	chunkSize = 44
	endSize   = 5*4 + 8 + 4
)

// rowSizes are the sizes of the rows of all parts, in their order.
var rowSizes = [...]int{nodeSize, entrySize, hardSize, chunkSize, 1}

// The flags of a node.
const (
	isChunked = 1 << iota
	isSparse
	hasContent
	// What could not be read when the snapshot was taken: isUnread is on what is known but for what is in it, isUnknown on that of which
	// only the name is known. isDenied says that the user may not read it.
	isUnread
	isUnknown
	isDenied
)

var (
	le         = binary.LittleEndian
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// maker makes an index.
type maker struct {
	from    *objects.Store
	nodes   []byte
	entries [][]entry // of each directory, by its place in nodes
	chunks  map[objects.ID]objects.Place
	texts   []byte
	blocks  uint64
}

type entry struct {
	name, node uint32
	length     uint16
}

// create writes the index of a tree into a new file, and returns its checksum. From has its contents, all of them flushed. The
// error is [objects.ErrMissing] if one is known to be damaged.
func create(path string, t *tree.Tree, from *objects.Store) (sum uint32, err error) {
	m := &maker{from: from, chunks: map[objects.ID]objects.Place{}}
	hard := map[uint64]uint32{}
	numbers := []uint32{} // of the directories that the present path is in
	var open []string     // their paths
	for path, n := range t.All() {
		for len(open) > 0 && (path == "" || !tree.Within(path, open[len(open)-1])) {
			open, numbers = open[:len(open)-1], numbers[:len(numbers)-1]
		}
		parent := uint32(Root)
		if len(numbers) > 0 {
			parent = numbers[len(numbers)-1]
		}
		number := hard[n.Hard]
		if n.Kind == tree.Dir || n.Hard == 0 || number == 0 {
			var err error
			if number, err = m.add(n, parent); err != nil {
				return 0, fmt.Errorf("%s: %w", path, err)
			}
			if n.Kind != tree.Dir && n.Hard != 0 {
				hard[n.Hard] = number
			}
		} else {
			m.link(number)
		}
		if path != "" {
			m.enter(parent, number, tree.Base(path))
			if n.Kind == tree.Dir {
				m.link(parent)
			}
		}
		if n.Kind == tree.Dir {
			open, numbers = append(open, path), append(numbers, number)
		}
	}
	return m.write(path, hard)
}

// add adds a node.
func (m *maker) add(e *tree.Node, parent uint32) (uint32, error) {
	b := make([]byte, nodeSize)
	b[0] = byte(e.Kind)
	le.PutUint16(b[2:], e.Mode)
	links := uint32(1)
	if e.Kind == tree.Dir {
		links = 2
	}
	le.PutUint32(b[4:], links)
	le.PutUint64(b[8:], uint64(e.Size))   //nolint:gosec // any 64 bits
	le.PutUint64(b[16:], uint64(e.Mtime)) //nolint:gosec // any 64 bits
	le.PutUint32(b[36:], parent)
	le.PutUint64(b[72:], uint64(e.Ctime)) //nolint:gosec // any 64 bits
	le.PutUint64(b[80:], e.Inode)
	switch {
	case e.Kind == tree.Link:
		le.PutUint64(b[8:], uint64(len(e.Target)))
	case e.Kind == tree.Dir:
		le.PutUint64(b[8:], 0)
	case e.Content == objects.ID{}: // it could not be read
	default:
		at, ok := m.from.Locate(e.Content)
		if !ok {
			return 0, fmt.Errorf("%w: %s", objects.ErrMissing, e.Content)
		}
		b[1] |= hasContent
		le.PutUint32(b[24:], at.Pack)
		le.PutUint32(b[28:], at.Offset)
		le.PutUint16(b[32:], at.Item)
		copy(b[40:], e.Content[:])
		if e.Chunked {
			b[1] |= isChunked
			if err := m.addChunks(e.Content); err != nil {
				return 0, err
			}
		}
	}
	if e.Sparse {
		b[1] |= isSparse
	}
	b[1] |= unread(&e.Entry)
	if e.Target != "" || len(e.Xattrs) > 0 {
		at := len(m.texts)
		m.texts = appendText(m.texts, e.Target)
		for _, x := range e.Xattrs {
			m.texts = appendText(appendText(m.texts, x.Name), string(x.Value))
		}
		le.PutUint32(b[88:], uint32(at))              //nolint:gosec // write checks the sum
		le.PutUint32(b[92:], uint32(len(m.texts)-at)) //nolint:gosec // write checks the sum
	}
	m.nodes, m.entries, m.blocks = append(m.nodes, b...), append(m.entries, nil), m.blocks+blocksOf(b)
	return uint32(len(m.entries)), nil //nolint:gosec // write checks the sum
}

// unread returns the flags of an entry that could not be read.
func unread(e *tree.Entry) (flags byte) {
	if !e.Unrecorded() {
		return 0
	}
	flags = isUnread
	if e.Kind == tree.File && e.Mode == 0 && e.Mtime == 0 && e.Size == 0 {
		flags = isUnknown
	}
	if strings.HasSuffix(e.Unread, syscall.EACCES.Error()) {
		flags |= isDenied
	}
	return flags
}

// blocksOf returns the blocks of a node.
func blocksOf(b []byte) uint64 { return (le.Uint64(b[8:]) + BlockSize - 1) / BlockSize }

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// addChunks adds where the chunks of a file are.
func (m *maker) addChunks(list objects.ID) error {
	data, err := m.from.Get(list)
	if err != nil {
		return err
	}
	for ; len(data) >= len(list); data = data[len(list):] {
		id := objects.ID(data[:len(list)])
		at, ok := m.from.Locate(id)
		if !ok {
			return fmt.Errorf("%w: %s", objects.ErrMissing, id)
		}
		m.chunks[id] = at
	}
	return nil
}

// link counts one more link to a node.
func (m *maker) link(number uint32) {
	b := m.nodes[(number-1)*nodeSize+4:]
	le.PutUint32(b, le.Uint32(b)+1)
}

// enter adds a name to a directory.
func (m *maker) enter(dir, number uint32, name string) {
	m.entries[dir-1] = append(m.entries[dir-1], entry{uint32(len(m.texts)), number, uint16(len(name))}) //nolint:gosec // write checks the sum
	m.texts = append(m.texts, name...)
}

func (m *maker) write(path string, hard map[uint64]uint32) (sum uint32, err error) {
	total := 0
	for _, list := range m.entries {
		total += len(list)
	}
	if len(m.nodes) > math.MaxUint32 || len(m.texts) > math.MaxUint32 {
		return 0, errors.New("the snapshot has too many files for an image")
	}
	out := make([]byte, 0, len(magic)+len(m.nodes)+total*entrySize+len(hard)*hardSize+len(m.chunks)*chunkSize+len(m.texts)+endSize)
	out = append(out, magic...)
	nodes := len(out)
	out = append(out, m.nodes...)
	first := uint32(0)
	for i, list := range m.entries {
		b := out[nodes+i*nodeSize:]
		if tree.Kind(b[0]) != tree.Dir {
			continue
		}
		le.PutUint32(b[24:], first)
		le.PutUint32(b[28:], uint32(len(list))) //nolint:gosec // checked above
		for _, e := range list {
			out = le.AppendUint32(out, e.name)
			out = le.AppendUint32(out, e.node)
			out = le.AppendUint16(out, e.length)
			out = append(out, 0, 0)
		}
		first += uint32(len(list)) //nolint:gosec // checked above
	}
	for _, n := range slices.Sorted(maps.Keys(hard)) {
		out = le.AppendUint32(le.AppendUint64(out, n), hard[n])
	}
	out = append(m.appendChunks(out), m.texts...)
	body := len(out)
	for page := range slices.Chunk(out[:body:body], pageSize) {
		out = le.AppendUint32(out, crc32.Checksum(page, castagnoli))
	}
	out = appendCounts(out, len(m.entries), total, len(hard), len(m.chunks), len(m.texts))
	return finish(path, le.AppendUint64(out, m.blocks), body, true)
}

func appendCounts(out []byte, counts ...int) []byte {
	for _, n := range counts {
		out = le.AppendUint32(out, uint32(n)) //nolint:gosec // write checks the largest ones
	}
	return out
}

func (m *maker) appendChunks(out []byte) []byte {
	for _, id := range slices.SortedFunc(maps.Keys(m.chunks), compareIDs) {
		at := m.chunks[id]
		out = append(out, id[:]...)
		out = le.AppendUint32(out, at.Pack)
		out = le.AppendUint32(out, at.Offset)
		out = le.AppendUint16(out, at.Item)
		out = append(out, 0, 0)
	}
	return out
}

// finish writes a new file with the checksum of what is from a place on at its end, and returns it.
// With durable the file survives a loss of power.
func finish(path string, out []byte, from int, durable bool) (sum uint32, err error) {
	sum = crc32.Checksum(out[from:], castagnoli)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	_, err = f.Write(le.AppendUint32(out, sum))
	if durable {
		err = errors.Join(err, f.Sync())
	}
	return sum, errors.Join(err, f.Close())
}

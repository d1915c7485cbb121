package image

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"slices"
	"sort"
	"strings"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// changesMagic begins a file of changes. Its last byte is the number of the format.
const changesMagic = "tidemark change\x00\x01"

// Changes are how many rows, chunks and bytes of texts there are, the rows, the chunks and the texts, the checksum of the index
// that they are of (4 bytes), and their own one. The rows are sorted, a directory before what is in it:
//
//	row    node (see the index; the kind 0 is that the path was removed), path, path's length (4 each), hard (8)
const rowSize = nodeSize + 16

// changed is what an image has otherwise than its index.
type changed struct {
	nodes         map[uint64][]byte            // by their number: those that differ, and the new ones
	dirs          map[uint64]map[string]uint64 // the names that differ in a directory, 0 where one was removed
	chunks, texts part
	next          uint64            // number of the next new node
	groups        map[uint64]uint64 // the new nodes with several names, by what these have in common
}

// createChanges writes changes into a new file, of the index with that checksum. Node returns what the store knows of a path.
func createChanges(path string, of uint32, changes []tree.Change, node func(path string, e *tree.Entry) *tree.Node, from *objects.Store, durable bool) error {
	m := &maker{from: from, chunks: map[objects.ID]objects.Place{}}
	var rows []byte
	for _, c := range changes {
		row := make([]byte, rowSize)
		if c.After != nil {
			n := node(c.Path, c.After)
			if _, err := m.add(n, 0); err != nil {
				return fmt.Errorf("%s: %w", c.Path, err)
			}
			copy(row, m.nodes[len(m.nodes)-nodeSize:])
			if n.Kind != tree.Dir {
				le.PutUint64(row[nodeSize+8:], n.Hard)
			}
		}
		le.PutUint32(row[nodeSize:], uint32(len(m.texts)))  //nolint:gosec // a path has at most 64 KiB, and there are few
		le.PutUint32(row[nodeSize+4:], uint32(len(c.Path))) //nolint:gosec // see above
		rows, m.texts = append(rows, row...), append(m.texts, c.Path...)
	}
	out := appendCounts([]byte(changesMagic), len(changes), len(m.chunks), len(m.texts))
	out = append(m.appendChunks(append(out, rows...)), m.texts...)
	_, err := finish(path, le.AppendUint32(out, of), 0, durable)
	return err
}

var errOther = errors.New("its changes are not those of the index")

// openChanges makes an image of an index with a checksum that of changes since it.
func (m *Image) openChanges(path string, of uint32) error {
	data, err := read(path)
	if err != nil {
		return err
	}
	if err := begins(path, data, changesMagic); err != nil {
		return err
	}
	last := len(data) - 4
	if last < len(changesMagic) || crc32.Checksum(data[:last], castagnoli) != le.Uint32(data[last:]) {
		return fmt.Errorf("%s is damaged: its checksum differs", path)
	}
	l := look{Image: m}
	if err := l.change(data[len(changesMagic):last], of); err != nil {
		return fmt.Errorf("%s: %w", path, cmp.Or(l.damaged, err))
	}
	return l.damaged
}

// read reads a whole file.
func read(path string) ([]byte, error) {
	f, err := objects.OpenFile(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxIndex))
	return data, errors.Join(err, f.Close())
}

// change applies changes since an index with a checksum.
func (m *look) change(body []byte, of uint32) error {
	c := &m.changed
	*c = changed{nodes: map[uint64][]byte{}, dirs: map[uint64]map[string]uint64{}, groups: map[uint64]uint64{}, next: uint64(m.indexed()) + 1} //nolint:gosec // a length
	const counts = 3
	var parts [counts][]byte
	if len(body) < 4*counts {
		return errEnds
	}
	rest := body[4*counts:]
	for i, size := range []int{rowSize, chunkSize, 1} {
		n := int(le.Uint32(body[4*i:])) * size
		if n > len(rest) {
			return errEnds
		}
		parts[i], rest = rest[:n], rest[n:]
	}
	rows, texts := parts[0], parts[2]
	c.chunks.data, c.texts.data = parts[1], texts
	if len(rest) != 4 || le.Uint32(rest) != of || m.texts.len()+len(texts) > math.MaxUint32 {
		return errOther
	}
	list := slices.Collect(slices.Chunk(rows, rowSize))
	path := func(row []byte) string {
		at := le.Uint32(row[nodeSize:])
		return string(texts[at : at+le.Uint32(row[nodeSize+4:])])
	}
	for _, row := range slices.Backward(list) { // a directory after what was in it
		if row[0] == 0 && !m.remove(path(row)) {
			return errOther
		}
	}
	for _, row := range list {
		if row[0] != 0 && !m.put(path(row), row[:nodeSize:nodeSize], le.Uint64(row[nodeSize+8:])) {
			return errOther
		}
	}
	return nil
}

// find returns the directory of a path, false if there is none.
func (m *look) find(path string) (dir uint64, ok bool) {
	dir = Root
	if parent := tree.Parent(path); parent != "" {
		for name := range strings.SplitSeq(parent, "/") {
			if dir, ok = m.lookup(dir, name); !ok {
				return 0, false
			}
		}
	}
	return dir, m.isDir(dir)
}

func (m *look) isDir(number uint64) bool {
	b := m.node(number)
	return b != nil && tree.Kind(b[0]) == tree.Dir
}

// remove removes what is at a path.
func (m *look) remove(path string) bool {
	dir, ok := m.find(path)
	if !ok {
		return false
	}
	number, ok := m.lookup(dir, tree.Base(path))
	if ok {
		m.enter(dir, tree.Base(path), 0)
		m.unlink(dir, number)
	}
	return ok
}

// put makes a record what is at a path. A directory keeps what is in it. What differs of a file is another node: it may have other
// names.
func (m *look) put(path string, b []byte, hard uint64) bool {
	if at := le.Uint32(b[92:]); at > 0 {
		b = slices.Clone(b)
		le.PutUint32(b[88:], le.Uint32(b[88:])+uint32(m.texts.len())) //nolint:gosec // an index has less than 4 GiB
	}
	if path == "" {
		m.overwrite(Root, b)
		return tree.Kind(b[0]) == tree.Dir
	}
	dir, ok := m.find(path)
	if !ok {
		return false
	}
	name := tree.Base(path)
	old, ok := m.lookup(dir, name)
	if ok && m.isDir(old) && tree.Kind(b[0]) == tree.Dir {
		m.overwrite(old, b)
		return true
	}
	if ok {
		m.unlink(dir, old)
	}
	number, known := m.group(hard, b)
	if !known {
		number = m.changed.next
		m.changed.next++
		b = slices.Clone(b)
		le.PutUint32(b[36:], uint32(dir)) //nolint:gosec // a number has 32 bits in an index
		if tree.Kind(b[0]) != tree.Dir {
			le.PutUint32(b[4:], 0) // link counts
		}
		m.changed.nodes[number] = b
		if hard != 0 {
			m.changed.groups[hard] = number
		}
	}
	m.enter(dir, name, number)
	m.link(dir, number)
	return true
}

// overwrite sets what is known of a directory, except for what is in it.
func (m *look) overwrite(number uint64, b []byte) {
	to := m.edit(number)
	copy(to[1:4], b[1:4])
	copy(to[8:24], b[8:24])
	copy(to[72:], b[72:])
}

// edit returns a record that may be changed.
func (m *look) edit(number uint64) []byte {
	b, ok := m.changed.nodes[number]
	if !ok {
		b = slices.Clone(m.node(number))
		m.changed.nodes[number] = b
	}
	return b
}

// enter sets the node of a name in a directory, 0 for none.
func (m *look) enter(dir uint64, name string, number uint64) {
	if m.changed.dirs[dir] == nil {
		m.changed.dirs[dir] = map[string]uint64{}
	}
	m.changed.dirs[dir][name] = number
}

// link counts one more name of a node in a directory, and unlink one less.
func (m *look) link(dir, number uint64) {
	of := m.edit(number)
	if tree.Kind(of[0]) == tree.Dir {
		of = m.edit(dir) // by its ".."
		m.usage.Nodes++
	} else if le.Uint32(of[4:]) == 0 {
		m.usage.Nodes++
		m.usage.Blocks += blocksOf(of)
	}
	le.PutUint32(of[4:], le.Uint32(of[4:])+1)
}

func (m *look) unlink(dir, number uint64) {
	of := m.edit(number)
	if tree.Kind(of[0]) == tree.Dir {
		of = m.edit(dir)
		m.usage.Nodes--
	} else if le.Uint32(of[4:]) == 1 {
		m.usage.Nodes--
		m.usage.Blocks -= blocksOf(of)
	}
	le.PutUint32(of[4:], le.Uint32(of[4:])-1)
}

// group returns the node of which a record is one more name, by the number that its names have in common; false if there is none.
// That of the index counts only where it is the same file: numbers are used again.
func (m *look) group(hard uint64, b []byte) (number uint64, ok bool) {
	if hard == 0 {
		return 0, false
	}
	if number, ok = m.changed.groups[hard]; ok {
		return number, true
	}
	row := func(i int) []byte { return m.slice(m.hard, i*hardSize, (i+1)*hardSize) }
	n := m.hard.len() / hardSize
	i := sort.Search(n, func(i int) bool { return le.Uint64(row(i)) >= hard })
	if i == n || le.Uint64(row(i)) != hard {
		return 0, false
	}
	number = uint64(le.Uint32(row(i)[8:]))
	old := m.node(number)
	same := bytes.Equal(old[:4], b[:4]) && bytes.Equal(old[8:24], b[8:24]) && bytes.Equal(old[40:72], b[40:72]) && bytes.Equal(m.extraOf(old), m.extraOf(b))
	return number, same
}

// named is an entry of a directory.
type named struct {
	name   string
	number uint64
}

// merge returns the entries of a directory that differs from the index, sorted by name.
func (m *look) merge(dir uint64) []named {
	m.mu.Lock()
	defer m.mu.Unlock()
	if list, known := m.merged[dir]; known {
		return list
	}
	differ := m.changed.dirs[dir]
	list := []named{}
	for e := range slices.Chunk(m.list(dir), entrySize) {
		name := string(m.name(e))
		if _, other := differ[name]; !other {
			list = append(list, named{name, uint64(le.Uint32(e[4:]))})
		}
	}
	for name, number := range differ {
		if number != 0 {
			list = append(list, named{name, number})
		}
	}
	slices.SortFunc(list, func(a, b named) int { return strings.Compare(a.name, b.name) })
	if m.damaged == nil {
		m.merged[dir] = list
	}
	return list
}

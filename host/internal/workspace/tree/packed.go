package tree

import (
	"encoding/binary"
	"slices"
	"strings"
)

// A tree is in memory for as long as its workspace is watched, so that its entries are packed: those of a directory are
// records one after the other, sorted by name. A record is its length, then
//
//	name     its length and its bytes
//	flags    1 byte
//	mode     uvarint
//	size     uvarint
//	mtime    8 bytes
//	ctime    varint, its distance from mtime
//	inode    uvarint
//	content  32 bytes, with hasContent
//	rest     with hasRest: unread, target, hard (uvarint), count of xattrs (uvarint), name and value of each
//
// Strings have their length before them. The form is only in memory: [Tree.Encode] is what is on disk.

// The flags of a record. The lowest bits are its kind.
const (
	kindMask   = 3
	isRacy     = 1 << 2
	isChunked  = 1 << 3
	isSparse   = 1 << 4
	hasContent = 1 << 5
	hasRest    = 1 << 6
	isUnread   = 1 << 7
)

// blockSize is how many bytes of records are changed at once. A directory with more has several blocks.
const blockSize = 4 << 10

// dir is what is in a directory.
type dir struct {
	blocks []block
}

// block are consecutive records, which never change: another string takes their place. Subs are the contents of the
// directories among them, in their order.
type block struct {
	records string
	subs    []*dir
}

// ref is an entry of a tree. The zero value is none. It stays valid after the tree changed, except for its content.
type ref struct {
	record string // without its length
	sub    *dir   // of a directory
}

func (r ref) is() bool { return r.record != "" }

// node returns the entry.
func (r ref) node() *Node {
	if !r.is() {
		return nil
	}
	n := &Node{}
	n.unpack(r.record)
	return n
}

// entry returns the entry, nil for none.
func (r ref) entry() *Entry {
	if !r.is() {
		return nil
	}
	return &r.node().Entry
}

// uvarint takes a number from the beginning of a string.
func uvarint(s string) (uint64, string) {
	var v uint64
	for i := 0; ; i++ {
		b := s[i]
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			return v, s[i+1:]
		}
	}
}

// cut takes a string with its length from the beginning of another one.
func cut(s string) (string, string) {
	n, s := uvarint(s)
	return s[:n], s[n:]
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// pack appends the record of an entry, without its length.
func (n *Node) pack(b []byte, name string) []byte {
	b = appendString(b, name)
	flags := byte(n.Kind) & kindMask
	set := func(is bool, flag byte) {
		if is {
			flags |= flag
		}
	}
	set(n.Racy, isRacy)
	set(n.Chunked, isChunked)
	set(n.Sparse, isSparse)
	set(n.Content != [32]byte{}, hasContent)
	set(n.Unread != "", isUnread)
	set(n.Unread != "" || n.Target != "" || n.Hard != 0 || len(n.Xattrs) > 0, hasRest)
	b = append(b, flags)
	b = binary.AppendUvarint(b, uint64(n.Mode))
	b = binary.AppendUvarint(b, uint64(n.Size))              //nolint:gosec // any 64 bits
	b = binary.LittleEndian.AppendUint64(b, uint64(n.Mtime)) //nolint:gosec // any 64 bits
	b = binary.AppendVarint(b, n.Ctime-n.Mtime)              // it may wrap around, both ways
	b = binary.AppendUvarint(b, n.Inode)
	if flags&hasContent != 0 {
		b = append(b, n.Content[:]...)
	}
	if flags&hasRest == 0 {
		return b
	}
	b = appendString(b, n.Unread)
	b = appendString(b, n.Target)
	b = binary.AppendUvarint(b, n.Hard)
	b = binary.AppendUvarint(b, uint64(len(n.Xattrs)))
	for _, a := range n.Xattrs {
		b = appendString(b, a.Name)
		b = appendString(b, string(a.Value))
	}
	return b
}

// unpack reads a record. Everything in the node is replaced.
func (n *Node) unpack(s string) {
	*n = Node{}
	_, s = cut(s)
	flags := s[0]
	s = s[1:]
	n.Kind = Kind(flags & kindMask)
	n.Racy, n.Chunked, n.Sparse = flags&isRacy != 0, flags&isChunked != 0, flags&isSparse != 0
	var v uint64
	v, s = uvarint(s)
	n.Mode = uint16(v) //nolint:gosec // pack had 16 bits
	v, s = uvarint(s)
	n.Size = int64(v) //nolint:gosec // any 64 bits
	for i := range 8 {
		n.Mtime |= int64(s[i]) << (8 * i)
	}
	v, s = uvarint(s[8:])
	n.Ctime = n.Mtime + (int64(v>>1) ^ -int64(v&1)) //nolint:gosec // as encoding/binary has it
	n.Inode, s = uvarint(s)
	if flags&hasContent != 0 {
		copy(n.Content[:], s)
		s = s[len(n.Content):]
	}
	if flags&hasRest == 0 {
		return
	}
	n.Unread, s = cut(s)
	n.Target, s = cut(s)
	n.Hard, s = uvarint(s)
	v, s = uvarint(s)
	for range v {
		var a Xattr
		var value string
		a.Name, s = cut(s)
		value, s = cut(s)
		a.Value = []byte(value)
		n.Xattrs = append(n.Xattrs, a)
	}
}

// inode returns the inode of an entry, without unpacking the rest.
func (r ref) inode() uint64 {
	_, s := cut(r.record)
	_, s = uvarint(s[1:])
	_, s = uvarint(s)
	_, s = uvarint(s[8:])
	inode, _ := uvarint(s)
	return inode
}

// files calls do for each entry below a directory that is none.
func (d *dir) files(path string, do func(dir, name string, r ref)) {
	for c := d.cursor(); c.next(); {
		if c.sub != nil {
			c.sub.files(Join(path, c.name), do)
		} else {
			do(path, c.name, c.ref)
		}
	}
}

// cursor goes through the records of blocks.
type cursor struct {
	blocks []block
	rest   string
	dirs   int // how many directories of the block were passed

	// What next has found.
	name string
	ref
	raw string // the record with its length
}

// next goes to the next record, and returns false at the end.
func (c *cursor) next() bool {
	for c.rest == "" {
		if len(c.blocks) == 0 {
			c.name, c.ref = "", ref{}
			return false
		}
		c.rest = c.blocks[0].records
		if c.rest == "" {
			c.blocks = c.blocks[1:]
		}
		c.dirs = 0
	}
	before := c.rest
	c.record, c.rest = cut(c.rest)
	c.raw = before[:len(before)-len(c.rest)]
	var after string
	c.name, after = cut(c.record)
	c.sub = nil
	if Kind(after[0]&kindMask) == Dir {
		c.sub = c.blocks[0].subs[c.dirs]
		c.dirs++
	}
	if c.rest == "" {
		c.blocks = c.blocks[1:]
	}
	return true
}

// cursor returns a cursor before the first entry. A nil directory has none.
func (d *dir) cursor() cursor {
	if d == nil {
		return cursor{}
	}
	return cursor{blocks: d.blocks}
}

// first returns the first name of a block.
func (b *block) first() string {
	_, rest := uvarint(b.records)
	name, _ := cut(rest)
	return name
}

// where returns the block that a name is in, or would be.
func (d *dir) where(name string) int {
	i, ok := slices.BinarySearchFunc(d.blocks, name, func(b block, name string) int { return strings.Compare(b.first(), name) })
	if !ok && i > 0 {
		i--
	}
	return i
}

// child returns an entry by its name.
func (d *dir) child(name string) ref {
	if d == nil || len(d.blocks) == 0 {
		return ref{}
	}
	at := d.where(name)
	for c := (cursor{blocks: d.blocks[at : at+1]}); c.next() && c.name <= name; {
		if c.name == name {
			return c.ref
		}
	}
	return ref{}
}

func (d *dir) count() int {
	n := 0
	for c := d.cursor(); c.next(); {
		n += c.size()
	}
	return n
}

// update is another entry of a name in a directory, or none.
type update struct {
	name string
	node *Node // nil removes
}

// writer makes blocks out of records.
type writer struct {
	blocks  []block
	records []byte
	subs    []*dir
	packed  []byte
}

// copy adds a record as it is.
func (w *writer) copy(records string, sub *dir) {
	w.records = append(w.records, records...)
	w.added(sub)
}

// add adds a node. Sub is the content of a directory.
func (w *writer) add(name string, n *Node, sub *dir) {
	w.packed = n.pack(w.packed[:0], name)
	w.records = binary.AppendUvarint(w.records, uint64(len(w.packed)))
	w.records = append(w.records, w.packed...)
	w.added(sub)
}

func (w *writer) added(sub *dir) {
	if sub != nil {
		w.subs = append(w.subs, sub)
	}
	if len(w.records) >= blockSize {
		w.end()
	}
}

// end ends a block.
func (w *writer) end() {
	if len(w.records) > 0 {
		b := block{records: string(w.records)}
		if len(w.subs) > 0 {
			b.subs = slices.Clone(w.subs)
		}
		w.blocks = append(w.blocks, b)
	}
	w.records, w.subs = w.records[:0], w.subs[:0]
}

// update changes entries of a directory. The updates are sorted by name, one for each name. It returns by how many
// entries the tree grew. A directory keeps its content if there was a directory before.
func (d *dir) update(updates []update, w *writer) (grown int) {
	w.blocks, w.records, w.subs = nil, w.records[:0], w.subs[:0]
	put := func(u update, old ref) {
		switch {
		case u.node == nil:
			grown -= old.size()
		case u.node.Kind == Dir && old.sub != nil:
			w.add(u.name, u.node, old.sub)
		case u.node.Kind == Dir:
			grown += 1 - old.size()
			w.add(u.name, u.node, &dir{})
		default:
			grown += 1 - old.size()
			w.add(u.name, u.node, nil)
		}
	}
	if len(d.blocks) == 0 {
		for _, u := range updates {
			put(u, ref{})
		}
		w.end()
		d.blocks = slices.Clip(w.blocks)
		return grown
	}
	from := d.where(updates[0].name)
	at := from
	for ; at < len(d.blocks) && len(updates) > 0; at++ {
		here := len(updates) // those that belong into this block
		if at+1 < len(d.blocks) {
			here, _ = slices.BinarySearchFunc(updates, d.blocks[at+1].first(), func(u update, first string) int { return strings.Compare(u.name, first) })
		}
		mine := updates[:here]
		updates = updates[here:]
		if len(mine) == 0 {
			w.end()
			w.blocks = append(w.blocks, d.blocks[at])
			continue
		}
		for c := (cursor{blocks: d.blocks[at : at+1]}); c.next(); {
			for len(mine) > 0 && mine[0].name < c.name {
				put(mine[0], ref{})
				mine = mine[1:]
			}
			if len(mine) > 0 && mine[0].name == c.name {
				put(mine[0], c.ref)
				mine = mine[1:]
				continue
			}
			w.copy(c.raw, c.sub)
		}
		for _, u := range mine {
			put(u, ref{})
		}
	}
	w.end()
	d.blocks = slices.Clip(slices.Concat(d.blocks[:from], w.blocks, d.blocks[at:]))
	return grown
}

// size counts an entry and what is below it.
func (r ref) size() int {
	switch {
	case !r.is():
		return 0
	case r.sub == nil:
		return 1
	}
	return 1 + r.sub.count()
}

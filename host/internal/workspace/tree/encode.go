package tree

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

// A tree is encoded as its nodes, a directory before its children. Encoded nodes are lists: only add to the end.
type encoded struct {
	_msgpack struct{} `msgpack:",as_array"` //nolint:unused // it tells msgpack the form

	// Path is the path of a node without the Shared first bytes that it has in common with the path before it.
	Shared int
	Path   string
	Entry  Entry
	Ctime  int64
	Inode  uint64
	Racy   bool
}

// maxPath bounds a path in bytes.
const maxPath = 1 << 16

// Encode writes the tree with its stats.
func (t *Tree) Encode(w io.Writer) error { return t.encode(w, func(string, *Node) {}) }

// EncodeCopy writes the tree of a copy in a directory, with the stats of that. Nothing may have changed the copy since it was
// made. Now is the time. What differs in size, time or mode all the same is read by the next scan, and so is what was written just
// before.
func (t *Tree) EncodeCopy(w io.Writer, dir string, now time.Time) error {
	r, err := openRoot(dir)
	if err != nil {
		return err
	}
	defer r.close()
	return t.encode(w, func(path string, n *Node) {
		st, err := r.stat(path)
		n.Ctime, n.Inode, n.Racy = st.Ctime, st.Inode, false
		if n.Hard != 0 {
			n.Hard = st.Inode
		}
		n.Racy = err != nil || !n.clean(st) || racy(now, st)
	})
}

func (t *Tree) encode(w io.Writer, change func(path string, n *Node)) error {
	e := msgpack.NewEncoder(w)
	var n Node
	var err error
	before := ""
	each("", t.root, func(path string, r ref) bool {
		n.unpack(r.record)
		change(path, &n)
		shared := common(before, path)
		err = e.Encode(&encoded{Shared: shared, Path: path[shared:], Entry: n.Entry, Ctime: n.Ctime, Inode: n.Inode, Racy: n.Racy})
		before = path
		return err == nil
	})
	return err
}

func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// Decode reads a tree that [Tree.Encode] wrote.
func Decode(r io.Reader) (*Tree, error) {
	d := msgpack.NewDecoder(r)
	t := New()
	var b builder
	before := ""
	for first := true; ; first = false {
		var n encoded
		err := d.Decode(&n)
		if errors.Is(err, io.EOF) && !first {
			b.leave(0)
			t.Files = b.files
			return t, nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot decode a tree after %q: %w", before, err)
		}
		if n.Shared < 0 || n.Shared > len(before) || n.Shared+len(n.Path) > maxPath {
			return nil, fmt.Errorf("cannot decode a tree after %q: its next path is not valid", before)
		}
		if !n.Entry.Kind.valid() {
			return nil, fmt.Errorf("cannot decode a tree after %q: its next entry has the unknown kind %d", before, n.Entry.Kind)
		}
		path := before[:n.Shared] + n.Path
		node := &Node{Entry: n.Entry, Ctime: n.Ctime, Inode: n.Inode, Racy: n.Racy}
		switch {
		case (path == "") != first || first && n.Entry.Kind != Dir:
			return nil, fmt.Errorf("cannot decode a tree after %q: the next path, %q, has no directory", before, path)
		case first:
			t.setRoot(node)
			b.enter("", t.root.sub)
		case !b.add(path, node):
			return nil, fmt.Errorf("cannot decode a tree after %q: the next path, %q, has no directory or is not in its order", before, path)
		}
		before = path
	}
}

// DecodeMsgpack decodes the attributes of an encoded entry.
func (x *Xattrs) DecodeMsgpack(d *msgpack.Decoder) (err error) {
	*x, err = decodeList[Xattr](d)
	return err
}

// DecodeChanges reads a list of changes.
func DecodeChanges(r io.Reader) ([]Change, error) { return decodeList[Change](msgpack.NewDecoder(r)) }

// decodeList reads a list piece by piece. Package msgpack takes memory for as many as a list says that it has, which damage may have
// made billions.
func decodeList[T any](d *msgpack.Decoder) ([]T, error) {
	n, err := d.DecodeArrayLen()
	if err != nil || n < 0 {
		return nil, err
	}
	list := make([]T, 0, min(n, maxAhead))
	for range n {
		var one T
		if err := d.Decode(&one); err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// maxAhead is for how many of a list memory is taken before they are read.
const maxAhead = 1024

// builder makes a tree of nodes that come in the order of [Tree.All].
type builder struct {
	open  []*level
	spare []*level
	files int
}

// level is a directory that nodes may still come for.
type level struct {
	path, last string
	dir        *dir
	writer
}

func (b *builder) enter(path string, d *dir) {
	l := &level{}
	if n := len(b.spare); n > 0 {
		l, b.spare = b.spare[n-1], b.spare[:n-1]
	}
	l.path, l.last, l.dir, l.blocks = path, "", d, nil
	b.open = append(b.open, l)
}

// leave ends all directories but the first ones.
func (b *builder) leave(but int) {
	for len(b.open) > but {
		l := b.open[len(b.open)-1]
		l.end()
		l.dir.blocks = slices.Clip(l.blocks)
		b.open, b.spare = b.open[:len(b.open)-1], append(b.spare, l)
	}
}

// add adds a node, and reports whether its directory is there and it follows the one before.
func (b *builder) add(path string, n *Node) bool {
	parent, name := Parent(path), Base(path)
	for len(b.open) > 0 && b.open[len(b.open)-1].path != parent {
		b.leave(len(b.open) - 1)
	}
	if len(b.open) == 0 {
		return false
	}
	l := b.open[len(b.open)-1]
	if name == "" || name <= l.last {
		return false
	}
	l.last = name
	b.files++
	if n.Kind != Dir {
		l.add(name, n, nil)
		return true
	}
	sub := &dir{}
	l.add(name, n, sub)
	b.enter(path, sub)
	return true
}

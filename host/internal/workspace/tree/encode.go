package tree

import (
	"errors"
	"fmt"
	"io"

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
func (t *Tree) Encode(w io.Writer) error {
	e := msgpack.NewEncoder(w)
	before := ""
	for path, n := range t.All() {
		shared := common(before, path)
		if err := e.Encode(&encoded{Shared: shared, Path: path[shared:], Entry: n.Entry, Ctime: n.Ctime, Inode: n.Inode, Racy: n.Racy}); err != nil {
			return err
		}
		before = path
	}
	return nil
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
	before := ""
	for first := true; ; first = false {
		var n encoded
		err := d.Decode(&n)
		if errors.Is(err, io.EOF) && !first {
			return t, nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot decode a tree after %q: %w", before, err)
		}
		if n.Shared < 0 || n.Shared > len(before) || n.Shared+len(n.Path) > maxPath {
			return nil, fmt.Errorf("cannot decode a tree after %q: its next path is not valid", before)
		}
		path := before[:n.Shared] + n.Path
		if parent := t.Lookup(Parent(path)); (path == "") != first || parent == nil || parent.Kind != Dir {
			return nil, fmt.Errorf("cannot decode a tree after %q: the next path, %q, has no directory", before, path)
		}
		t.Set(path, &Node{Entry: n.Entry, Ctime: n.Ctime, Inode: n.Inode, Racy: n.Racy})
		before = path
	}
}

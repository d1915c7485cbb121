// Package tree is a directory tree as data: what is in it, how two states of it differ, and which files may have changed
// since it was read.
//
// Guarantees:
//   - A [Scanner] never follows a symbolic link and never leaves its directory.
//   - A file whose stat did not change is not read again, unless it changed so shortly before it was read that the stat
//     could hide a later change (a racily clean file, as Git calls it).
//   - A scan that fails changes nothing in the tree.
//   - A file that cannot be read, or changes while it is read, is reported. It is never taken for complete.
//
// Names are bytes, as the system has them (on Windows, WTF-8). Where the system ignores case, a name is as its directory
// spells it. A path is relative to the root, has "/" as its separator and no "." or "..".
// The root is "".
package tree

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/workspace/objects"
)

// Kind is what an entry is.
type Kind uint8

// The kinds of entries. Sockets, pipes and devices have no content that could come back, and are left out.
const (
	File Kind = iota + 1
	Dir
	Link
)

// Entry is what a snapshot records of a file, a directory or a symbolic link. Encoded entries are lists: only add to the
// end.
type Entry struct {
	_msgpack struct{} `msgpack:",as_array"` //nolint:unused // it tells msgpack the form

	Kind Kind
	// Mode has the permission bits of Unix, with setuid, setgid and sticky.
	Mode uint16
	Size int64
	// Mtime is the time of the last change of the content, in nanoseconds since 1970.
	Mtime int64
	// Content is the ID of a file's content. With Chunked it is the ID of a list of IDs.
	Content objects.ID
	Chunked bool
	// Sparse means that the file had holes.
	Sparse bool
	// Unread is why the content could not be read, "" where it was.
	Unread string
	// Target is where a symbolic link points.
	Target string
	// Xattrs are the extended attributes, sorted by name.
	Xattrs []Xattr
	// Hard is the number that hard links to one file have in common, 0 for a file with one name.
	Hard uint64
}

// Xattr is an extended attribute.
type Xattr struct {
	_msgpack struct{} `msgpack:",as_array"` //nolint:unused // it tells msgpack the form

	Name  string
	Value []byte
}

// Same reports whether two entries are the same in everything that a snapshot records.
func (e *Entry) Same(o *Entry) bool {
	return e.SameContent(o) && e.Mode == o.Mode && e.Mtime == o.Mtime && e.Sparse == o.Sparse && e.Hard == o.Hard &&
		slices.EqualFunc(e.Xattrs, o.Xattrs, func(a, b Xattr) bool { return a.Name == b.Name && string(a.Value) == string(b.Value) })
}

// SameContent reports whether two entries have the same content: the bytes of a file, the target of a link.
func (e *Entry) SameContent(o *Entry) bool {
	return e.Kind == o.Kind && e.Size == o.Size && e.Content == o.Content && e.Chunked == o.Chunked && e.Unread == o.Unread && e.Target == o.Target
}

// Stat is what tells that a file changed, without reading it.
type Stat struct {
	Size, Mtime, Ctime int64
	Inode              uint64
	Mode               uint16
	Links              uint32
	Kind               Kind
}

// Node is an entry in a tree, with the stat it had when it was read.
type Node struct {
	Name string
	Entry
	Ctime int64
	Inode uint64
	// Racy means that the file changed so shortly before it was read that its stat does not prove that it is unchanged.
	Racy bool
	// Children are sorted by name. Only directories have some.
	Children []*Node
}

func (n *Node) clean(st Stat) bool {
	return !n.Racy && n.Unread == "" && n.Kind == st.Kind && n.Mode == st.Mode && n.Mtime == st.Mtime && n.Ctime == st.Ctime && n.Inode == st.Inode &&
		(n.Kind == Dir || n.Size == st.Size) && (n.Kind != File || (n.Hard != 0) == (st.Links > 1))
}

// find returns the index of a child, or where it would be.
func (n *Node) find(name string) (int, bool) {
	return slices.BinarySearchFunc(n.Children, name, func(c *Node, name string) int { return cmp.Compare(c.Name, name) })
}

// Child returns a child, nil if there is none of that name.
func (n *Node) Child(name string) *Node {
	if i, ok := n.find(name); ok {
		return n.Children[i]
	}
	return nil
}

// Tree is a directory tree. It is not safe for concurrent use.
type Tree struct {
	Root Node
	// Files counts the entries below the root.
	Files int
}

// New returns an empty tree.
func New() *Tree { return &Tree{Root: Node{Entry: Entry{Kind: Dir, Mode: 0o700}}} }

// Lookup returns the node at a path, nil if there is none.
func (t *Tree) Lookup(path string) *Node {
	n := &t.Root
	if path == "" {
		return n
	}
	for name := range strings.SplitSeq(path, "/") {
		if n = n.Child(name); n == nil {
			return nil
		}
	}
	return n
}

// Set puts an entry at a path, in place of the one that is there. A directory keeps its children if there was a directory
// before. The parent must be in the tree.
func (t *Tree) Set(path string, node *Node) {
	if path == "" {
		children := t.Root.Children
		t.Root = *node
		t.Root.Children = children
		return
	}
	parent, name := t.Lookup(Parent(path)), Base(path)
	node.Name = name
	i, ok := parent.find(name)
	if !ok {
		parent.Children = slices.Insert(parent.Children, i, node)
		t.Files++
		return
	}
	old := parent.Children[i]
	if old.Kind == Dir {
		if node.Kind == Dir {
			node.Children = old.Children
		} else {
			t.Files -= count(old) - 1
		}
	}
	parent.Children[i] = node
}

// Remove removes the entry at a path with everything below it.
func (t *Tree) Remove(path string) {
	parent := t.Lookup(Parent(path))
	if parent == nil {
		return
	}
	if i, ok := parent.find(Base(path)); ok {
		t.Files -= count(parent.Children[i])
		parent.Children = slices.Delete(parent.Children, i, i+1)
	}
}

func count(n *Node) int {
	all := 1
	for _, c := range n.Children {
		all += count(c)
	}
	return all
}

// All returns the paths and nodes of a tree, a directory before what is in it. The root is the first.
func (t *Tree) All() iter.Seq2[string, *Node] {
	return func(yield func(string, *Node) bool) { each("", &t.Root, yield) }
}

func each(path string, n *Node, yield func(string, *Node) bool) bool {
	if !yield(path, n) {
		return false
	}
	for _, c := range n.Children {
		if !each(Join(path, c.Name), c, yield) {
			return false
		}
	}
	return true
}

// Parent returns the path of the directory that a path is in.
func Parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i]
	}
	return ""
}

// Base returns the last name of a path.
func Base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// Join joins the path of a directory and a name.
func Join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// Within reports whether a path is a directory or below it.
func Within(path, dir string) bool {
	return dir == "" || path == dir || strings.HasPrefix(path, dir) && path[len(dir)] == '/'
}

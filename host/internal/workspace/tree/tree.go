// Package tree is a directory tree as data: what is in it, how two states of it differ, and which files may have changed
// since it was read.
//
// Guarantees:
//   - A [Scanner] never follows a symbolic link and never leaves its directory.
//   - A file whose stat did not change is not read again, unless it changed so shortly before it was read that the stat
//     could hide a later change (a racily clean file, as Git calls it).
//   - A scan that fails changes nothing in the tree.
//   - A file that is renamed during a scan is found by one of its names, or the directories that it may be in are reported.
//   - A file that cannot be read, or changes while it is read, is reported. It is never taken for complete.
//
// Names are bytes, as the system has them (on Windows, WTF-8). Where the system ignores case, a name is as its directory
// spells it. A path is relative to the root, has "/" as its separator and no "." or "..".
// The root is "".
package tree

import (
	"errors"
	"fmt"
	"iter"
	"math"
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

func (k Kind) valid() bool { return k >= File && k <= Link }

// Entry is what a snapshot records of a file, a directory or a symbolic link. Encoded entries are lists: only add to the
// end.
type Entry struct {
	_msgpack struct{} `msgpack:",as_array"` //nolint:unused // it tells msgpack the form

	Kind Kind
	// Mode has the permission bits of Unix, with setuid, setgid and sticky.
	Mode uint16
	Size int64
	// Mtime is the time of the last change of the content, as [Nanoseconds] returns it.
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
	Xattrs Xattrs
	// Hard is the number that hard links to one file have in common, 0 for a file with one name.
	Hard uint64
}

// Xattrs are extended attributes.
type Xattrs []Xattr

// Xattr is an extended attribute.
type Xattr struct {
	_msgpack struct{} `msgpack:",as_array"` //nolint:unused // it tells msgpack the form

	Name  string
	Value []byte
}

// Same reports whether two entries are the same in everything that a snapshot records.
func (e *Entry) Same(o *Entry) bool {
	return e.SameContent(o) && e.Mode == o.Mode && e.Mtime == o.Mtime && e.Sparse == o.Sparse && e.Hard == o.Hard &&
		slices.EqualFunc(e.Xattrs, o.Xattrs, Xattr.same)
}

func (x Xattr) same(o Xattr) bool { return x.Name == o.Name && string(x.Value) == string(o.Value) }

// SameContent reports whether two entries have the same content: the bytes of a file, the target of a link.
func (e *Entry) SameContent(o *Entry) bool {
	return e.Kind == o.Kind && e.Size == o.Size && e.Content == o.Content && e.Chunked == o.Chunked && e.Unread == o.Unread && e.Target == o.Target
}

// Unrecorded reports whether nothing is known of what is in a file, a directory or a link, because it could not be read. An empty one in
// its place would look like the real one.
func (e *Entry) Unrecorded() bool {
	switch {
	case e.Unread == "":
		return false
	case e.Kind == File:
		return e.Content == objects.ID{}
	case e.Kind == Link:
		return e.Target == ""
	}
	return true
}

// Nanoseconds returns a time of a file, in seconds and nanoseconds since 1970, in nanoseconds. What no 64 bits hold, before
// 1677 or after 2262, is the nearest second that they hold.
func Nanoseconds(sec, nsec int64) int64 {
	const last = math.MaxInt64 / 1_000_000_000
	switch {
	case sec <= -last:
		return -last * 1_000_000_000
	case sec >= last:
		return last * 1_000_000_000
	}
	return sec*1_000_000_000 + nsec
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
	Entry
	Ctime int64
	Inode uint64
	// Racy means that the file changed so shortly before it was read that its stat does not prove that it is unchanged.
	Racy bool
}

func (n *Node) clean(st Stat) bool {
	return !n.Racy && n.Unread == "" && n.Kind == st.Kind && n.Mode == st.Mode && n.Mtime == st.Mtime && n.Ctime == st.Ctime && n.Inode == st.Inode &&
		(n.Kind == Dir || n.Size == st.Size) && (n.Kind != File || (n.Hard != 0) == (st.Links > 1))
}

// Tree is a directory tree. It takes about 70 bytes for a file with its name. It is not safe for concurrent use, but for
// reading.
type Tree struct {
	root ref
	// Files counts the entries below the root.
	Files int
}

// New returns an empty tree.
func New() *Tree {
	t := &Tree{root: ref{sub: &dir{}}}
	t.setRoot(&Node{Entry: Entry{Kind: Dir, Mode: 0o700}})
	return t
}

func (t *Tree) setRoot(n *Node) { t.root.record = string(n.pack(nil, "")) }

func (t *Tree) find(path string) ref {
	r := t.root
	if path == "" {
		return r
	}
	for name := range strings.SplitSeq(path, "/") {
		if r = r.sub.child(name); !r.is() {
			break
		}
	}
	return r
}

// Doubt has the next scan read the files again of which doubted is true, and returns their paths. [Scanner.Some] must be told
// of them.
func (t *Tree) Doubt(doubted func(*Entry) bool) (paths []string, err error) {
	var n Node
	t.root.sub.files("", func(dir, name string, r ref) {
		if n.unpack(r.record); n.Kind == File && doubted(&n.Entry) {
			paths = append(paths, Join(dir, name))
		}
	})
	return paths, t.put(func(yield func(string, *Node) bool) {
		for _, path := range paths {
			n := t.Lookup(path)
			if n.Racy = true; !yield(path, n) {
				return
			}
		}
	})
}

// Lookup returns a copy of the node at a path, nil if there is none.
func (t *Tree) Lookup(path string) *Node { return t.find(path).node() }

// put changes many entries: one for each path, a directory before what is in it. The node takes the place of what is there;
// nil removes it. A directory keeps its content if there was a directory before. What is to be removed need not be there.
func (t *Tree) put(nodes iter.Seq2[string, *Node]) error {
	byDir := map[string][]update{}
	var dirs []string // each before those in it
	for path, n := range nodes {
		if n != nil && !n.Kind.valid() {
			return fmt.Errorf("%q has the unknown kind %d", path, n.Kind)
		}
		if path == "" {
			if n == nil || n.Kind != Dir {
				return errors.New("the root of a tree is a directory")
			}
			t.setRoot(n)
			continue
		}
		dir := Parent(path)
		updates, known := byDir[dir]
		if !known {
			dirs = append(dirs, dir)
		}
		byDir[dir] = append(updates, update{Base(path), n})
	}
	var w writer
	for _, dir := range dirs {
		updates := byDir[dir]
		delete(byDir, dir) // its nodes are in the tree, packed, from here on
		if byName := func(a, b update) int { return strings.Compare(a.name, b.name) }; !slices.IsSortedFunc(updates, byName) {
			slices.SortStableFunc(updates, byName)
		}
		at := t.find(dir)
		if at.sub != nil {
			t.Files += at.sub.update(updates, &w)
			continue
		}
		if i := slices.IndexFunc(updates, func(u update) bool { return u.node != nil }); i >= 0 {
			return fmt.Errorf("%q has no directory in the tree", Join(dir, updates[i].name))
		}
	}
	return nil
}

// All returns the paths and nodes of a tree, a directory before what is in it. The root is the first.
func (t *Tree) All() iter.Seq2[string, *Node] {
	return func(yield func(string, *Node) bool) {
		each("", t.root, func(path string, r ref) bool { return yield(path, r.node()) })
	}
}

func each(path string, r ref, yield func(string, ref) bool) bool {
	if !yield(path, r) {
		return false
	}
	for c := r.sub.cursor(); c.next(); {
		if !each(Join(path, c.name), c.ref, yield) {
			return false
		}
	}
	return true
}

// Paths returns the paths of what is no directory. Directories with a name of which skip is true are left out.
func (t *Tree) Paths(skip func(name string) bool) iter.Seq[string] {
	var paths func(path string, d *dir, yield func(string) bool) bool
	paths = func(path string, d *dir, yield func(string) bool) bool {
		for c := d.cursor(); c.next(); {
			if c.ref.sub == nil {
				if !yield(Join(path, c.name)) {
					return false
				}
			} else if !skip(c.name) && !paths(Join(path, c.name), c.ref.sub, yield) {
				return false
			}
		}
		return true
	}
	return func(yield func(string) bool) { paths("", t.root.sub, yield) }
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

// ChangingError is an error of the store at a file that was read several times, because it changed while it was read. What was
// read before is in the store too.
type ChangingError struct {
	Path string
	// Times counts the readings. Size is in bytes.
	Times int
	Size  int64
	Err   error
}

func (e *ChangingError) Error() string { return fmt.Sprintf("%s: %s: %v", e.Path, changed, e.Err) }

func (e *ChangingError) Unwrap() error { return e.Err }

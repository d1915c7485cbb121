// Package union is a filesystem that can be written to, above one that never changes. The files below it stay as they are: what
// is written is in a directory. It mounts nothing.
//
// Guarantees:
//   - An operation is one record of a log. A process that is killed leaves each operation whole or undone, and none that it
//     acknowledged is undone. After a loss of power, what was synced is there.
//   - The number of a node stays when it is written, renamed or linked, and when the union is opened again. All names of a hard link
//     are the same file, also below.
//   - A directory is renamed without copying what is in it.
//   - A list of a directory that changes meanwhile has each name that stays exactly once.
//   - On a full disk files can be removed.
//
// The directory has a file log and a directory data. Log is all nodes and names that differ from the files below, data the
// contents of files, each in a file named by its node.
//
// Errors are numbers of the system, such as [syscall.ENOENT]. Any other error is one of reading or writing the directory.
package union

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"tidemark.dev/tidemark/host/internal/workspace/image"
	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// Root is the number of the root.
const Root = image.Root

// The types of files in a mode, as Linux has them, and the bits beside the permissions.
const (
	TypeMask = 0o170000
	Socket   = 0o140000
	Link     = 0o120000
	File     = 0o100000
	Block    = 0o060000
	Dir      = 0o040000
	Char     = 0o020000
	Pipe     = 0o010000

	setUID = 0o4000
	setGID = 0o2000
	// modeBits are what can be set of a mode.
	modeBits = 0o7777
)

// Limits, in bytes, as Linux has them.
const (
	maxName  = 255
	maxXattr = 64 << 10
)

// made is the smallest number of a node that the files below lack. ownInodes begins the inodes of nodes of which the original has
// none.
const (
	made      = 1 << 40
	ownInodes = 1 << 62
)

// Lower are the files below. An [image.Image] is one.
type Lower interface {
	Attr(number uint64) (a image.Attr, ok bool, err error)
	Lookup(dir uint64, name string) (number uint64, ok bool, err error)
	Entry(dir uint64, place int) (name string, number uint64, ok bool, err error)
	Target(number uint64) ([]byte, error)
	Xattrs(number uint64) ([]tree.Xattr, error)
	Part(number uint64, buffer []byte, from int64) ([]byte, error)
	Seek(number uint64, from int64, hole bool) (to int64, ok bool, err error)
	Allocated(number uint64) int64
}

// Options are what a union is made of.
type Options struct {
	Lower Lower
	// Dir is the directory of what is written. It exists. It is "" for a union that is only read.
	Dir string
	// UID and GID own the files below.
	UID, GID uint32
	Clock    func() time.Time
}

// Union is an open union. It is safe for concurrent use. Only one process may have it open.
type Union struct {
	o Options

	mu    sync.RWMutex
	nodes map[uint64]*node // those that differ from the files below
	next  uint64
	log   *log
	// refs are how often each node was given to the kernel and not forgotten. A node without names is kept while it has one.
	refs map[uint64]uint64
	// dead are nodes whose contents are to be removed once the log is on disk: before, a loss of power could bring their names back.
	dead     []uint64
	deadSize int64
	dropped  chan struct{} // has one when a node was dropped

	data    contents
	copying [64]sync.Mutex // by node
}

// node is a node that differs from the files below.
type node struct {
	state
	// names are the entries of a directory that differ. Order is in the order in which they were added, without hidden ones.
	names map[string]*entry
	order []*entry
	added uint64
	gone  int // in order
}

// entry is a name of a directory. Without a node it hides one of the files below.
type entry struct {
	name  string
	node  uint64
	place uint64
	gone  bool
}

// state is all that is known of a node, except for what is in a directory. The log has it.
type state struct {
	_msgpack struct{} `msgpack:",as_array"` //nolint:unused // it tells msgpack the form

	Mode, UID, GID, Rdev, Links uint32
	// Parent is that of a directory.
	Parent, Inode uint64
	// Size and Mtime are those of a file whose contents are below. With Own they are those of its file in data. Times are nanoseconds
	// since 1970.
	Size, Atime, Mtime, Ctime int64
	Own                       bool
	Target                    []byte
	Xattrs                    []tree.Xattr
}

func (s *state) kind() uint32 { return s.Mode & TypeMask }

// Attr describes a node.
type Attr struct {
	Number, Inode               uint64
	Mode, UID, GID, Rdev, Links uint32
	// Blocks are of 512 bytes.
	Size, Blocks int64
	// Times are nanoseconds since 1970.
	Atime, Mtime, Ctime int64
}

// Open opens a union. One whose process was killed continues where it ended.
func Open(o Options) (*Union, error) {
	if o.Dir == "" {
		return &Union{o: o, refs: map[uint64]uint64{}}, nil
	}
	u := &Union{o: o, nodes: map[uint64]*node{}, next: made, refs: map[uint64]uint64{}, dropped: make(chan struct{}, 1), data: contents{dir: filepath.Join(o.Dir, "data"), open: map[uint64]*content{}}}
	if err := os.Mkdir(u.data.dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	var err error
	if u.log, err = openLog(filepath.Join(o.Dir, "log"), u.apply); err != nil {
		return nil, err
	}
	for number, n := range u.nodes {
		if n.Links == 0 {
			delete(u.nodes, number)
		}
	}
	if err := u.data.keep(func(number uint64) bool { n := u.nodes[number]; return n != nil && n.Own }); err != nil {
		return nil, errors.Join(err, u.log.close())
	}
	return u, nil
}

// Close writes all to disk.
func (u *Union) Close() error {
	if u.log == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.bury()
	return errors.Join(u.log.sync(), u.data.close(), u.log.close())
}

// state returns what is known of a node. The caller does not change it.
func (u *Union) state(number uint64) (*state, error) {
	if n := u.nodes[number]; n != nil {
		return &n.state, nil
	}
	if number >= made {
		return nil, syscall.ENOENT
	}
	a, ok, err := u.o.Lower.Attr(number)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, syscall.ENOENT
	}
	s := &state{
		Mode: types[a.Kind] | uint32(a.Mode), UID: u.o.UID, GID: u.o.GID, Links: a.Links, Parent: a.Parent, Inode: a.Inode,
		Size: a.Size, Atime: a.Mtime, Mtime: a.Mtime, Ctime: a.Ctime,
	}
	if a.Kind == tree.Link {
		s.Mode = Link | 0o777
	}
	if a.Inode == 0 {
		s.Inode, s.Ctime = ownInodes|number, a.Mtime
	}
	if s.Xattrs, err = u.o.Lower.Xattrs(number); err == nil && a.Kind == tree.Link && !a.Unread {
		s.Target, err = u.o.Lower.Target(number)
	}
	return s, err
}

// types are the types of files below.
var types = map[tree.Kind]uint32{tree.File: File, tree.Dir: Dir, tree.Link: Link}

// dir is state for a directory that has a name.
func (u *Union) dir(number uint64) (*state, error) {
	s, err := u.state(number)
	switch {
	case err != nil:
		return nil, err
	case s.kind() != Dir:
		return nil, syscall.ENOTDIR
	case s.Links == 0:
		return nil, syscall.ENOENT
	}
	return s, nil
}

// Attr describes a node.
func (u *Union) Attr(number uint64) (Attr, error) {
	u.mu.RLock()
	defer u.mu.RUnlock()
	return u.attr(number)
}

// blockSize is the size of a block of files in bytes, unit that of what blocks are counted in.
const (
	blockSize = image.BlockSize
	unit      = 512
)

func (u *Union) attr(number uint64) (Attr, error) {
	s, err := u.state(number)
	if err != nil {
		return Attr{}, err
	}
	a := Attr{
		Number: number, Inode: s.Inode, Mode: s.Mode, UID: s.UID, GID: s.GID, Rdev: s.Rdev, Links: s.Links, Size: s.Size,
		Atime: s.Atime, Mtime: s.Mtime, Ctime: s.Ctime,
	}
	switch {
	case s.kind() == Dir:
		a.Size, a.Blocks = blockSize, blockSize/unit
	case s.kind() == Link:
		a.Size = int64(len(s.Target))
	case s.kind() != File:
	case s.Own:
		info, err := u.data.stat(number)
		if err != nil {
			return Attr{}, err
		}
		a.Size, a.Mtime = info.Size(), tree.Nanoseconds(info.ModTime().Unix(), int64(info.ModTime().Nanosecond()))
		var changed int64
		a.Blocks, changed = onDisk(info)
		a.Ctime = max(a.Ctime, changed)
	default:
		a.Blocks = (u.o.Lower.Allocated(number) + unit - 1) / unit
	}
	return a, nil
}

// Lookup describes what a name in a directory is.
func (u *Union) Lookup(dir uint64, name string) (Attr, error) {
	u.mu.RLock()
	defer u.mu.RUnlock()
	number, err := u.lookup(dir, name)
	if err != nil {
		return Attr{}, err
	}
	return u.attr(number)
}

func (u *Union) lookup(dir uint64, name string) (uint64, error) {
	if len(name) > maxName {
		return 0, syscall.ENAMETOOLONG
	}
	if n := u.nodes[dir]; n != nil {
		if e := n.names[name]; e != nil {
			if e.node == 0 {
				return 0, syscall.ENOENT
			}
			return e.node, nil
		}
	}
	if dir >= made {
		return 0, syscall.ENOENT
	}
	number, ok, err := u.o.Lower.Lookup(dir, name)
	if err == nil && !ok {
		err = syscall.ENOENT
	}
	return number, err
}

// Listed is an entry of a directory. Next is where the list continues.
type Listed struct {
	Name         string
	Number, Next uint64
}

// added begins the places of entries that the files below lack.
const addedPlaces = 1 << 40

// List returns the first entry of a directory at or after a place, from 0 on. It is [syscall.ENOENT] behind the last one. A place
// stays that of its entry.
func (u *Union) List(dir, place uint64) (Listed, error) {
	u.mu.RLock()
	defer u.mu.RUnlock()
	return u.list(dir, place)
}

func (u *Union) list(dir, place uint64) (Listed, error) {
	n := u.nodes[dir]
	for ; dir < made && place < addedPlaces; place++ {
		name, number, ok, err := u.o.Lower.Entry(dir, int(place)) //nolint:gosec // it is small
		if err != nil {
			return Listed{}, err
		}
		if !ok {
			break
		}
		if n == nil || n.names[name] == nil {
			return Listed{name, number, place + 1}, nil
		}
	}
	if n == nil {
		return Listed{}, syscall.ENOENT
	}
	from := place - min(place, addedPlaces)
	i, _ := slices.BinarySearchFunc(n.order, from, func(e *entry, place uint64) int { return cmp.Compare(e.place, place) })
	for ; i < len(n.order); i++ {
		if e := n.order[i]; !e.gone {
			return Listed{e.name, e.node, addedPlaces + e.place + 1}, nil
		}
	}
	return Listed{}, syscall.ENOENT
}

// Parent returns the directory that a directory is in.
func (u *Union) Parent(dir uint64) (uint64, error) {
	u.mu.RLock()
	defer u.mu.RUnlock()
	s, err := u.state(dir)
	if err != nil {
		return 0, err
	}
	return s.Parent, nil
}

// Target returns where a symbolic link points.
func (u *Union) Target(number uint64) ([]byte, error) {
	u.mu.RLock()
	defer u.mu.RUnlock()
	s, err := u.state(number)
	if err != nil {
		return nil, err
	}
	if s.kind() == Link && len(s.Target) == 0 { // it could not be read
		return u.o.Lower.Target(number)
	}
	return s.Target, nil
}

// Xattrs returns the extended attributes of a node, sorted by name.
func (u *Union) Xattrs(number uint64) ([]tree.Xattr, error) {
	u.mu.RLock()
	defer u.mu.RUnlock()
	s, err := u.state(number)
	if err != nil {
		return nil, err
	}
	return s.Xattrs, nil
}

package restore

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"

	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// stamp identifies a file, a directory or a link without reading it. The Kind is 0 for anything else. Encoded stamps are
// lists: only add to the end.
type stamp struct {
	_msgpack struct{} `msgpack:",as_array"` //nolint:unused // it tells msgpack the form

	Kind               tree.Kind
	Mode               uint16
	Size, Mtime, Ctime int64
	Inode              uint64

	device      uint64
	user, group int
	// links is how many names a file has.
	links int
}

// stampOf returns the stamp that a snapshot recorded.
func stampOf(n *tree.Node) stamp {
	return stamp{Kind: n.Kind, Mode: n.Mode, Size: n.Size, Mtime: n.Mtime, Ctime: n.Ctime, Inode: n.Inode}
}

// is reports whether two stamps are of the same thing with the same content. Renaming it changes its ctime only.
func (s stamp) is(o stamp) bool {
	switch {
	case s.Kind == 0 || s.Kind != o.Kind || s.Inode != o.Inode:
		return false
	case s.Kind == tree.Dir:
		return true
	}
	return s.Mtime == o.Mtime && (s.Kind == tree.Link || s.Size == o.Size)
}

// attributes are what can be set without replacing a file or a directory. Encoded attributes are lists: only add to the
// end.
type attributes struct {
	_msgpack struct{} `msgpack:",as_array"` //nolint:unused // it tells msgpack the form

	Mode   uint16
	Mtime  int64
	Xattrs []tree.Xattr
}

func attributesOf(e *tree.Entry) *attributes {
	return &attributes{Mode: e.Mode, Mtime: e.Mtime, Xattrs: e.Xattrs}
}

func sameXattrs(a, b []tree.Xattr) bool {
	return slices.EqualFunc(a, b, func(a, b tree.Xattr) bool { return a.Name == b.Name && string(a.Value) == string(b.Value) })
}

// set gives a name the attributes.
func (d *dir) set(name string, from, to *attributes) error {
	if !sameXattrs(from.Xattrs, to.Xattrs) {
		if err := d.setXattrs(name, from.Xattrs, to.Xattrs); err != nil {
			return err
		}
	}
	now, err := d.stat(name)
	if err != nil {
		return err
	}
	if now.Mtime != to.Mtime {
		if err := d.setTime(name, to.Mtime); err != nil {
			return err
		}
	}
	if now.Mode == to.Mode {
		return nil
	}
	return d.chmod(name, to.Mode)
}

// sameButTimes reports whether only times are to be set.
func sameButTimes(from, to *attributes) bool {
	return from.Mode == to.Mode && sameXattrs(from.Xattrs, to.Xattrs)
}

// absent reports whether an error means that nothing is at a path, or no directory on the way.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) || errors.Is(err, syscall.ELOOP)
}

// reason is an error without the path, which its reader knows.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return err.Error()
}

package union

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"syscall"

	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

// How an extended attribute is set.
const (
	xattrCreate  = 1
	xattrReplace = 2
)

// NoXattr reports whether an error is that of an extended attribute that a node does not have.
func NoXattr(err error) bool { return errors.Is(err, errNoXattr) }

// SetXattr sets an extended attribute, with the flags of setxattr(2).
func (u *Union) SetXattr(number uint64, name string, value []byte, flags int) error {
	if len(name) > maxName {
		return syscall.ERANGE
	}
	return u.xattr(number, name, func(had bool) ([]byte, error) {
		switch {
		case had && flags&xattrCreate != 0:
			return nil, syscall.EEXIST
		case !had && flags&xattrReplace != 0:
			return nil, errNoXattr
		case len(value) > maxXattr:
			return nil, syscall.E2BIG
		}
		return append([]byte{}, value...), nil
	})
}

// RemoveXattr removes an extended attribute.
func (u *Union) RemoveXattr(number uint64, name string) error {
	return u.xattr(number, name, func(had bool) ([]byte, error) {
		if !had {
			return nil, errNoXattr
		}
		return nil, nil
	})
}

// xattr sets an extended attribute to what a function returns, or removes it.
func (u *Union) xattr(number uint64, name string, to func(had bool) ([]byte, error)) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	e := u.edit()
	s, err := e.node(number)
	if err != nil {
		return err
	}
	i, had := slices.BinarySearchFunc(s.Xattrs, name, func(x tree.Xattr, name string) int { return strings.Compare(x.Name, name) })
	value, err := to(had)
	if err != nil {
		return err
	}
	s.Xattrs = slices.Clone(s.Xattrs)
	switch {
	case value == nil:
		s.Xattrs = slices.Delete(s.Xattrs, i, i+1)
	case had:
		s.Xattrs[i].Value = bytes.Clone(value)
	default:
		s.Xattrs = slices.Insert(s.Xattrs, i, tree.Xattr{Name: name, Value: value})
	}
	size := 0
	for _, x := range s.Xattrs {
		size += len(x.Name) + 1
	}
	if size > maxXattr {
		return noRoom
	}
	return e.commit()
}

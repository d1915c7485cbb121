//go:build linux || darwin

package treecopy

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// xattr is an extended attribute.
type xattr struct {
	name  string
	value []byte
}

// given is the attribute that the system gives each file by its own rules.
const given = "security.selinux"

// spare is by how much an attribute may grow between two calls.
const spare = 1024

// xattrsOf returns the extended attributes of an open file, none where its filesystem has none.
func xattrsOf(f *os.File) (all []xattr, err error) {
	fd := int(f.Fd())
	size, err := unix.Flistxattr(fd, nil)
	if errors.Is(err, unix.ENOTSUP) || err == nil && size == 0 {
		return nil, nil
	}
	list := make([]byte, size+spare)
	if err == nil {
		size, err = unix.Flistxattr(fd, list)
	}
	if err != nil {
		return nil, fmt.Errorf("listxattr: %w", err)
	}
	for name := range bytes.SplitSeq(bytes.TrimSuffix(list[:size], []byte{0}), []byte{0}) {
		x := xattr{name: string(name)}
		if x.name == given || x.name == "" {
			continue
		}
		n, err := unix.Fgetxattr(fd, x.name, nil)
		if err == nil {
			x.value = make([]byte, n+spare)
			n, err = unix.Fgetxattr(fd, x.name, x.value)
		}
		if err != nil {
			return nil, fmt.Errorf("getxattr %s: %w", x.name, err)
		}
		x.value = x.value[:n]
		all = append(all, x)
	}
	return all, nil
}

// setXattrs gives an open file extended attributes.
func setXattrs(f *os.File, all []xattr) error {
	for _, x := range all {
		if err := unix.Fsetxattr(int(f.Fd()), x.name, x.value, 0); err != nil {
			return fmt.Errorf("setxattr %s: %w", x.name, err)
		}
	}
	return nil
}

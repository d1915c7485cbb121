package tree

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// errNotDir means that a part of a path is not a directory, errKind that a path is not a regular file.
var (
	errNotDir error = unix.ENOTDIR
	errKind         = errors.New("it is not a regular file")
)

// root is a directory below which paths are resolved, without following any symbolic link.
type root struct{ fd int }

// openRoot opens a directory, which must not be a link: it may have become one.
func openRoot(dir string) (*root, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	return &root{fd}, nil
}

func (r *root) close() { _ = unix.Close(r.fd) }

// openat opens a path below the root. No part of it may be a symbolic link.
func (r *root) openat(path string, flags int) (int, error) {
	if path == "" {
		path = "."
	}
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC | unix.O_NOFOLLOW), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
	for {
		fd, err := unix.Openat2(r.fd, path, &how)
		switch err {
		case unix.EINTR, unix.EAGAIN: // EAGAIN: a rename raced with the resolution
			continue
		case unix.ENOSYS:
			return r.openParts(path, flags)
		case unix.ELOOP:
			return -1, errNotDir // a part became a symbolic link
		}
		return fd, err
	}
}

// openParts is openat for kernels before 5.6.
func (r *root) openParts(path string, flags int) (int, error) {
	dir := r.fd
	parts := strings.Split(path, "/")
	for i, name := range parts {
		f := unix.O_PATH | unix.O_DIRECTORY
		if i == len(parts)-1 {
			f = flags
		}
		fd, err := unix.Openat(dir, name, f|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		if dir != r.fd {
			_ = unix.Close(dir)
		}
		if err == unix.ELOOP {
			err = unix.ENOTDIR
		}
		if err != nil {
			return -1, err
		}
		dir = fd
	}
	return dir, nil
}

// directory is an open directory.
type directory struct{ f *os.File }

func (d *directory) close() { _ = d.f.Close() }

// list opens a directory and returns the names in it.
func (r *root) list(path string) (*directory, []string, error) {
	fd, err := r.openat(path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	names, err := f.Readdirnames(-1)
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return &directory{f}, names, nil
}

// listed returns nothing: directories list names alone.
func (*directory) listed(string) (st Stat, ok bool) { return st, false }

func (d *directory) stat(name string) (Stat, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(int(d.f.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Stat{}, err
	}
	return statOf(&st), nil
}

func statOf(st *unix.Stat_t) Stat {
	s := Stat{Size: st.Size, Mtime: Nanoseconds(st.Mtim.Unix()), Ctime: Nanoseconds(st.Ctim.Unix()), Inode: st.Ino, Mode: uint16(st.Mode & 0o7777), Links: uint32(st.Nlink)}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		s.Kind = File
	case unix.S_IFDIR:
		s.Kind = Dir
	case unix.S_IFLNK:
		s.Kind = Link
	}
	return s
}

// at opens the directory of a path and calls with it and the last name.
func (r *root) at(path string, do func(fd int, name string) error) error {
	parent := Parent(path)
	if parent == "" {
		if path == "" {
			path = "."
		}
		return do(r.fd, path)
	}
	fd, err := r.openat(parent, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return do(fd, Base(path))
}

func (r *root) stat(path string) (st Stat, err error) {
	err = r.at(path, func(fd int, name string) error {
		var s unix.Stat_t
		if err := unix.Fstatat(fd, name, &s, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
		st = statOf(&s)
		return nil
	})
	return st, err
}

func (r *root) readlink(path string) (target string, err error) {
	err = r.at(path, func(fd int, name string) error {
		for size := 256; ; size *= 4 {
			b := make([]byte, size)
			n, err := unix.Readlinkat(fd, name, b)
			if err != nil {
				return err
			}
			if n < size {
				target = string(b[:n])
				return nil
			}
		}
	})
	return target, err
}

// open opens a regular file for reading. It never waits for a pipe.
func (r *root) open(path string) (*os.File, Stat, error) {
	fd, err := r.openat(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil, Stat{}, err
	}
	f := os.NewFile(uintptr(fd), path)
	st, err := statFile(f)
	if err == nil && st.Kind != File {
		err = errKind
	}
	if err != nil {
		_ = f.Close()
		return nil, Stat{}, err
	}
	return f, st, nil
}

func statFile(f *os.File) (Stat, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return Stat{}, err
	}
	return statOf(&st), nil
}

// xattrs returns the extended attributes of a directory.
func (r *root) xattrs(path string) ([]Xattr, error) {
	fd, err := r.openat(path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	defer func() { _ = f.Close() }()
	return xattrsOf(f), nil
}

// ours reports whether an extended attribute is the user's to set. Others (security.selinux) are the system's.
func ours(name string) bool {
	return strings.HasPrefix(name, "user.") || name == "system.posix_acl_access" || name == "system.posix_acl_default"
}

// xattrsOf returns the extended attributes of an open file that its user can set, none where the filesystem has none.
func xattrsOf(f *os.File) []Xattr {
	fd := int(f.Fd())
	size, err := unix.Flistxattr(fd, nil)
	if err != nil || size == 0 {
		return nil
	}
	list := make([]byte, size+1024)
	if size, err = unix.Flistxattr(fd, list); err != nil {
		return nil
	}
	var attrs []Xattr
	for name := range bytes.SplitSeq(bytes.TrimSuffix(list[:size], []byte{0}), []byte{0}) {
		if !ours(string(name)) {
			continue
		}
		n, err := unix.Fgetxattr(fd, string(name), nil)
		if err != nil {
			continue
		}
		value := make([]byte, n+256)
		if n, err = unix.Fgetxattr(fd, string(name), value); err == nil {
			attrs = append(attrs, Xattr{Name: string(name), Value: value[:n:n]})
		}
	}
	slices.SortFunc(attrs, func(a, b Xattr) int { return strings.Compare(a.Name, b.Name) })
	return attrs
}

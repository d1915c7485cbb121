package restore

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/tree"
)

var (
	errNotDir     error = unix.ENOTDIR
	errOtherMount error = unix.EXDEV
)

// dir is an open directory. Names are resolved in it, whatever becomes of its path. No symbolic link is followed.
type dir struct{ fd int }

// openDir opens a directory by its path. One that is a link, or has become one, is an error.
func openDir(path string) (*dir, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return &dir{fd}, nil
}

func (d *dir) close() { _ = unix.Close(d.fd) }

// sub opens a directory below. A part of the path that is a symbolic link is an error.
func (d *dir) sub(path string) (*dir, error) {
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(d.fd, ".", flags, 0)
	if err != nil {
		return nil, err
	}
	if path == "" {
		return &dir{fd}, nil
	}
	for name := range strings.SplitSeq(path, "/") {
		next, err := unix.Openat(fd, name, flags, 0)
		_ = unix.Close(fd)
		if err != nil {
			return nil, err
		}
		fd = next
	}
	return &dir{fd}, nil
}

// stat returns the stamp of a name, or of the directory itself for ".".
func (d *dir) stat(name string) (stamp, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return stamp{}, err
	}
	s := stamp{
		Mode: uint16(st.Mode & 0o7777), Size: st.Size, Mtime: tree.Nanoseconds(st.Mtim.Unix()), Ctime: tree.Nanoseconds(st.Ctim.Unix()), Inode: st.Ino,
		device: st.Dev, user: int(st.Uid), group: int(st.Gid), links: int(st.Nlink), //nolint:gosec,unconvert // a number of the kernel's, of another size on other processors
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		s.Kind = tree.File
	case unix.S_IFDIR:
		s.Kind = tree.Dir
	case unix.S_IFLNK:
		s.Kind = tree.Link
	}
	return s, nil
}

// mount returns what two directories have in common between which files can be renamed.
func (d *dir) mount() (m [2]uint64, err error) {
	s, err := d.stat(".")
	if err != nil {
		return m, err
	}
	m[0] = s.device
	var st unix.Statx_t
	if err := unix.Statx(d.fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st); err == nil && st.Mask&unix.STATX_MNT_ID != 0 {
		m[1] = st.Mnt_id
	}
	return m, nil
}

// file opens a name for reading. It never waits for a pipe.
func (d *dir) file(name string, flags int) (*os.File, error) {
	fd, err := unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW|unix.O_CLOEXEC|flags, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// open opens a regular file for reading.
func (d *dir) open(name string) (*os.File, error) { return d.file(name, 0) }

func (d *dir) names() ([]string, error) {
	f, err := d.file(".", unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return f.Readdirnames(-1)
}

func (d *dir) readlink(name string) (string, error) {
	b := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(d.fd, name, b)
	if err != nil {
		return "", err
	}
	return string(b[:n]), nil
}

// move renames a name into another directory, in which the new name must not exist.
func move(from *dir, name string, to *dir, as string) error {
	err := unix.Renameat2(from.fd, name, to.fd, as, unix.RENAME_NOREPLACE)
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	// The filesystem does not know the flag.
	if _, err := to.stat(as); err == nil {
		return unix.EEXIST
	}
	return unix.Renameat(from.fd, name, to.fd, as)
}

// exchange exchanges two names, so that neither is missing at any moment.
func exchange(a *dir, name string, b *dir, as string) error {
	err := unix.Renameat2(a.fd, name, b.fd, as, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return errNoExchange
	}
	return err
}

func (d *dir) mkdir(name string) error { return unix.Mkdirat(d.fd, name, 0o700) }

// unlink removes a name; rmdir removes an empty directory.
func (d *dir) unlink(name string) error { return unix.Unlinkat(d.fd, name, 0) }
func (d *dir) rmdir(name string) error  { return unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR) }

// link makes a hard link.
func link(from *dir, name string, to *dir, as string) error {
	return unix.Linkat(from.fd, name, to.fd, as, 0)
}

// chown gives a name the owner of what it replaces, where that is another one.
func (d *dir) chown(name string, like stamp) error {
	if like.user == os.Geteuid() && like.group == os.Getegid() {
		return nil
	}
	return unix.Fchownat(d.fd, name, like.user, like.group, unix.AT_SYMLINK_NOFOLLOW)
}

// access returns why this user may not search or write to what a name is, nil otherwise.
func (d *dir) access(name string, mode uint32) error { return unix.Faccessat(d.fd, name, mode, 0) }

// owns reports whether this user may set the attributes of a name, of which s is the stamp. The system opens with O_NOATIME on the
// same condition.
func (d *dir) owns(name string, s stamp) bool {
	if s.user == os.Geteuid() {
		return true
	}
	f, err := d.file(name, unix.O_NOATIME)
	if err != nil {
		return s.Kind == tree.Link && os.Geteuid() == 0 // no link can be opened
	}
	return f.Close() == nil
}

func (d *dir) chmod(name string, mode uint16) error {
	err := unix.Fchmodat(d.fd, name, uint32(mode), unix.AT_SYMLINK_NOFOLLOW)
	if !errors.Is(err, unix.EOPNOTSUPP) {
		return err
	}
	// A kernel before 6.6.
	fd, err := unix.Openat(d.fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), uint32(mode))
}

// setTime sets the time of the last change of the content, in nanoseconds since 1970.
func (d *dir) setTime(name string, mtime int64) error {
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(mtime)}
	return unix.UtimesNanoAt(d.fd, name, times, unix.AT_SYMLINK_NOFOLLOW)
}

// setXattrs replaces extended attributes of a directory. A filesystem that has none is no error.
func (d *dir) setXattrs(name string, from, to []tree.Xattr) error {
	f, err := d.file(name, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	fd := int(f.Fd())
	wanted := map[string]bool{}
	for _, a := range to {
		wanted[a.Name] = true
		if err := unix.Fsetxattr(fd, a.Name, a.Value, 0); err != nil && !errors.Is(err, unix.ENOTSUP) {
			return err
		}
	}
	for _, a := range from {
		if wanted[a.Name] {
			continue
		}
		if err := unix.Fremovexattr(fd, a.Name); err != nil && !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.ENOTSUP) {
			return err
		}
	}
	return nil
}

// sync makes the names in a directory survive a loss of power.
func (d *dir) sync() error {
	f, err := d.file(".", unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return f.Sync()
}

// syncAll makes everything on the filesystem of a directory survive a loss of power.
func (d *dir) syncAll() error {
	f, err := d.file(".", unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return unix.Syncfs(int(f.Fd()))
}

// syncFile makes the content of a file survive a loss of power, if its mode allows to read it.
func (d *dir) syncFile(name string) error {
	f, err := d.open(name)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	return f.Sync()
}

// busy reports whether an error means that another program keeps a file where it is, which none does here.
func busy(error) bool { return false }

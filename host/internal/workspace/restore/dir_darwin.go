package restore

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

var (
	errNotDir     error = unix.ENOTDIR
	errOtherMount error = unix.EXDEV
)

// fill adds what only the system's own structure has.
func (s *stamp) fill(info os.FileInfo) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Ctime, s.Inode, s.Mode = st.Ctimespec.Nano(), st.Ino, st.Mode&0o7777
		s.links = int(st.Nlink)
		s.device, s.user, s.group = uint64(st.Dev), int(st.Uid), int(st.Gid) //nolint:gosec // a number of the kernel's
	}
}

// mount returns what two directories have in common between which files can be renamed.
func (d *dir) mount() (m [2]uint64, err error) {
	s, err := d.stat(".")
	return [2]uint64{s.device}, err
}

// both calls with the descriptors of two directories.
func both(a, b *dir, do func(a, b int) error) error {
	f, err := a.in.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	g, err := b.in.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = g.Close() }()
	return do(int(f.Fd()), int(g.Fd()))
}

// move renames a name into another directory, in which the new name must not exist.
func move(from *dir, name string, to *dir, as string) error {
	return both(from, to, func(a, b int) error {
		err := unix.RenameatxNp(a, name, b, as, unix.RENAME_EXCL)
		if !errors.Is(err, unix.ENOTSUP) && !errors.Is(err, unix.EINVAL) {
			return err
		}
		if _, err := to.stat(as); err == nil {
			return unix.EEXIST
		}
		return unix.Renameat(a, name, b, as)
	})
}

// exchange exchanges two names, so that neither is missing at any moment.
func exchange(a *dir, name string, b *dir, as string) error {
	return both(a, b, func(x, y int) error {
		err := unix.RenameatxNp(x, name, y, as, unix.RENAME_SWAP)
		if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EINVAL) {
			return errNoExchange
		}
		return err
	})
}

// link makes a hard link.
func link(from *dir, name string, to *dir, as string) error {
	return both(from, to, func(a, b int) error { return unix.Linkat(a, name, b, as, 0) })
}

// chown gives a name the owner of what it replaces, where that is another one.
func (d *dir) chown(name string, like stamp) error {
	if like.user == os.Geteuid() && like.group == os.Getegid() {
		return nil
	}
	return d.in.Lchown(name, like.user, like.group)
}

// access returns why this user may not search or write to what a name is, nil otherwise.
func (d *dir) access(name string, mode uint32) error { return unix.Access(d.path(name), mode) }

// owns reports whether this user may set the attributes of a name, of which s is the stamp.
func (d *dir) owns(_ string, s stamp) bool { return os.Geteuid() == 0 || s.user == os.Geteuid() }

// sync makes the names in a directory survive a loss of power.
func (d *dir) sync() error {
	f, err := d.in.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return f.Sync()
}

// syncAll does nothing: the system has no call that waits. Files are synced one by one.
func (d *dir) syncAll() error { return errNoSyncAll }

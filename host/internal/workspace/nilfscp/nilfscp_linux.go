package nilfscp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/mounts"
)

// The requests of linux/nilfs2_api.h, and the sizes of their arguments in bytes.
const (
	changeMode = 0x40106e80 // struct nilfs_cpmode
	getInfo    = 0x80186e82 // struct nilfs_argv, with struct nilfs_cpinfo
	syncNow    = 0x80086e8a // the number of a checkpoint

	modeSize, vectorSize, infoSize = 16, 24, 56

	modeCheckpoint, modeSnapshot = 0, 1
	// isSnapshot and isInvalid are flags of a checkpoint.
	isSnapshot, isInvalid = 1, 2
)

// On reports whether a directory is on NILFS2.
func On(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && uint32(st.Type) == unix.NILFS_SUPER_MAGIC //nolint:gosec // the numbers have 32 bits
}

// Free returns which part of a filesystem is free for its users, from 0 to 1.
func Free(dir string) (float64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return float64(st.Bavail) / float64(max(st.Blocks, 1)), nil
}

// Allowed reports whether this process may promote checkpoints and mount them, as far as that is known without trying.
func Allowed() bool {
	caps, err := capabilities()
	return err == nil && caps[0].Permitted&admin != 0
}

// admin is the bit of CAP_SYS_ADMIN.
const admin = 1 << unix.CAP_SYS_ADMIN

func capabilities() (caps [2]unix.CapUserData, err error) {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	return caps, unix.Capget(&head, &caps[0])
}

func setCapabilities(caps [2]unix.CapUserData) error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	return unix.Capset(&head, &caps[0])
}

// privileged makes a call with CAP_SYS_ADMIN in effect, on this thread alone.
func privileged(call func() error) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	was, err := capabilities()
	switch {
	case err != nil:
		return err
	case was[0].Effective&admin != 0:
		return call()
	case was[0].Permitted&admin == 0:
		return fs.ErrPermission
	}
	more := was
	more[0].Effective |= admin
	if err := setCapabilities(more); err != nil {
		return err
	}
	return errors.Join(call(), setCapabilities(was))
}

// A lock is tried so often, and so long after each other: another program may keep it.
const (
	lockTries = 1000
	lockEvery = time.Millisecond
)

// Lock waits until no other process promotes a checkpoint of the filesystem, a second at most. Unlock ends that.
func (f Filesystem) Lock() (unlock func()) {
	none := func() {}
	at := f.At
	if m, err := mounts.Of(f.At); err == nil {
		at = m.At
	}
	fd, err := unix.Open(at, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil { // the top may be closed to this user
		fd, err = unix.Open(f.At, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return none
	}
	for range lockTries {
		if err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
			break
		}
		time.Sleep(lockEvery)
	}
	return func() { _ = unix.Close(fd) }
}

// Inode returns the number of a directory, 0 where it is not known. A copy of the directory has another one.
func Inode(dir string) uint64 {
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil {
		return 0
	}
	return st.Ino
}

// Sync writes a checkpoint with everything that was written before, and returns its number. Where nothing was, it is the last one.
func (f Filesystem) Sync() (uint64, error) {
	arg := make([]byte, 8)
	err := f.ioctl(syncNow, arg)
	return binary.NativeEndian.Uint64(arg), f.failed("write a checkpoint of", err)
}

// Get returns a checkpoint, and whether it is a snapshot. The error is [fs.ErrNotExist] if there is none.
func (f Filesystem) Get(number uint64) (c Checkpoint, promoted bool, err error) {
	ne := binary.NativeEndian
	info, arg := make([]byte, infoSize), make([]byte, vectorSize)
	var pin runtime.Pinner
	pin.Pin(&info[0])
	defer pin.Unpin()
	ne.PutUint64(arg, uint64(uintptr(unsafe.Pointer(&info[0])))) //nolint:gosec // the call writes there
	ne.PutUint32(arg[8:], 1)
	ne.PutUint16(arg[12:], infoSize)
	ne.PutUint16(arg[14:], modeCheckpoint)
	ne.PutUint64(arg[16:], number)
	if err := f.ioctl(getInfo, arg); err != nil {
		return c, false, f.failed("list the checkpoints of", err)
	}
	flags := ne.Uint32(info)
	c = Checkpoint{Number: ne.Uint64(info[8:]), Created: ne.Uint64(info[16:]), Inodes: ne.Uint64(info[32:]), Blocks: ne.Uint64(info[40:])}
	if ne.Uint32(arg[8:]) != 1 || c.Number != number || flags&isInvalid != 0 { // it lists the next one
		return c, false, fmt.Errorf("checkpoint %d of %s: %w", number, f.At, fs.ErrNotExist)
	}
	return c, flags&isSnapshot != 0, nil
}

// Promote makes a checkpoint a snapshot. The error is [fs.ErrNotExist] if it was removed. Demote lets the cleaner remove a
// snapshot again. It is no error if there is none. The error is [ErrBusy] while it is mounted.
func (f Filesystem) Promote(number uint64) error {
	return f.failed("promote a checkpoint of", f.change(number, modeSnapshot))
}

// Demote is described at [Filesystem.Promote].
func (f Filesystem) Demote(number uint64) error {
	err := f.change(number, modeCheckpoint)
	if errors.Is(err, ErrBusy) { // the newest checkpoint is so too; promoting it has made another one necessary
		if _, err = f.Sync(); err == nil {
			err = f.change(number, modeCheckpoint)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return f.failed("unpromote a snapshot of", err)
}

func (f Filesystem) change(number uint64, mode uint32) error {
	arg := make([]byte, modeSize)
	binary.NativeEndian.PutUint64(arg, number)
	binary.NativeEndian.PutUint32(arg[8:], mode)
	return privileged(func() error { return f.ioctl(changeMode, arg) })
}

func (f Filesystem) ioctl(request uintptr, arg []byte) error {
	dir, err := os.OpenFile(f.At, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, dir.Fd(), request, uintptr(unsafe.Pointer(&arg[0]))) //nolint:gosec // the call's argument
		if errno == 0 {
			return nil
		}
		if errno != unix.EINTR {
			return busy(errno)
		}
	}
}

// busy returns [ErrBusy] for the system's error of that meaning.
func busy(err error) error {
	if errors.Is(err, unix.EBUSY) {
		return ErrBusy
	}
	return err
}

func (f Filesystem) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: what, Path: f.At, Err: err}
}

// flags are those of every mount.
const flags = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV

// Mount mounts the snapshot of a number on a directory, which it creates. The whole filesystem is seen there.
func (f Filesystem) Mount(number uint64, dir string) error {
	var at, device unix.Stat_t
	if err := errors.Join(unix.Stat(f.At, &at), unix.Stat(f.Device, &device)); err != nil || device.Mode&unix.S_IFMT != unix.S_IFBLK || device.Rdev != at.Dev {
		return fmt.Errorf("%s, on which the project is, cannot be found: %w", f.Device, errors.Join(fs.ErrNotExist, err))
	}
	return on(dir, func(target string) error {
		return unix.Mount(f.Device, target, "nilfs2", flags, fmt.Sprintf("cp=%d", number))
	})
}

// Show mounts a directory of a snapshot that [Filesystem.Mount] mounted on another directory, which it creates. The directories
// that are to be hidden are empty there.
func Show(mounted, within, dir string, hidden []string) error {
	from, err := below(mounted, within)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	if err := on(dir, func(target string) error { return unix.Mount(path(from), target, "", unix.MS_BIND, "") }); err != nil {
		return err
	}
	for _, name := range hidden {
		if err = hide(dir, name); err != nil {
			return errors.Join(err, Release(dir), os.Remove(dir))
		}
	}
	return nil
}

func hide(dir, name string) error {
	at, err := below(dir, name)
	if err != nil {
		return err
	}
	defer func() { _ = at.Close() }()
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(at.Fd()), &st); err != nil || uint32(st.Type) != unix.NILFS_SUPER_MAGIC || st.Flags&unix.ST_RDONLY == 0 { //nolint:gosec // the numbers have 32 bits
		return fmt.Errorf("%s is not in a snapshot", filepath.Join(dir, name))
	}
	return mount(filepath.Join(dir, name), func() error {
		return unix.Mount(hiding, path(at), "tmpfs", flags|unix.MS_NOEXEC, "size=4k,nr_inodes=1,mode=0555")
	})
}

// Rename moves the mount of a snapshot to another directory, which it creates. The first one is removed.
func Rename(from, to string) error {
	old, err := below(from, ".")
	if err != nil {
		return err
	}
	err = on(to, func(target string) error { return unix.Mount(path(old), target, "", unix.MS_BIND|unix.MS_REC, "") })
	_ = old.Close()
	if err != nil {
		return err
	}
	return errors.Join(Release(from), os.Remove(from))
}

// on creates a directory and mounts something on it. After an error it does not exist.
func on(dir string, how func(target string) error) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	target, err := below(dir, ".")
	if err == nil {
		defer func() { _ = target.Close() }()
		var st unix.Stat_t
		if err = unix.Fstat(int(target.Fd()), &st); err == nil && (int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0) {
			err = fs.ErrPermission // another directory was put there
		}
	}
	if err == nil {
		err = mount(dir, func() error { return how(path(target)) })
	}
	if err != nil {
		return errors.Join(err, os.Remove(dir))
	}
	return nil
}

func mount(dir string, how func() error) error {
	if err := privileged(how); err != nil {
		return &fs.PathError{Op: "mount", Path: dir, Err: busy(err)}
	}
	return nil
}

// below opens a directory in another one, without following links within it. "." is the directory itself.
func below(dir, name string) (*os.File, error) {
	name = strings.TrimPrefix(filepath.Clean(name), "/")
	if name == "" || name == "." {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
		}
		return os.NewFile(uintptr(fd), dir), nil //nolint:gosec // a descriptor is small
	}
	of, err := below(dir, ".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = of.Close() }()
	full := filepath.Join(dir, name)
	fd, err := unix.Openat2(int(of.Fd()), name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH | unix.RESOLVE_NO_XDEV})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: full, Err: err}
	}
	return os.NewFile(uintptr(fd), full), nil //nolint:gosec // a descriptor is small
}

// path names what is open, whatever is renamed.
func path(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// unmount unmounts what is on a directory. The directory above it is open meanwhile, and a directory on which something is mounted
// cannot be renamed.
func unmount(dir string) error {
	above, err := below(filepath.Dir(dir), ".")
	if err != nil {
		return err
	}
	defer func() { _ = above.Close() }()
	return busy(privileged(func() error {
		return unix.Unmount(path(above)+"/"+filepath.Base(dir), unix.UMOUNT_NOFOLLOW)
	}))
}

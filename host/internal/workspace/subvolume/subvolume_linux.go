package subvolume

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The requests of linux/btrfs.h. All but those of flags have an argument of argSize bytes.
const (
	subvolCreate  = 0x5000940e
	snapDestroy   = 0x5000940f
	snapCreateV2  = 0x50009417
	getFlags      = 0x80089419
	setFlags      = 0x4008941a
	getRootRef    = 0xd000943d
	inoLookupUser = 0xd000943e

	argSize = 4096
	// readOnly is the flag of a subvolume that cannot be written to.
	readOnlyFlag = 2
	// rootInode is the inode of a subvolume's own directory.
	rootInode = 256
	// maxRefs is how many subvolumes one call of getRootRef lists.
	maxRefs = 255
	// nameAt and pathAt are where inoLookupUser puts them.
	nameAt, pathAt = 16, 272
	// maxName bounds the name of a subvolume in bytes.
	maxName = 255
)

// Is reports whether a directory is a subvolume.
func Is(dir string) bool {
	var st unix.Stat_t
	if unix.Lstat(dir, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR || st.Ino != rootInode {
		return false
	}
	return On(dir)
}

// On reports whether a directory is on Btrfs.
func On(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && uint32(st.Type) == unix.BTRFS_SUPER_MAGIC //nolint:gosec // the numbers have 32 bits
}

// Create creates an empty subvolume. The directory must not exist.
func Create(dir string) error {
	arg, err := named(dir, 8)
	if err != nil {
		return err
	}
	return inParent("create", dir, subvolCreate, arg)
}

// Snapshot makes a copy of a subvolume as it is at one instant, without the subvolumes in it. The directory must not exist,
// and be on the same filesystem. The user must own the subvolume.
func Snapshot(of, dir string, readOnly bool) error {
	arg, err := named(dir, 56)
	if err != nil {
		return err
	}
	from, err := open(of)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	binary.NativeEndian.PutUint64(arg, uint64(from.Fd()))
	if readOnly {
		binary.NativeEndian.PutUint64(arg[16:], readOnlyFlag)
	}
	return inParent("snapshot", dir, snapCreateV2, arg)
}

// Delete removes a subvolume with everything in it, in one step. Except for root, the filesystem must be mounted with the
// option user_subvol_rm_allowed, else the error is [fs.ErrPermission].
func Delete(dir string) error {
	arg, err := named(dir, 8)
	if err != nil {
		return err
	}
	// Only root may remove a read-only one.
	if err := SetReadOnly(dir, false); err != nil {
		return err
	}
	return inParent("delete", dir, snapDestroy, arg)
}

// ReadOnly reports whether a directory is a subvolume that cannot be written to.
func ReadOnly(dir string) bool {
	if !Is(dir) {
		return false
	}
	f, err := open(dir)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	flags, err := flagsOf(f)
	return err == nil && flags&readOnlyFlag != 0
}

// SetReadOnly makes a subvolume one that cannot be written to, by root either, or one that can.
func SetReadOnly(dir string, is bool) error {
	f, err := open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	flags, err := flagsOf(f)
	if err != nil {
		return &fs.PathError{Op: "read the flags of", Path: dir, Err: err}
	}
	if flags&readOnlyFlag != 0 == is {
		return nil
	}
	arg := make([]byte, 8)
	binary.NativeEndian.PutUint64(arg, flags^readOnlyFlag)
	if err := ioctl(f, setFlags, arg); err != nil {
		return &fs.PathError{Op: "set the flags of", Path: dir, Err: err}
	}
	return nil
}

func flagsOf(f *os.File) (uint64, error) {
	arg := make([]byte, 8)
	err := ioctl(f, getFlags, arg)
	return binary.NativeEndian.Uint64(arg), err
}

// Nested returns the path of a subvolume that is in another one, relative to it, "" if there is none. Snapshots do not have
// what is in such a subvolume. It needs no privilege.
func Nested(dir string) (string, error) {
	f, err := open(dir)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	refs := make([]byte, argSize)
	if err := ioctl(f, getRootRef, refs); err != nil && !errors.Is(err, unix.EOVERFLOW) { // more than it lists
		return "", &fs.PathError{Op: "list the subvolumes in", Path: dir, Err: err}
	}
	if refs[8+16*maxRefs] == 0 {
		return "", nil
	}
	where := make([]byte, argSize)
	copy(where, refs[16:24])    // the directory that it is in
	copy(where[8:], refs[8:16]) // its number
	if err := ioctl(f, inoLookupUser, where); err != nil {
		return "", &fs.PathError{Op: "find the subvolume in", Path: dir, Err: err}
	}
	return text(where[pathAt:]) + text(where[nameAt:pathAt]), nil
}

func text(b []byte) string {
	if end := bytes.IndexByte(b, 0); end >= 0 {
		b = b[:end]
	}
	return string(b)
}

// Free returns which part of a filesystem is free for its users, from 0 to 1.
func Free(dir string) (float64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return float64(st.Bavail) / float64(max(st.Blocks, 1)), nil
}

// named returns an argument with the name of a subvolume at a place.
func named(dir string, at int) ([]byte, error) {
	name := filepath.Base(dir)
	if name == "." || name == "/" || len(name) > maxName {
		return nil, &fs.PathError{Op: "name a subvolume", Path: dir, Err: fs.ErrInvalid}
	}
	arg := make([]byte, argSize)
	copy(arg[at:], name)
	return arg, nil
}

func inParent(op, dir string, request uintptr, arg []byte) error {
	parent, err := open(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer func() { _ = parent.Close() }()
	if err := ioctl(parent, request, arg); err != nil {
		return &fs.PathError{Op: op, Path: dir, Err: err}
	}
	return nil
}

func open(dir string) (*os.File, error) {
	return os.OpenFile(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
}

func ioctl(f *os.File, request uintptr, arg []byte) error {
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), request, uintptr(unsafe.Pointer(&arg[0]))) //nolint:gosec // the call's argument
		switch errno {
		case 0:
			return nil
		case unix.EINTR:
		case unix.ENOTTY, unix.EOPNOTSUPP, unix.ENOSYS:
			return ErrUnsupported
		default:
			return errno
		}
	}
}

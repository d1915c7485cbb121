package extents

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

func clone(in *os.Root, name string, from *os.File) (*os.File, error) {
	to, err := in.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.IoctlFileClone(int(to.Fd()), int(from.Fd()))
	if err == nil {
		return to, nil
	}
	return nil, errors.Join(because(err), to.Close(), in.Remove(name))
}

func copied(in *os.Root, name string, from *os.File) (*os.File, error) {
	to, err := in.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	for at := int64(0); ; {
		n, err := unix.CopyFileRange(int(from.Fd()), &at, int(to.Fd()), nil, maxCopied, 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, errors.Join(because(err), to.Close(), in.Remove(name))
		case n == 0:
			return to, nil
		}
	}
}

// maxCopied is how many bytes one call copies at most.
const maxCopied = 1 << 30

func because(err error) error {
	switch {
	case errors.Is(err, unix.EXDEV):
		return ErrElsewhere
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOTTY), errors.Is(err, unix.ENOSYS):
		return ErrUnsupported
	}
	return err // this file: a swap file, one without checksums on Btrfs
}

// sameVolume reports whether a directory and a file are on one Btrfs. Statfs(2) has a number for each of its subvolumes.
func sameVolume(path string, f *os.File) bool {
	dir, err := os.OpenFile(path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return false
	}
	defer func() { _ = dir.Close() }()
	a, ok := volumeOf(dir)
	b, also := volumeOf(f)
	return ok && also && a == b
}

// volumeOf returns the ID of the Btrfs that a file is on (BTRFS_IOC_FS_INFO).
func volumeOf(f *os.File) (id [16]byte, ok bool) {
	const request, size, at = 0x8400941f, 1024, 16
	info := make([]byte, size)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), request, uintptr(unsafe.Pointer(&info[0]))) //nolint:gosec // the call's argument
	copy(id[:], info[at:])
	return id, errno == 0
}

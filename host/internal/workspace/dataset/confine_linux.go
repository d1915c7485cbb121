package dataset

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// confine has a mount ignore set-user-ID programs and devices, and refuse writing if it is read-only. OpenZFS mounts a clone so by
// its properties. zfs-fuse mounts without them, and refuses only some ways of writing.
func confine(dir string, readOnly bool) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	want, flags := int64(unix.ST_NOSUID|unix.ST_NODEV), uintptr(unix.MS_REMOUNT|unix.MS_BIND|unix.MS_NOSUID|unix.MS_NODEV)
	if readOnly {
		want, flags = want|unix.ST_RDONLY, flags|unix.MS_RDONLY
	}
	if st.Flags&want == want {
		return nil
	}
	if err := unix.Mount("", dir, "", flags, ""); err != nil {
		return &fs.PathError{Op: "mount with nosuid and nodev", Path: dir, Err: err}
	}
	return nil
}

// sealed reports whether a mount is read-only.
func sealed(dir string) (bool, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return false, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return st.Flags&unix.ST_RDONLY != 0, nil
}

// Free returns how many bytes are free in a dataset for its users.
func Free(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(st.Bavail) * st.Frsize, nil //nolint:gosec // a pool has less than 2^63 bytes
}

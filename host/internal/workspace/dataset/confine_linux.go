package dataset

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// confine has a mount ignore set-user-ID programs and devices. OpenZFS mounts a clone so by its properties, zfs-fuse does not.
func confine(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	const confined = unix.ST_NOSUID | unix.ST_NODEV
	if st.Flags&confined == confined {
		return nil
	}
	flags := uintptr(unix.MS_REMOUNT | unix.MS_BIND | unix.MS_NOSUID | unix.MS_NODEV)
	if st.Flags&unix.ST_RDONLY != 0 {
		flags |= unix.MS_RDONLY
	}
	if err := unix.Mount("", dir, "", flags, ""); err != nil {
		return &fs.PathError{Op: "mount with nosuid and nodev", Path: dir, Err: err}
	}
	return nil
}

// Free returns which part of a dataset is free for its users, from 0 to 1.
func Free(dir string) (float64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return float64(st.Bavail) / float64(max(st.Blocks, 1)), nil
}

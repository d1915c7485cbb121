//go:build linux || darwin

package extents

import (
	"os"

	"golang.org/x/sys/unix"
)

// open opens a file for reading. It follows no link and never waits for a pipe.
func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
}

func sameFilesystem(path string, f *os.File) (bool, error) {
	var a, b unix.Statfs_t
	if err := unix.Statfs(path, &a); err != nil {
		return false, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	if err := unix.Fstatfs(int(f.Fd()), &b); err != nil {
		return false, &os.PathError{Op: "statfs", Path: f.Name(), Err: err}
	}
	return a.Fsid == b.Fsid && a.Type == b.Type || sameVolume(path, f), nil
}

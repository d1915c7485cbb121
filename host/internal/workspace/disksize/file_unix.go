//go:build unix

package disksize

import (
	"io/fs"
	"syscall"
)

// allocated returns what a file takes on disk, in bytes: holes take nothing.
func allocated(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}

// fileID identifies a file.
type fileID struct{ device, inode uint64 }

// linked returns the identity of a file, and whether it has several names.
func linked(info fs.FileInfo) (fileID, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Nlink < 2 {
		return fileID{}, false
	}
	return fileID{uint64(st.Dev), st.Ino}, true //nolint:unconvert // on macOS it is not one
}

package union

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// keepSize is the mode of fallocate(2) that does not change the size of a file.
const keepSize = unix.FALLOC_FL_KEEP_SIZE

// errNoXattr is the error of an extended attribute that a node does not have.
const errNoXattr = syscall.ENODATA

func allocate(f *os.File, mode uint32, from, bytes int64) error {
	return unix.Fallocate(int(f.Fd()), mode, from, bytes)
}

// onDisk returns how many blocks a file has, and when it was changed.
func onDisk(info fs.FileInfo) (blocks, changed int64) {
	st := info.Sys().(*syscall.Stat_t) // what it is on this system
	return st.Blocks, st.Ctim.Nano()
}

func seek(f *os.File, from int64, hole bool) (int64, error) {
	whence := unix.SEEK_DATA
	if hole {
		whence = unix.SEEK_HOLE
	}
	return unix.Seek(int(f.Fd()), from, whence)
}

// Room returns how many bytes the filesystem of what is written has, and how many are free.
func Room(u *Union) (total, free uint64, err error) {
	var st unix.Statfs_t
	err = unix.Statfs(u.o.Dir, &st)
	return st.Blocks * uint64(st.Bsize), st.Bavail * uint64(st.Bsize), err //nolint:gosec // sizes
}

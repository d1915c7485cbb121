package union

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const keepSize = 1

// errNoXattr is the error of an extended attribute that a node does not have.
const errNoXattr = syscall.ENOATTR

// allocate reserves room behind what a file has. Nothing else asks for it: macFUSE does not.
func allocate(f *os.File, mode uint32, from, bytes int64) error {
	if mode != keepSize {
		return errors.ErrUnsupported
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	more := from + bytes - st.Blocks*unit
	if more <= 0 {
		return nil
	}
	return unix.FcntlFstore(f.Fd(), unix.F_PREALLOCATE, &unix.Fstore_t{Flags: unix.F_ALLOCATEALL, Posmode: unix.F_PEOFPOSMODE, Length: more})
}

// onDisk returns how many blocks a file has, and when it was changed.
func onDisk(info fs.FileInfo) (blocks, changed int64) {
	st := info.Sys().(*syscall.Stat_t) // what it is on this system
	return st.Blocks, st.Ctimespec.Nano()
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

package union

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

const keepSize = 1

// errNoXattr is the error of an extended attribute that a node does not have.
var errNoXattr = errors.New("the file has no such attribute")

func allocate(*os.File, uint32, int64, int64) error { return errors.ErrUnsupported }

func onDisk(info fs.FileInfo) (blocks, changed int64) {
	return (info.Size() + unit - 1) / unit, info.ModTime().UnixNano()
}

// seek knows no holes.
func seek(f *os.File, from int64, hole bool) (int64, error) {
	info, err := f.Stat()
	if err == nil && from >= info.Size() {
		err = syscall.ENXIO
	}
	if hole && err == nil {
		return info.Size(), nil
	}
	return from, err
}

// Room returns how many bytes the filesystem of what is written has, and how many are free.
func Room(u *Union) (total, free uint64, err error) {
	dir, err := windows.UTF16PtrFromString(u.o.Dir)
	if err == nil {
		err = windows.GetDiskFreeSpaceEx(dir, &free, &total, nil)
	}
	return total, free, err
}

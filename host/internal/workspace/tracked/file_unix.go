//go:build unix

package tracked

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// sparse reports whether a file takes less room than its content.
func sparse(f *os.File, size int64) bool {
	var st unix.Stat_t
	return size >= 2*page && unix.Fstat(int(f.Fd()), &st) == nil && st.Blocks*512 < size/page*page
}

// noRoom reports whether an error is that of a full disk, or of a user's share of it.
func noRoom(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// openFile opens a file for reading. It follows no link and never waits for a pipe.
func openFile(r *os.Root, name string) (*os.File, error) {
	return r.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
}

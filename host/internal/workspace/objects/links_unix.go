//go:build unix

package objects

import (
	"os"

	"golang.org/x/sys/unix"
)

// links returns how many names a file has.
func links(f *os.File) (uint64, error) {
	var st unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &st)
	return uint64(st.Nlink), err //nolint:unconvert // systems differ in its type
}

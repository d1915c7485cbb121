//go:build unix

package objects

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/installer/safefile"
)

// OpenFile opens a file that may have names in other stores and images, or creates one, by the flags of [os.OpenFile]. It keeps none of them from
// deleting their names.
func OpenFile(path string, flag int) (*os.File, error) { return os.OpenFile(path, flag, 0o600) }

// update is [OpenFile] for a regular file, for reading and writing.
func update(path string) (*os.File, fs.FileInfo, error) { return safefile.Update(path) }

// links returns how many names a file has.
func links(f *os.File) (uint64, error) {
	var st unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &st)
	return uint64(st.Nlink), err //nolint:unconvert // systems differ in its type
}

//go:build unix

package tracked

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// page is the smallest hole.
const page = 4096

// sparse reports whether a file takes less room than its content.
func sparse(f *os.File, size int64) bool {
	var st unix.Stat_t
	return size >= 2*page && unix.Fstat(int(f.Fd()), &st) == nil && st.Blocks*512 < size/page*page
}

// stamp writes what identifies the state of a path.
func stamp(w io.Writer, path string) error {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	_, _ = fmt.Fprintln(w, path, st.Ino, st.Ctim.Sec, st.Ctim.Nsec) // a hash takes everything
	return err
}

// dataIn returns where a sparse file has data, nil if the filesystem does not say so.
func dataIn(f *os.File, size int64, sparse bool) (parts []part) {
	if !sparse {
		return nil
	}
	fd := int(f.Fd())
	for at := int64(0); at < size; {
		from, err := unix.Seek(fd, at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) || err == nil && from >= size { // there is none behind
			return append(parts, part{size, size})
		}
		to := size
		if err == nil {
			to, err = unix.Seek(fd, from, unix.SEEK_HOLE)
		}
		if err != nil || to <= from || len(parts) == maxParts {
			_, _ = unix.Seek(fd, 0, unix.SEEK_SET)
			return nil
		}
		parts = append(parts, part{from, min(to, size)})
		at = to
	}
	return parts
}

// maxParts bounds the parts of a file whose holes are not read. In a file with more, they are small.
const maxParts = 10_000

// openFile opens a file for reading. It follows no link and never waits for a pipe.
func openFile(r *os.Root, name string) (*os.File, error) {
	return r.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
}

package tracked

import (
	"fmt"
	"io"
	"os"

	"tidemark.dev/tidemark/host/internal/workspace/winfile"
)

// sparse is not asked on Windows, where a file must be marked as sparse before it has holes.
func sparse(*os.File, int64) bool { return false }

// stamp writes what identifies a file and the time of its last change, which nobody puts back by the usual calls.
func stamp(w io.Writer, path string) error {
	info, err := winfile.StatPath(path)
	_, _ = fmt.Fprintln(w, path, info.Inode, info.Ctime) // a hash takes everything
	return err
}

// dataIn returns nil: no file counts as sparse.
func dataIn(*os.File, int64, bool) []part { return nil }

// openFile opens a file for reading.
func openFile(r *os.Root, name string) (*os.File, error) { return r.Open(name) }

package tracked

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"

	"tidemark.dev/tidemark/host/internal/workspace/winfile"
)

// sparse is not asked on Windows, where a file must be marked as sparse before it has holes.
func sparse(*os.File, int64) bool { return false }

// stamp writes what identifies a file and the time of its last change, which nobody puts back by the usual calls.
func stamp(w io.Writer, path string) error {
	dir, err := winfile.OpenDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(dir) }()
	info, err := winfile.StatIn(dir, filepath.Base(path))
	_, _ = fmt.Fprintln(w, path, info.Inode, info.Ctime) // a hash takes everything
	return err
}

// dataIn returns nil: no file counts as sparse.
func dataIn(*os.File, int64, bool) []part { return nil }

// openFile opens a file for reading.
func openFile(r *os.Root, name string) (*os.File, error) { return r.Open(name) }

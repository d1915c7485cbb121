package tracked

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// sparse is not asked on Windows, where a file must be marked as sparse before it has holes.
func sparse(*os.File, int64) bool { return false }

// dataIn returns nil: no file counts as sparse.
func dataIn(*os.File, int64, bool) []part { return nil }

// noRoom reports whether an error is that of a full disk.
func noRoom(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

// openFile opens a file for reading.
func openFile(r *os.Root, name string) (*os.File, error) { return r.Open(name) }

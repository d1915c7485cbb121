//go:build !windows

package grants

import (
	"path/filepath"
	"syscall"
)

// diskFull is the system's error for a disk without room.
const diskFull = syscall.ENOSPC

// final returns the path of an existing file without links.
func final(path string) (string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	return spelled(path)
}

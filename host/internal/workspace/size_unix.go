//go:build unix

package workspace

import (
	"io/fs"
	"syscall"
)

// allocated returns what a file takes on disk, in bytes: holes take nothing.
func allocated(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}

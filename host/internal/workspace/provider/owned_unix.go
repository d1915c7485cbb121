//go:build unix

package provider

import (
	"os"
	"syscall"
)

// owned reports whether a file belongs to the user, and nobody else can write to it.
func owned(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}

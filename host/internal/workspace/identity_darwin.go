package workspace

import (
	"fmt"
	"syscall"
)

// dirIdentity identifies a directory wherever it is moved, "" if it cannot be read.
func dirIdentity(dir string) string {
	var st syscall.Stat_t
	if syscall.Stat(dir, &st) != nil {
		return ""
	}
	return fmt.Sprintf("%d born %d", st.Ino, st.Birthtimespec.Nano())
}

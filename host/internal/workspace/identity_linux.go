package workspace

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// dirIdentity identifies a directory wherever it is moved, "" if it cannot be read. The number of a filesystem may change when
// the machine starts, so that the time of birth takes its place where there is one.
func dirIdentity(dir string) string {
	var st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_INO|unix.STATX_BTIME, &st) != nil {
		return ""
	}
	if st.Mask&unix.STATX_BTIME != 0 {
		return fmt.Sprintf("%d born %d.%09d", st.Ino, st.Btime.Sec, st.Btime.Nsec)
	}
	return fmt.Sprintf("%d on %d:%d", st.Ino, st.Dev_major, st.Dev_minor)
}

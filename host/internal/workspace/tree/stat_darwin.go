package tree

import (
	"os"
	"syscall"
)

// fill adds what only the system's own structure has.
func fill(s *Stat, info os.FileInfo) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Ctime, s.Inode, s.Links, s.Mode = Nanoseconds(st.Ctimespec.Unix()), st.Ino, uint32(st.Nlink), uint16(st.Mode&0o7777)
	}
}

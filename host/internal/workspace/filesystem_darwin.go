package workspace

import "golang.org/x/sys/unix"

// filesystemOf returns the name of the filesystem that a directory is on, "" if the system does not say.
func filesystemOf(dir string) string {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return ""
	}
	return unix.ByteSliceToString(st.Fstypename[:])
}

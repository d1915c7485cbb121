package workspace

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// filesystems are names by the numbers that statfs(2) reports.
var filesystems = map[uint32]string{
	unix.BTRFS_SUPER_MAGIC: "btrfs", unix.XFS_SUPER_MAGIC: "xfs", unix.EXT4_SUPER_MAGIC: "ext4", unix.TMPFS_MAGIC: "tmpfs", unix.OVERLAYFS_SUPER_MAGIC: "overlayfs",
	unix.NFS_SUPER_MAGIC: "nfs", unix.FUSE_SUPER_MAGIC: "fuse", unix.F2FS_SUPER_MAGIC: "f2fs", unix.NILFS_SUPER_MAGIC: "nilfs2", 0x2fc12fc1: "zfs",
}

// filesystemOf returns the name of the filesystem that a directory is on, or its number; "" if the system does not say.
func filesystemOf(dir string) string {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return ""
	}
	kind := uint32(st.Type) //nolint:gosec // the numbers have 32 bits
	if name := filesystems[kind]; name != "" {
		return name
	}
	return fmt.Sprintf("0x%x", kind)
}

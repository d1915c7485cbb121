package workspace

import (
	"fmt"

	"golang.org/x/sys/unix"

	"tidemark.dev/tidemark/host/internal/workspace/dataset"
	"tidemark.dev/tidemark/host/internal/workspace/mounts"
)

// filesystems are names by the numbers that statfs(2) reports.
var filesystems = map[uint32]string{
	unix.BTRFS_SUPER_MAGIC: "btrfs", unix.XFS_SUPER_MAGIC: "xfs", unix.EXT4_SUPER_MAGIC: "ext4", unix.TMPFS_MAGIC: "tmpfs", unix.OVERLAYFS_SUPER_MAGIC: "overlayfs",
	unix.NFS_SUPER_MAGIC: "nfs", unix.FUSE_SUPER_MAGIC: "fuse", unix.F2FS_SUPER_MAGIC: "f2fs", unix.NILFS_SUPER_MAGIC: "nilfs2",
}

// filesystemOf returns the name of the filesystem that a directory is on, or its number; "" if the system does not say.
func filesystemOf(dir string) string {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return ""
	}
	if m, err := mounts.Of(dir); err == nil && dataset.Mounted(m) { // zfs-fuse is not seen by its number
		return ZFS
	}
	kind := uint32(st.Type) //nolint:gosec // the numbers have 32 bits
	if name := filesystems[kind]; name != "" {
		return name
	}
	return fmt.Sprintf("0x%x", kind)
}

package treetest

import "golang.org/x/sys/unix"

// setXattr sets an extended attribute.
func setXattr(path, name string, value []byte) error { return unix.Lsetxattr(path, name, value, 0) }

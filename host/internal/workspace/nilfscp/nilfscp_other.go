//go:build !linux

package nilfscp

import "errors"

// On reports whether a directory is on NILFS2.
func On(string) bool { return false }

// Free returns which part of a filesystem is free.
func Free(string) (float64, error) { return 0, errors.ErrUnsupported }

// Allowed reports whether this process may promote checkpoints and mount them.
func Allowed() bool { return false }

// Lock waits for other processes.
func (Filesystem) Lock() (unlock func()) { return func() {} }

// Inode returns the number of a directory.
func Inode(string) uint64 { return 0 }

// Sync writes a checkpoint.
func (Filesystem) Sync() (uint64, error) { return 0, errors.ErrUnsupported }

// Get returns a checkpoint.
func (Filesystem) Get(uint64) (Checkpoint, bool, error) {
	return Checkpoint{}, false, errors.ErrUnsupported
}

// Promote makes a checkpoint a snapshot.
func (Filesystem) Promote(uint64) error { return errors.ErrUnsupported }

// Demote lets the cleaner remove a snapshot.
func (Filesystem) Demote(uint64) error { return errors.ErrUnsupported }

// Mount mounts a snapshot.
func (Filesystem) Mount(uint64, string) error { return errors.ErrUnsupported }

// Show mounts a directory of a snapshot.
func Show(string, string, string, []string) error { return errors.ErrUnsupported }

// Rename moves the mount of a snapshot.
func Rename(string, string) error { return errors.ErrUnsupported }

func unmount(string) error { return errors.ErrUnsupported }

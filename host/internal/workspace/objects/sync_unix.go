//go:build unix

package objects

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// SyncDir makes new names in a directory survive a loss of power.
func SyncDir(dir string) error {
	d, err := os.OpenFile(dir, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return d.Sync()
}

// NoRoom reports whether an error is that of a full disk, or of a user's share of it.
func NoRoom(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

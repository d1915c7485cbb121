package objects

import (
	"errors"

	"golang.org/x/sys/windows"
)

// SyncDir does nothing: NTFS keeps names in its own log.
func SyncDir(string) error { return nil }

// NoRoom reports whether an error is that of a full disk.
func NoRoom(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

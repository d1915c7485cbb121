package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// beyond is the upper half of the place that is locked. It is beyond the end of any file, because others may not read a
// locked place.
const beyond = 1 << 30

// Try takes the lock of an open file, or returns [ErrTaken]. Closing the file releases the lock.
func Try(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{OffsetHigh: beyond})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrTaken
	}
	return err
}

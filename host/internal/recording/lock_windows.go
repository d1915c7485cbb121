package recording

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// errInUse reports that a recorder is writing a file.
var errInUse = errors.New("it is being recorded")

// lock marks a file as in use. The system ends that when the process ends, however it ends. The place of the lock is
// beyond the end of any file, because others may not read a locked place.
func lock(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errInUse
	}
	return err
}

//go:build !windows

package recording

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// errInUse reports that a recorder is writing a file.
var errInUse = errors.New("it is being recorded")

// lock marks a file as in use. The kernel ends that when the process ends, however it ends.
func lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errInUse
	}
	return err
}

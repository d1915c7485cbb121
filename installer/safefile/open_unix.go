//go:build !windows

package safefile

import (
	"os"

	"golang.org/x/sys/unix"
)

// nonblock keeps open from waiting for the other end of a pipe and from making a terminal the controlling one.
const nonblock = unix.O_NONBLOCK | unix.O_NOCTTY

// rename renames a file in place of another one.
func rename(from, to string) error { return os.Rename(from, to) }

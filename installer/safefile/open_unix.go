//go:build !windows

package safefile

import "golang.org/x/sys/unix"

// nonblock keeps an open from waiting for the other end of a pipe, and a terminal from becoming the process's own.
const nonblock = unix.O_NONBLOCK | unix.O_NOCTTY

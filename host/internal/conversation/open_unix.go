//go:build !windows

package conversation

import "golang.org/x/sys/unix"

// nonblock keeps open from waiting for the other end of a pipe and from making a terminal the controlling one.
const nonblock = unix.O_NONBLOCK | unix.O_NOCTTY

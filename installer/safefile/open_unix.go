//go:build !windows

package safefile

import "golang.org/x/sys/unix"

// nonblock keeps open from waiting for the other end of a pipe and from making a terminal the controlling one.
const nonblock = unix.O_NONBLOCK | unix.O_NOCTTY

// nofollow makes the open of a link fail.
const nofollow = unix.O_NOFOLLOW

// patiently renames a file in place of another one, or removes it.
func patiently(do func() error) error { return do() }

//go:build unix

package hangup

import "golang.org/x/sys/unix"

// hasHungUp calls poll(2), which always reports a hang-up.
func hasHungUp(fd uintptr) bool {
	fds := []unix.PollFd{{Fd: int32(fd)}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
}

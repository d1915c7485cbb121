package recording

import (
	"time"

	"golang.org/x/sys/unix"
)

// Clock is how long the machine has run, without the time for which it was suspended, 0 where that is not known. It is the clock
// that measures the times of events, and the same in all processes.
func Clock() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

package retention

import (
	"time"

	"golang.org/x/sys/unix"
)

// bootID names the start of the machine, "" if it has no name.
func bootID() string {
	id, _ := unix.Sysctl("kern.bootsessionuuid") // a system without it has no name
	return id
}

// sinceBoot returns how long the machine runs, also suspended.
func sinceBoot() (time.Duration, bool) {
	var ran unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ran)
	return time.Duration(ran.Nano()), err == nil
}

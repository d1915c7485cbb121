package retention

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// bootID names the start of the machine, "" if it has no name.
func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // without /proc it has no name
	return strings.TrimSpace(string(id))
}

// sinceBoot returns how long the machine runs, also suspended.
func sinceBoot() (time.Duration, bool) {
	var ran unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ran)
	return time.Duration(ran.Nano()), err == nil
}

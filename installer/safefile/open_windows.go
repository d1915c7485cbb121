package safefile

import (
	"errors"
	"time"

	"golang.org/x/sys/windows"
)

// nonblock is not needed: opening a pipe or a device does not wait here.
const nonblock = 0

// nofollow has no counterpart among the flags here. [Own] looks at the file before.
const nofollow = 0

// inUse is how long a file may be in use by others, who read it, before it is replaced or removed.
const inUse = 2 * time.Second

// mostWait is how long a try waits at most for the next one: a file that others read again and again is free only for moments.
const mostWait = 20 * time.Millisecond

// patiently renames a file in place of another one, or removes it. Windows refuses that while a program, or a virus scanner, has
// it open.
func patiently(do func() error) error {
	began, wait := time.Now(), time.Millisecond
	for {
		err := do()
		if !errors.Is(err, windows.ERROR_ACCESS_DENIED) && !errors.Is(err, windows.ERROR_SHARING_VIOLATION) || time.Since(began)+wait > inUse {
			return err
		}
		time.Sleep(wait)
		wait = min(wait+wait/2, mostWait)
	}
}

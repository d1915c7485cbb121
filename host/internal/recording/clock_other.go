//go:build !linux

package recording

import "time"

// Clock is how long the machine has run, 0 where that is not known.
func Clock() time.Duration { return 0 }

//go:build !linux && !darwin

package retention

import "time"

// bootID names the start of the machine, "" if it has no name.
func bootID() string { return "" }

// sinceBoot returns how long the machine runs, also suspended.
func sinceBoot() (time.Duration, bool) { return 0, false }

//go:build !windows

package terminal

import (
	"testing"
	"time"
)

// HangupTime lets programs take longer to end after their terminal was closed, for the test: a machine may stall for seconds.
func HangupTime(t *testing.T, d time.Duration) {
	t.Helper()
	was := hangupTime
	hangupTime = d
	t.Cleanup(func() { hangupTime = was })
}

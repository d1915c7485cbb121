// Package hangup detects that the other end of a connection has hung up.
//
// End of file is not enough, because a peer that has stopped writing may still read the answers.
//
// Guarantees:
//   - The channel is closed only when the peer has closed both directions or has stopped reading.
//   - On Linux and macOS it is closed within [Every] of that. On Windows, which does not report it, never.
//   - The package reads and writes no data.
package hangup

import (
	"context"
	"errors"
	"syscall"
	"time"
)

// Raw returns the raw connection below c, so that types that wrap a connection can be watched.
func Raw(c any) (syscall.RawConn, error) {
	if raw, ok := c.(syscall.Conn); ok {
		return raw.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// Every is the polling interval.
const Every = 100 * time.Millisecond

// Watch returns a channel that is closed when the other end of a socket or pipe has hung up. Watching ends with ctx.
func Watch(ctx context.Context, c syscall.Conn) <-chan struct{} {
	gone := make(chan struct{})
	raw, err := c.SyscallConn()
	if err != nil {
		return gone
	}
	go func() {
		look := time.NewTicker(Every)
		defer look.Stop()
		for {
			hungUp := false
			if err := raw.Control(func(fd uintptr) { hungUp = hasHungUp(fd) }); err != nil {
				return // closed on this side
			}
			if hungUp {
				close(gone)
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-look.C:
			}
		}
	}()
	return gone
}

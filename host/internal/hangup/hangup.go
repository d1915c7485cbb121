// Package hangup notices that nobody is at the other end of a connection any more.
//
// A reader's end of file does not say so: a peer that has said all it wants to say may still read the answers.
//
// It guarantees: the channel is closed only when the peer has closed both directions, or reads no more; it is closed
// within [Every] of that on Linux and macOS, and never on Windows, whose sockets do not tell. It reads and writes
// nothing.
package hangup

import (
	"context"
	"errors"
	"syscall"
	"time"
)

// Raw is the raw connection of what may be one, for types that wrap a connection and are to be watched as it is.
func Raw(c any) (syscall.RawConn, error) {
	if raw, ok := c.(syscall.Conn); ok {
		return raw.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// Every is how often it looks.
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

package daemon

import (
	"context"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"tidemark.dev/tidemark/host/internal/hangup"
	"tidemark.dev/tidemark/host/internal/home"
)

// presence counts connections. It is safe for concurrent use.
type presence struct {
	mu      sync.Mutex
	here    int
	changed chan struct{} // closed and replaced when here becomes 0 or leaves it
}

func newPresence() *presence { return &presence{changed: make(chan struct{})} }

func (p *presence) add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.here
	p.here += n
	if (before == 0) != (p.here == 0) {
		close(p.changed)
		p.changed = make(chan struct{})
	}
}

// waitUntilAlone returns true when there was no connection for the idle time, false when ctx ends.
func (p *presence) waitUntilAlone(ctx context.Context, idle time.Duration) bool {
	for {
		p.mu.Lock()
		here, changed := p.here, p.changed
		p.mu.Unlock()
		var alone <-chan time.Time
		timer := time.NewTimer(idle)
		if here == 0 {
			alone = timer.C
		}
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-alone:
			return true
		case <-changed:
			timer.Stop()
		}
	}
}

// homePause is the time between two looks at whether the home is still this daemon's.
const homePause = 10 * time.Second

// watchHome stops the daemon when its home was removed: its connections would keep it from ending, and browsers from the next
// daemon.
func (d *daemon) watchHome(ctx context.Context, lock *os.File) {
	look := time.NewTicker(homePause)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			if !home.Owns(d.home, lock) {
				d.log.Warn("the daemon stops, because its files were removed while it ran", "home", d.home.State)
				d.stop()
				return
			}
		}
	}
}

// counted is a listener whose connections count as present until they are closed.
type counted struct {
	net.Listener
	p *presence
}

func (l counted) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.p.add(1)
	return &countedConn{Conn: conn, leave: sync.OnceFunc(func() { l.p.add(-1) })}, nil
}

type countedConn struct {
	net.Conn
	leave func()
}

func (c *countedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// SyscallConn lets package hangup watch the connection.
func (c *countedConn) SyscallConn() (syscall.RawConn, error) { return hangup.Raw(c.Conn) }

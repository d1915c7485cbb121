package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
)

// errStranger says that the other end of a socket is not the user.
var errStranger = errors.New("the other end of the socket belongs to another user")

// checkPeer makes sure that the other end of a socket is this user's. Where the system does not tell (see
// peerUID), the socket's directory, which is its user's alone, stands in for it.
func checkPeer(conn net.Conn) error {
	if c, ok := conn.(*countedConn); ok {
		conn = c.Conn
	}
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("%T is no Unix socket", conn)
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return err
	}
	var uid int
	var known bool
	if controlErr := raw.Control(func(fd uintptr) { uid, known, err = peerUID(fd) }); controlErr != nil {
		return controlErr
	}
	if err != nil {
		return fmt.Errorf("whose socket it is cannot be told: %w", err)
	}
	if known && uid != os.Getuid() {
		return fmt.Errorf("%w (id %d)", errStranger, uid)
	}
	return nil
}

// ours is a listener that refuses everybody but its user.
type ours struct {
	net.Listener
	log *slog.Logger
}

func (l ours) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if err := checkPeer(conn); err != nil {
			l.log.Warn("a connection was refused", "socket", l.Addr(), "error", err)
			_ = conn.Close()
			continue
		}
		return conn, nil
	}
}

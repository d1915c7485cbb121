package safesocket

import (
	"log/slog"
	"net"
	"os"
)

// OursTCP returns a loopback listener that refuses other users where the system reports the peer's user (see tcpOwner).
// Elsewhere only the server's own authentication keeps them out.
func OursTCP(l net.Listener, log *slog.Logger) net.Listener { return oursTCP{l, log} }

type oursTCP struct {
	net.Listener
	log *slog.Logger
}

func (l oursTCP) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		uid, known := tcpOwner(conn)
		if known && uid != os.Getuid() && uid != 0 { // root reads every secret anyway
			l.log.Warn("a connection was refused", "from", conn.RemoteAddr(), "error", ErrStranger, "user", uid)
			_ = conn.Close()
			continue
		}
		return conn, nil
	}
}

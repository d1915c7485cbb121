// Package safesocket makes sockets that only their user can reach, and checks who is at the other end.
//
// Guarantees: a listener never returns a connection of another user where the system reports the peer's user; [Listen]
// replaces a dead socket and nothing else; [CheckDir], [Check] and [CheckFile] reject what another user owns or can
// access. Windows reports no owners: there, the directories below the user's own profile give the protection.
//
// The package does not know what the sockets are for. Callers pass the name of the environment variable by which a user
// chooses another directory, for the errors to name it.
package safesocket

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
)

// ErrStranger says that the other end of a socket is not the user.
var ErrStranger = errors.New("the other end of the socket belongs to another user")

// Listen makes a socket for the user alone, and refuses connections of other users. The caller holds a lock, so an
// existing socket should be dead: one that answers, and anything that is not a socket, is left untouched and is an
// error. Setting is the environment variable that names the directory.
func Listen(ctx context.Context, path, setting string, log *slog.Logger) (net.Listener, error) {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode().Type() != os.ModeSocket && runtime.GOOS != "windows": // which has no such type
		return nil, fmt.Errorf("%s is in the way and no socket; remove it, or set %s to another directory", path, setting)
	default:
		var d net.Dialer
		if conn, err := d.DialContext(ctx, "unix", path); err == nil {
			_ = conn.Close()
			return nil, fmt.Errorf("another program answers on %s; end it, or set %s to another directory", path, setting)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		return nil, err
	}
	return ours{l, log}, nil
}

// CheckPeer makes sure that the other end of a Unix socket is this user's. Where the system does not tell (see
// peerUID), the socket's directory, which is its user's alone, stands in for it.
func CheckPeer(conn net.Conn) error {
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
		return fmt.Errorf("%w (id %d)", ErrStranger, uid)
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
		if err := CheckPeer(conn); err != nil {
			l.log.Warn("a connection was refused", "socket", l.Addr(), "error", err)
			_ = conn.Close()
			continue
		}
		return conn, nil
	}
}

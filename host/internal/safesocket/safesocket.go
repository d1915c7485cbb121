// Package safesocket makes sockets that only their user can reach, and checks who is at the other end.
//
// Guarantees:
//   - A listener never returns a connection of another user where the system reports the peer's user.
//   - [Listen] replaces a dead socket and nothing else.
//   - [CheckDir], [Check] and [CheckFile] reject paths that another user owns or can access. Windows reports no owners:
//     there, directories in the user's own profile give the protection.
//
// The package does not know the purpose of the sockets. Callers pass the environment variable that chooses the directory,
// so that errors can name it.
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

// ErrStranger reports that the other end of a socket belongs to another user.
var ErrStranger = errors.New("the other end of the socket belongs to another user")

// Listen creates a socket that only this user can reach, and refuses connections of other users. The caller holds a
// lock, so an existing socket should be dead. A live socket, or a file that is not a socket, stays untouched and is an
// error. Setting is the environment variable that names the directory.
func Listen(ctx context.Context, path, setting string, log *slog.Logger) (net.Listener, error) {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode().Type() != os.ModeSocket && runtime.GOOS != "windows": // Windows has no socket type
		return nil, fmt.Errorf("%s exists but is not a socket. Remove it or set %s to another directory.", path, setting)
	default:
		var d net.Dialer
		if conn, err := d.DialContext(ctx, "unix", path); err == nil {
			_ = conn.Close()
			return nil, fmt.Errorf("another program is listening on %s. End it or set %s to another directory.", path, setting)
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

// CheckPeer checks that the other end of a Unix socket belongs to this user. Where the system does not report the peer
// (see peerUID), access to the socket's private directory is the only check.
func CheckPeer(conn net.Conn) error {
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("%T is not a Unix socket", conn)
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
		return fmt.Errorf("cannot determine the owner of the other end: %w", err)
	}
	if known && uid != os.Getuid() {
		return fmt.Errorf("%w (id %d)", ErrStranger, uid)
	}
	return nil
}

// ours is a listener that refuses other users.
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

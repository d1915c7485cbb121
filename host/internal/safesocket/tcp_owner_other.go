//go:build !linux

package safesocket

import "net"

// tcpOwner is not told by the system without more rights than the daemon has.
func tcpOwner(net.Conn) (uid int, known bool) { return 0, false }

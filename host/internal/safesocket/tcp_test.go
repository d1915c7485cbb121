package safesocket

import (
	"net"
	"os"
	"testing"
)

func TestTheKernelReportsTheOwnerOfAConnection(t *testing.T) {
	for _, network := range []string{"tcp4", "tcp"} {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := net.Dial(network, l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		uid, known := tcpOwner(conn)
		if _, err := os.Stat("/proc/net/tcp"); err == nil && (!known || uid != os.Getuid()) {
			t.Errorf("%s: %d %t", network, uid, known)
		}
		_ = conn.Close()
		_ = theirs.Close()
		_ = l.Close()
	}
}

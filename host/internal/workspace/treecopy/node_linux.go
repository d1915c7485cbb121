package treecopy

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// makeNode makes a pipe, a socket or a device. Nobody listens at the socket.
func makeNode(in *os.Root, name string, st *syscall.Stat_t) error {
	d, err := in.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return unix.Mknodat(int(d.Fd()), name, st.Mode&unix.S_IFMT|0o600, int(st.Rdev)) //nolint:gosec // a device's number is one
}

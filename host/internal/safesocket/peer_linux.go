package safesocket

import "golang.org/x/sys/unix"

// peerUID asks the kernel for the user of the other end (SO_PEERCRED, unix(7)).
func peerUID(fd uintptr) (uid int, known bool, err error) {
	cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, false, err
	}
	return int(cred.Uid), true, nil
}

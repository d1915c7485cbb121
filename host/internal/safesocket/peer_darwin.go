package safesocket

import "golang.org/x/sys/unix"

// peerUID asks the kernel for the user of the other end (LOCAL_PEERCRED, unix(4)).
func peerUID(fd uintptr) (uid int, known bool, err error) {
	cred, err := unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, false, err
	}
	return int(cred.Uid), true, nil
}

//go:build !windows

package browser

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// terminate asks a process to exit in order.
func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// hasDisplay reports whether the browser can show a window.
func hasDisplay() bool {
	return runtime.GOOS == "darwin" || os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
}

// noSandbox reports whether the browser refuses to run with its sandbox, as Linux browsers do for root.
func noSandbox() bool { return runtime.GOOS != "darwin" && os.Geteuid() == 0 }

// lockFile opens and locks path, or fails immediately with errLockTaken. The lock ends with the process.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(errLockTaken, f.Close())
	}
	// The previous owner may have removed the file.
	held, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if there, err := os.Stat(path); err != nil || !os.SameFile(held, there) {
		return nil, errors.Join(errLockTaken, f.Close())
	}
	return f, nil
}

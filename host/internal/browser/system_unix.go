//go:build !windows

package browser

import (
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

//go:build !windows

package terminal_test

import (
	"os"
	"syscall"
)

func sendResize(p *os.Process) error { return p.Signal(syscall.SIGWINCH) }

//go:build !windows

package home

import (
	"os/exec"
	"syscall"
)

// detach lets a process outlive its parent's terminal and group.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

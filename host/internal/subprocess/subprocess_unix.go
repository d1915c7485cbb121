//go:build !windows

// Package subprocess runs commands of the user.
//
// It guarantees: a command that is canceled ends with everything that it started and that has not left it on purpose.
package subprocess

import (
	"os/exec"
	"syscall"
)

// Whole has the cancellation of a command end its descendants too. Call it before the command starts.
func Whole(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

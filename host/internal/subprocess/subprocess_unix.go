//go:build !windows

// Package subprocess runs commands of the user.
//
// It guarantees: a command that is canceled ends with everything that it started and that has not left it on purpose.
package subprocess

import (
	"errors"
	"os/exec"
	"syscall"
)

// Whole has the cancellation of a command end its descendants too. Call it before the command starts.
func Whole(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// Alone makes a command survive this process and the terminal that it was started from. Call it before the command starts.
func Alone(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// End asks a process that is Alone, and what it started in its own session, to end. One that has ended is no error.
func End(pid int) error { return toGroup(pid, syscall.SIGTERM) }

// Kill ends a process that is Alone, and what it started in its own session, at once. One that has ended is no error.
func Kill(pid int) error { return toGroup(pid, syscall.SIGKILL) }

func toGroup(pid int, s syscall.Signal) error {
	if err := syscall.Kill(-pid, s); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

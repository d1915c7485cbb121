// Package subprocess runs commands of the user.
//
// It guarantees: a command that is canceled ends with everything that it started and that has not left it on purpose.
package subprocess

import (
	"context"
	"errors"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/windows"
)

// Whole has the cancellation of a command end its descendants too. Call it before the command starts.
func Whole(cmd *exec.Cmd) {
	cmd.Cancel = func() error {
		tree := exec.CommandContext(context.Background(), "taskkill", "/f", "/t", "/pid", strconv.Itoa(cmd.Process.Pid)) //nolint:gosec // a number
		if err := tree.Run(); err != nil {
			return errors.Join(err, cmd.Process.Kill())
		}
		return nil
	}
}

// Alone makes a command survive this process and the terminal that it was started from. Call it before the command starts.
func Alone(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS}
}

// noProcess is taskkill's exit status where no process has the number.
const noProcess = 128

// End ends a process with everything that it started. One that has ended is no error.
func End(pid int) error {
	err := exec.CommandContext(context.Background(), "taskkill", "/f", "/t", "/pid", strconv.Itoa(pid)).Run() //nolint:gosec // a number
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == noProcess {
		return nil
	}
	return err
}

// Kill is [End], which is at once here.
func Kill(pid int) error { return End(pid) }

package home

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// detach takes a process out of Chrome's job object, because Chrome ends all processes in it.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_BREAKAWAY_FROM_JOB | windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}

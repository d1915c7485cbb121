package browser

import (
	"os"
	"os/exec"
	"syscall"
)

// isolate keeps the terminal's interrupt from the browser, so that this process closes it in order. If this
// process dies first, the closed pipe ends the browser.
func isolate(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	// The pipe's handles are in SysProcAttr already.
	cmd.SysProcAttr.CreationFlags |= syscall.CREATE_NEW_PROCESS_GROUP
}

// terminate does nothing, because Windows has no gentle signal. The closed pipe asks the process to exit, and
// it is killed if it does not.
func terminate(*os.Process) error { return nil }

// reap does nothing, because the browser's own job object ends its child processes.
func reap(int, string) {}

func hasDisplay() bool { return true }

func noSandbox() bool { return false }

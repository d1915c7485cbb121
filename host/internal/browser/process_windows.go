package browser

import (
	"errors"
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

// errSharingViolation is ERROR_SHARING_VIOLATION.
const errSharingViolation = syscall.Errno(32)

// lockFile opens path so that no other process can open or remove it.
func lockFile(path string) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	handle, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		if errors.Is(err, syscall.ERROR_ACCESS_DENIED) || errors.Is(err, errSharingViolation) {
			return nil, errLockTaken
		}
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return os.NewFile(uintptr(handle), path), nil
}

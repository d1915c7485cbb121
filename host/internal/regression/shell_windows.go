package regression

import (
	"context"
	"os/exec"
	"syscall"
)

// shell returns a command of the system's shell.
func shell(ctx context.Context, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "cmd.exe")
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `/s /c "` + command + `"`}
	return cmd
}

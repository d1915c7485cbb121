//go:build !windows

package regression

import (
	"context"
	"os/exec"
)

// shell returns a command of the system's shell.
func shell(ctx context.Context, command string) *exec.Cmd {
	return exec.CommandContext(ctx, "sh", "-c", command)
}

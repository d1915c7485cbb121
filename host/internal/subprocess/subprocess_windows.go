// Package subprocess runs commands of the user.
//
// It guarantees: a command that is canceled ends with everything that it started and that has not left it on purpose.
package subprocess

import (
	"context"
	"errors"
	"os/exec"
	"strconv"
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

package subprocess_test

import (
	"os"
	"os/exec"
	"testing"

	"tidemark.dev/tidemark/host/internal/subprocess"
)

// Who ends a process learns of it by its number, and it can have ended by itself meanwhile.
func TestToEndAProcessThatHasEndedIsNoError(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$") //nolint:gosec // this test
	subprocess.Alone(cmd)
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if err := subprocess.End(cmd.Process.Pid); err != nil {
		t.Error(err)
	}
}

package subprocess_test

import (
	"os"
	"os/exec"
	"strings"
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

func TestATailIsTheEnd(t *testing.T) {
	for _, part := range []int{1, 3, 10, 11, 1000} {
		tail, whole := subprocess.Tail{Most: 10}, strings.Repeat("0123456789abc", 100)
		for rest := whole; rest != ""; {
			n := min(part, len(rest))
			if wrote, err := tail.Write([]byte(rest[:n])); wrote != n || err != nil {
				t.Fatal(wrote, err)
			}
			rest = rest[n:]
		}
		if end := tail.String(); !strings.HasSuffix(whole, end) || len(end) < 10 || len(end) > 20 {
			t.Errorf("in parts of %d: %q", part, end)
		}
	}
}

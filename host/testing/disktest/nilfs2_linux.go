package disktest

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// NILFS2 mounts an empty NILFS2 whose cleaner does not run. It needs a kernel that has it: `make test-nilfs2` starts one.
func NILFS2(t *testing.T, o Options) string {
	t.Helper()
	if os.Getenv("TIDEMARK_TEST_NILFS2") == "" {
		t.Skip("NILFS2 is tested by make test-nilfs2")
	}
	o.Mount = strings.Trim(o.Mount+",nogc", ",")
	return made(t, "nilfs2", o)
}

// Snapshots returns the checkpoints of a NILFS2 that are snapshots.
func Snapshots(t *testing.T, dir string) (numbers []uint64) {
	t.Helper()
	for line := range strings.Lines(Nilfs(t, "lscp", "-s", Device(t, dir))) {
		if number, err := strconv.ParseUint(strings.Fields(line)[0], 10, 64); err == nil { // else it is the heading
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// Device returns what is mounted on a directory.
func Device(t *testing.T, dir string) string {
	t.Helper()
	return strings.TrimSpace(Nilfs(t, "findmnt", "-n", "-o", "SOURCE", dir))
}

// Nilfs runs a command about a NILFS2, and returns its output.
func Nilfs(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput() //nolint:gosec // a test's filesystem
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

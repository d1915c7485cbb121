package timelinetest

import (
	"os"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/subvolume"
	"tidemark.dev/tidemark/host/testing/disktest"
)

// OnBtrfs has the worlds of the tests that a test runs be on Btrfs.
func OnBtrfs(t *testing.T) {
	if !subvolume.On(os.TempDir()) { // else this is the process that is killed
		t.Setenv("TMPDIR", disktest.Btrfs(t, disktest.Options{Bytes: 4 << 30}))
	}
}

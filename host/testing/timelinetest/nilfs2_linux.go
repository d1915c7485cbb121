package timelinetest

import (
	"os"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/nilfscp"
	"tidemark.dev/tidemark/host/testing/disktest"
)

// OnNILFS2 has the worlds of the tests that a test runs be on NILFS2.
func OnNILFS2(t *testing.T) {
	if !nilfscp.On(os.TempDir()) { // else this is the process that is killed
		t.Setenv("TMPDIR", disktest.NILFS2(t, disktest.Options{Bytes: 4 << 30}))
	}
}

package timelinetest

import (
	"os"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/dataset"
	"tidemark.dev/tidemark/host/testing/disktest"
)

// OnZFS has the worlds of the tests that a test runs be on ZFS.
func OnZFS(t *testing.T) {
	if _, is := dataset.Of(os.TempDir()); !is { // else this is the process that is killed
		t.Setenv("TMPDIR", disktest.ZFS(t, 4<<30).Dir)
	}
}

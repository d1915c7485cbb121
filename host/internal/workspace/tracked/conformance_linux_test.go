package tracked_test

import (
	"os"
	"path/filepath"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/mounts"
	"tidemark.dev/tidemark/host/testing/disktest"
)

// TestItIsAProviderOnXFS, where checkouts share the extents of the workspace.
func TestItIsAProviderOnXFS(t *testing.T) {
	if m, err := mounts.Of(os.TempDir()); err != nil || m.Type != "xfs" { // else this is a process that a test started there
		disk := disktest.Sharing(t, "xfs")
		for dir := filepath.Dir(disk); dir != filepath.Clean(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) { // tests run programs of other users in it
			if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // a directory of this test
				t.Fatal(err)
			}
		}
		t.Setenv("TMPDIR", disk)
	}
	TestItIsAProvider(t)
}

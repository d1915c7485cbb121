package branches

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tidemark.dev/tidemark/host/internal/workspace/ownpath"
	"tidemark.dev/tidemark/host/testing/disktest"
	"tidemark.dev/tidemark/host/testing/e2etest"
)

// A user without rights has what root has: branches are mounted by FUSE alone, and programs see them at the path of the original by
// a namespace of users.
func TestAUserWithoutRightsWorksInBranches(t *testing.T) {
	if disktest.User() != "" {
		cmd := exec.CommandContext(t.Context(), "true")
		if err := ownpath.Prepare(cmd); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Run(); err != nil {
			t.Skip("the system allows users no namespaces: ", err)
		}
		t.Run("command", TestACommandRunsInABranchUnderThePathOfTheOriginal)
		t.Run("agent", TestAnAgentSeesItsBranchAtThePathOfTheOriginal)
		return
	}
	dir, err := os.MkdirTemp("", "u") // sockets have short paths
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	data, err := os.ReadFile(e2etest.Binary())
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "tidemark")                                                                                                                                                   // the repository may be closed to others
	if err := errors.Join(os.WriteFile(binary, data, 0o755), os.WriteFile(filepath.Join(dir, ".gitconfig"), []byte("[user]\nname = A user\nemail = user@example.com\n"), 0o644)); err != nil { //nolint:gosec // for another user
		t.Fatal(err)
	}
	disktest.AsUserWithFUSE(t, dir, e2etest.BinaryEnv+"="+binary, "HOME="+dir)
}

package branches_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/gitrepo"
	"tidemark.dev/tidemark/host/internal/timeline"
	"tidemark.dev/tidemark/host/internal/usererr"
)

// TestABranchWhoseFirstSnapshotWasDeletedInItsOriginal is committed and compared all the same: it has that snapshot, too. What changed
// in the original since then is not known. Its commit has the whole message of the branch.
func TestABranchWhoseFirstSnapshotWasDeletedInItsOriginal(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	s := opened(t)
	if _, err := gitrepo.Run(t.Context(), s.dir, nil, "init", "-q", "-b", "main"); err != nil {
		t.Fatal(err)
	}
	b, err := s.Start(t.Context(), user, branches.Params{Where: s.where(), From: s.record(), Name: "other", Message: "do it\nand that\n", Agent: "none"})
	failing(err)
	failing(os.WriteFile(filepath.Join(b.Workspace, "sub", "a"), []byte("branch\n"), 0o600))
	for range 3 {
		large := make([]byte, 4<<20)
		for i := range large {
			large[i] = byte(rand.Uint32()) //nolint:gosec // it cannot be compressed
		}
		failing(os.WriteFile(filepath.Join(s.dir, "large"), large, 0o600))
		s.record()
	}
	deleted, err := s.Timeline.Prune(t.Context(), user, timeline.PruneParams{Where: s.where(), MiB: 6})
	if failing(err); !strings.Contains(strings.Join(deleted.Deleted, " ")+" ", b.FsSnapshot+" ") {
		t.Fatalf("%+v", deleted)
	}
	c, err := s.Compare(t.Context(), user, branches.CompareParams{Where: s.where(), A: "other"})
	if err != nil || len(c.A.Files) != 1 || c.A.FilesProblem != "" || !strings.Contains(c.B.FilesProblem, b.FsSnapshot) || len(c.Different) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	done, err := s.Commit(t.Context(), user, branches.CommitParams{Where: s.where(), Name: "other"})
	if err != nil || done.Files < 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	if message, err := gitrepo.Run(t.Context(), s.dir, nil, "log", "-1", "--format=%B", done.Branch); err != nil || strings.TrimSpace(message) != "do it\n\nand that" {
		t.Errorf("the message is %q, %v", message, err)
	}
	_, err = s.Commit(t.Context(), user, branches.CommitParams{Where: s.where(), Name: "other", As: "blank", Message: " \n"})
	if usererr.CodeOf(err) != usererr.InvalidArgument {
		t.Error(err)
	}
}

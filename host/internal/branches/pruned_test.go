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

// TestARepositoryThatWasMadeInABranchIsNotRemovedInSilence: no snapshot has it. Files that the original's index hides are named where
// a commit lacks them.
func TestARepositoryThatWasMadeInABranchIsNotRemovedInSilence(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	s := opened(t)
	git := func(dir string, args ...string) string {
		t.Helper()
		out, err := gitrepo.Run(t.Context(), dir, nil, append([]string{"-c", "user.name=Test", "-c", "user.email=test@example.com"}, args...)...)
		failing(err)
		return out
	}
	git(s.dir, "init", "-q", "-b", "main")
	git(s.dir, "add", ".")
	git(s.dir, "commit", "-q", "-m", "first")
	git(s.dir, "update-index", "--assume-unchanged", "sub/a")
	b, err := s.Start(t.Context(), user, branches.Params{Where: s.where(), From: s.record(), Name: "other", Agent: "none"})
	failing(err)
	for _, name := range []string{"sub/a", "b"} {
		failing(os.WriteFile(filepath.Join(b.Workspace, name), []byte("branch\n"), 0o600))
	}
	c, err := s.Commit(t.Context(), user, branches.CommitParams{Where: s.where(), Name: "other"})
	if err != nil || c.Files != 1 || !strings.Contains(c.Note, "is not in the commit: sub/a") {
		t.Errorf("%+v, %v", c, err)
	}
	git(b.Workspace, "init", "-q")
	p := branches.OneParams{Where: s.where(), Name: "other"}
	if _, err := s.Remove(t.Context(), user, p); usererr.CodeOf(err) != usererr.ActionRefused || !strings.Contains(err.Error(), "Git repository") {
		t.Error(err)
	}
	p.Force = true
	if _, err := s.Remove(t.Context(), user, p); err != nil {
		t.Error(err)
	}
}

package branches_test

import (
	"os/exec"
	"testing"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/gitrepo"
	"tidemark.dev/tidemark/host/internal/grants"
)

// TestGitForgetsAWorktreeThatIsRemovedAsABranch, with its branch in Git. The other worktrees and branches stay.
func TestGitForgetsAWorktreeThatIsRemovedAsABranch(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	s := opened(t)
	git := func(args ...string) string {
		t.Helper()
		out, err := gitrepo.Run(t.Context(), s.dir, nil, args...)
		failing(err)
		return out
	}
	git("init", "-q", "-b", "main")
	git("config", "user.name", "Test")
	git("config", "user.email", "test@example.com")
	git("add", ".")
	git("commit", "-q", "-m", "first")
	s.record()
	_, err := s.grants.Allow(t.Context(), s.dir, []string{grants.Worktrees}, nil)
	failing(err)
	add := func(name string) {
		t.Helper()
		_, err := s.AddWorktree(t.Context(), user, branches.WorktreeParams{Dir: s.dir, Name: name})
		failing(err)
	}
	add("stays")
	state := func() string { return git("worktree", "list", "--porcelain") + git("branch", "--list") }
	before := state()
	add("other")
	if state() == before {
		t.Fatal("no worktree was added")
	}
	_, err = s.Remove(t.Context(), user, branches.OneParams{Where: s.where(), Name: "other"})
	failing(err)
	if got := state(); got != before {
		t.Errorf("Git has %s, before %s", got, before)
	}
}

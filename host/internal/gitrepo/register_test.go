package gitrepo_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/gitrepo"
)

// repo is a repository with the files of a list, all committed.
type repo struct {
	*testing.T
	dir string
}

func newRepo(t *testing.T, files ...string) *repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &repo{t, filepath.Join(top, "repo")}
	for _, name := range files {
		r.write(r.dir, name, name+"\n")
	}
	r.git(r.dir, "init", "-q", "-b", "main")
	r.git(r.dir, "add", ".")
	r.git(r.dir, "commit", "-q", "-m", "first")
	return r
}

func (r *repo) write(dir, name, text string) {
	r.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
}

func (r *repo) git(dir string, args ...string) string {
	r.Helper()
	out, err := gitrepo.Run(r.Context(), dir, []string{"GIT_ALLOW_PROTOCOL=file"}, append([]string{"-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "protocol.file.allow=always"}, args...)...)
	if err != nil {
		r.Fatalf("git %q: %v", args, err)
	}
	return out
}

// copied returns a copy of the repository's files, as a branch has them, that is registered as a worktree.
func (r *repo) copied(name string) string {
	r.Helper()
	path := filepath.Join(filepath.Dir(r.dir), name)
	if err := os.CopyFS(path, os.DirFS(r.dir)); err != nil {
		r.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(path, ".git")); err != nil {
		r.Fatal(err)
	}
	if branch, err := gitrepo.Register(r.Context(), r.dir, path, r.TempDir(), name); err != nil || branch != "worktree-"+name {
		r.Fatal(branch, err)
	}
	return path
}

func (r *repo) status(dir, want string) {
	r.Helper()
	if got := r.git(dir, "status", "--porcelain"); got != want {
		r.Errorf("Git has the changes %q in %s, want %q", got, dir, want)
	}
}

// TestAWorktreeOfASparseCheckoutIsSparse: files outside of it do not appear as deleted, and its settings are those of the original.
func TestAWorktreeOfASparseCheckoutIsSparse(t *testing.T) {
	r := newRepo(t, "a/f", "b/f", "c/ü f", "top")
	r.git(r.dir, "sparse-checkout", "set", "a")
	r.write(r.dir, "a/f", "changed\n")
	path := r.copied("w")
	r.status(path, "M a/f")
	if got := r.git(path, "sparse-checkout", "list"); got != "a" {
		t.Errorf("the sparse checkout is %q", got)
	}
	r.git(path, "commit", "-qam", "second")
	if got := r.git(path, "diff", "--name-only", "main", "HEAD"); got != "a/f" {
		t.Errorf("the commit changes %q", got)
	}
	r.git(path, "sparse-checkout", "disable")
	if _, err := os.Stat(filepath.Join(path, "b", "f")); err != nil {
		t.Error(err)
	}
}

// TestAWorktreeHasTheMarksOfTheIndex, so that a local change of a marked file is not committed.
func TestAWorktreeHasTheMarksOfTheIndex(t *testing.T) {
	r := newRepo(t, "conf", "assumed", "both", "other")
	r.git(r.dir, "update-index", "--skip-worktree", "conf", "both")
	r.git(r.dir, "update-index", "--assume-unchanged", "assumed", "both")
	for _, name := range []string{"conf", "assumed", "both", "other", "staged"} {
		r.write(r.dir, name, "local\n")
	}
	r.git(r.dir, "add", "staged")
	r.git(r.dir, "update-index", "--skip-worktree", "staged") // what is checked out lacks it
	path := r.copied("w")
	r.status(path, "M other\n?? staged")
	if got := r.git(path, "ls-files", "-v"); got != "h assumed\ns both\nS conf\nH other" {
		t.Errorf("the index has %q", got)
	}
}

// TestGitWorksInAWorktreeWithSubmodules, and in the submodules, whose files are those of the original.
func TestGitWorksInAWorktreeWithSubmodules(t *testing.T) {
	inner, lib := newRepo(t, "deep"), newRepo(t, "code")
	lib.git(lib.dir, "submodule", "add", "-q", inner.dir, "in ner")
	lib.git(lib.dir, "commit", "-qm", "inner")
	r := newRepo(t, "a")
	r.git(r.dir, "submodule", "add", "-q", lib.dir, "vendor/lib")
	r.git(r.dir, "submodule", "add", "-q", inner.dir, "empty")
	r.git(r.dir, "submodule", "update", "-q", "--init", "--recursive")
	r.git(r.dir, "commit", "-qm", "submodule")
	r.git(r.dir, "submodule", "deinit", "-q", "empty")
	r.write(r.dir, "vendor/lib/code", "local\n")
	path := r.copied("w")
	sub := filepath.Join(path, "vendor", "lib")
	r.status(path, "M vendor/lib")
	r.status(sub, "M code")
	r.status(filepath.Join(sub, "in ner"), "")
	r.git(path, "submodule", "update", "-q", "--init", "--recursive")
	r.git(sub, "commit", "-qam", "in the worktree")
	r.git(path, "commit", "-qam", "both")
	r.status(path, "")
	r.status(r.dir, "M vendor/lib")
	if got := r.git(filepath.Join(r.dir, "vendor/lib"), "log", "-1", "--format=%s"); got != "inner" {
		t.Errorf("the submodule of the original is at %q", got)
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := gitrepo.Unregister(t.Context(), r.dir, path, "worktree-w"); err != nil {
		t.Fatal(err)
	}
	if got := r.git(r.dir, "worktree", "list"); strings.Contains(got, "\n") {
		t.Errorf("Git has the worktrees %s", got)
	}
	r.git(r.dir, "submodule", "update", "-q", "--recursive")
}

// A new worktree changes no other one: one that is broken prevents nothing, and in a copy of a repository those of the first stay its own.
func TestOtherWorktreesStayAsTheyAre(t *testing.T) {
	r := newRepo(t, "a")
	other := filepath.Join(filepath.Dir(r.dir), "other")
	r.git(r.dir, "worktree", "add", "-q", other)
	copied := &repo{t, filepath.Join(filepath.Dir(r.dir), "copied")}
	if err := os.CopyFS(copied.dir, os.DirFS(r.dir)); err != nil {
		t.Fatal(err)
	}
	copied.copied("of-the-copy")
	if got := r.git(other, "rev-parse", "--path-format=absolute", "--git-common-dir"); got != filepath.Join(r.dir, ".git") {
		t.Errorf("a worktree of the first repository belongs to %s", got)
	}
	if err := os.Remove(filepath.Join(other, ".git")); err != nil {
		t.Fatal(err)
	}
	r.write(other, ".git/odd", "")
	path := r.copied("beside-a-broken-one")
	r.status(path, "")
	if list := r.git(r.dir, "worktree", "list", "--porcelain"); !strings.Contains(list, "worktree "+path+"\n") {
		t.Errorf("the worktrees are %s", list)
	}
}

package branches

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
)

// What the user settled in an apply is no conflict again. Later work in the branch is merged, also into the same file.
func TestWhatWasAppliedIsNoConflictAgain(t *testing.T) {
	w := newWorld(t, "")
	b := w.branch("other-way", "")
	in := func(name string) string { return filepath.Join(b.Workspace, name) }
	put(t, in("cart.js"), "branch\ntwo\nthree\nfour\nfive\n")
	w.write("cart.js", "original\ntwo\nthree\nfour\nfive\n")
	w.run("branch", "apply", "other-way", "--yes", "--conflicts", "mark")
	w.write("cart.js", "both\ntwo\nthree\nfour\nfive\n")
	put(t, in("new.js"), "new\n")
	put(t, in("cart.js"), "branch\ntwo\nthree\nfour\nFIVE\n")
	w.run("branch", "apply", "other-way", "--yes")
	w.has(filepath.Join(w.project, "new.js"), "new\n")
	w.has(filepath.Join(w.project, "cart.js"), "both\ntwo\nthree\nfour\nFIVE\n")
	// A state from before the apply is one without it.
	w.run("timeline", "restore", "m1", "--yes")
	w.has(filepath.Join(w.project, "cart.js"), "one\ntwo\nthree\nfour\nfive\n")
	w.write("cart.js", "another\ntwo\nthree\nfour\nfive\n")
	if r := w.try("branch", "apply", "other-way", "--yes"); r.Code == 0 || !strings.Contains(r.Err, "both changed the same lines") {
		t.Errorf("after a restore: %+v", r)
	}
}

// A directory that became a file, or a file that became a directory, is a conflict where the original has more in its place.
func TestAChangeOfKindIsAConflictWhereBothChanged(t *testing.T) {
	for side, want := range map[string]map[string]string{
		"":         nil,
		"mark":     nil,
		"original": {"dir/old.js": "old\n", "dir/new.js": "of the original\n", "file": "edited\n", "more.js": "more\n"},
		"branch":   {"dir": "a file\n", "file/in.js": "in\n", "more.js": "more\n"},
	} {
		t.Run(side, func(t *testing.T) {
			w := newWorld(t, "")
			if err := os.Mkdir(filepath.Join(w.project, "dir"), 0o700); err != nil {
				t.Fatal(err)
			}
			w.write("dir/old.js", "old\n")
			w.write("file", "file\n")
			b := w.branch("other-way", "")
			in := func(name string) string { return filepath.Join(b.Workspace, name) }
			for _, name := range []string{"dir", "file"} {
				if err := os.RemoveAll(in(name)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Mkdir(in("file"), 0o700); err != nil {
				t.Fatal(err)
			}
			put(t, in("file/in.js"), "in\n")
			put(t, in("dir"), "a file\n")
			put(t, in("more.js"), "more\n")
			w.write("dir/new.js", "of the original\n")
			w.write("file", "edited\n")
			r := w.try("branch", "apply", "other-way", "--yes", "--conflicts", side)
			if want == nil {
				if r.Code == 0 || !strings.Contains(r.Err, "nothing was applied: 2 files have conflicts") || side == "mark" != strings.Contains(r.Err, "These cannot be marked: use --conflicts original or branch.") {
					t.Errorf("%+v", r)
				}
				return
			}
			if r.Code != 0 || !strings.Contains(r.Out, "the original has files of its own; that of the "+side+" is taken") {
				t.Errorf("%+v", r)
			}
			for name, text := range want {
				w.has(filepath.Join(w.project, name), text)
			}
		})
	}
}

// A branch of a branch can be applied from the branch that it comes from.
func TestABranchOfABranchIsAppliedInTheBranch(t *testing.T) {
	w := newWorld(t, "")
	first := w.branch("first", "")
	ran := w.RunIn(first.Workspace, "timeline", "session-branch", "--moment", "now", "--name", "second", "--json")
	var second answers.Branched
	if err := json.Unmarshal([]byte(ran.Out), &second); err != nil {
		t.Fatalf("%v: %+v", err, ran)
	}
	put(t, filepath.Join(second.Workspace, "new.js"), "new\n")
	if r := w.RunIn(first.Workspace, "branch", "apply", "second", "--yes"); r.Code != 0 {
		t.Errorf("%+v", r)
	}
	w.has(filepath.Join(first.Workspace, "new.js"), "new\n")
}

// A repository with submodules is committed to without what is in them, and the answer says so, as it says that nothing was signed.
func TestACommitSaysWhatItLacks(t *testing.T) {
	w := newWorld(t, "")
	lib := t.TempDir()
	for _, args := range [][]string{{"init", "-q", lib}, {"-C", lib, "commit", "-q", "--allow-empty", "-m", "lib"}, {"-c", "protocol.file.allow=always", "submodule", "add", "-q", lib, "vendor/lib"}, {"commit", "-q", "-m", "a submodule"}, {"config", "commit.gpgsign", "true"}, {"tag", "taken"}} {
		w.git(args...)
	}
	module := w.git("rev-parse", "HEAD:vendor/lib")
	b := w.branch("taken", "")
	put(t, filepath.Join(b.Workspace, "cart.js"), "changed\n")
	put(t, filepath.Join(b.Workspace, "vendor/lib/in.js"), "of the submodule\n")
	if r := w.try("branch", "commit", "taken", "--as", "HEAD"); r.Code == 0 || !strings.Contains(r.Err, `"HEAD" cannot be the name of a branch in Git`) {
		t.Errorf("a branch HEAD: %+v", r)
	}
	var c branches.Committed
	w.json(&c, "branch", "commit", "taken", "-m", "made")
	if c.Files != 1 || c.Ref != "heads/taken" || !strings.Contains(c.Note, "repositories of their own: vendor/lib") || !strings.Contains(c.Note, "is not signed") {
		t.Errorf("%+v", c)
	}
	if got := w.git("rev-parse", c.Ref+":vendor/lib"); got != module {
		t.Errorf("the submodule is at %s, before %s", got, module)
	}
	if got := w.git("show", c.Ref+":cart.js"); got != "changed" {
		t.Errorf("cart.js is %q", got)
	}
}

// Git finds no repository above a branch: it would be that of the original.
func TestGitInABranchIsNotThatAboveIt(t *testing.T) {
	top := t.TempDir()
	w := newWorldIn(t, filepath.Join(top, "part"), "")
	if err := os.RemoveAll(filepath.Join(w.project, ".git")); err != nil {
		t.Fatal(err)
	}
	w.git("init", "-q", top)
	w.edited("toolu_1")
	b := w.branch("other-way", "run: git rev-parse --show-toplevel 2>&1")
	w.ended()
	if log, _ := os.ReadFile(b.Agent.Log); !strings.Contains(string(log), "not a git repository") {
		t.Errorf("for the agent, Git is in %s", log)
	}
	if r := w.try("branch", "run", "other-way", "--", "git", "rev-parse", "--show-toplevel"); r.Code != 128 || !strings.Contains(r.Err, "not a git repository") {
		t.Errorf("for a command: %+v", r)
	}
}

// A commit keeps what the branch lacks: excluded and denied files, those that Git hides, and repositories in the project.
func TestACommitKeepsWhatTheBranchLacks(t *testing.T) {
	w := newWorld(t, "")
	for _, dir := range []string{"data", "private", "tool"} {
		if err := os.Mkdir(filepath.Join(w.project, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.write("data/d.bin", "data\n")
	w.write("private/p", "private\n")
	w.write("conf", "of all\n")
	w.write(".tidemark.toml", "[files]\nexclude = [\"data/\"]\n")
	w.git("add", ".")
	w.git("commit", "-q", "-m", "second")
	w.git("update-index", "--skip-worktree", "conf")
	w.write("conf", "of this machine\n")
	w.git("init", "-q", "tool")
	w.git("-C", "tool", "commit", "-q", "--allow-empty", "-m", "tool")
	w.run("project", "deny", filepath.Join(w.project, "private"))
	w.run("timeline", "fs-snapshot", "add")
	b := w.branch("other-way", "")
	put(t, filepath.Join(b.Workspace, "cart.js"), "changed\n")
	if err := os.Remove(filepath.Join(b.Workspace, "old.js")); err != nil {
		t.Fatal(err)
	}
	w.run("branch", "commit", "other-way", "-m", "made")
	if got := w.git("diff", "--name-status", "HEAD", "other-way"); got != "M\tcart.js\nD\told.js" {
		t.Errorf("the commit has %q", got)
	}
}

// The author of a commit is whom the repository names, whatever commit the daemon was started by.
func TestACommitIsOfWhomTheRepositoryNames(t *testing.T) {
	w := newWorld(t, "")
	w.git("config", "user.name", "The User")
	w.git("config", "user.email", "user@example.com")
	w.run("stop")
	for name, value := range map[string]string{"GIT_AUTHOR_NAME": "Another", "GIT_AUTHOR_EMAIL": "a@b", "GIT_AUTHOR_DATE": "2020-01-01T00:00:00", "GIT_COMMITTER_DATE": "2020-01-01T00:00:00"} {
		t.Setenv(name, value)
	}
	b := w.branch("other-way", "")
	put(t, filepath.Join(b.Workspace, "cart.js"), "changed\n")
	w.run("branch", "commit", "other-way", "-m", "made")
	if got := w.git("log", "-1", "--format=%an %ae %ad %cd", "--date=format:%Y", "other-way"); !strings.HasPrefix(got, "The User user@example.com ") || strings.Contains(got, "2020") {
		t.Errorf("the commit is of %s", got)
	}
}

// What a branch of a worktree has is committed after what the worktree had checked out.
func TestACommitOfABranchOfAWorktreeFollowsIt(t *testing.T) {
	w := newWorld(t, "")
	tree := filepath.Join(t.TempDir(), "tree")
	w.git("worktree", "add", "-q", tree)
	w.git("-C", tree, "commit", "-q", "--allow-empty", "-m", "in the worktree")
	w.run("project", "allow", tree)
	if r := w.RunIn(tree, "session", "start"); r.Code != 0 {
		t.Fatal(r.Err)
	}
	var b answers.Branched
	if r := w.RunIn(tree, "timeline", "session-branch", "--moment", "now", "--name", "other-way", "--json"); json.Unmarshal([]byte(r.Out), &b) != nil {
		t.Fatal(r)
	}
	put(t, filepath.Join(b.Workspace, "cart.js"), "changed\n")
	if r := w.RunIn(tree, "branch", "commit", "other-way", "-m", "made"); r.Code != 0 {
		t.Fatal(r.Err)
	}
	if got := w.git("log", "-2", "--format=%s", "other-way"); got != "made\nin the worktree" {
		t.Errorf("the commits are %q", got)
	}
}

// A plan that is not the present one any more is not carried out: the present one is shown, and asked about.
func TestOnlyThePlanThatWasShownIsApplied(t *testing.T) {
	w := newWorld(t, "")
	b := w.branch("other-way", "")
	put(t, filepath.Join(b.Workspace, "new.js"), "new\n")
	cmd := w.Command("branch", "apply", "other-way")
	cmd.Dir = w.project
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	shown := bufio.NewReader(out)
	said := ""
	until := func(text string) {
		t.Helper()
		for !strings.Contains(said, text) {
			c, err := shown.ReadByte()
			if err != nil {
				t.Fatalf("%v: %q is not in %q", err, text, said)
			}
			said += string(c)
		}
	}
	until("new.js")
	if err := os.Remove(filepath.Join(b.Workspace, "old.js")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, "y\n"); err != nil {
		t.Fatal(err)
	}
	until("old.js")
	w.has(filepath.Join(w.project, "old.js"), "old\n")
	if _, err := io.WriteString(in, "y\n"); err != nil {
		t.Fatal(err)
	}
	until("Applied 2 changes")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// What the branch has behind a link of the original is a conflict: it is another file there.
func TestNothingIsAppliedBehindALink(t *testing.T) {
	w := newWorld(t, "")
	if err := os.Mkdir(filepath.Join(w.project, "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.write("dir/x", "x\n")
	b := w.branch("other-way", "")
	put(t, filepath.Join(b.Workspace, "dir/x"), "changed\n")
	if err := os.Rename(filepath.Join(w.project, "dir"), filepath.Join(w.project, "moved")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("moved", filepath.Join(w.project, "dir")); err != nil {
		t.Skip(err)
	}
	for conflicts, want := range map[string]string{"": "the original deleted it", "branch": "the original has no directory at dir"} {
		if r := w.try("branch", "apply", "other-way", "--yes", "--conflicts", conflicts); r.Code == 0 || !strings.Contains(r.Err, want) {
			t.Errorf("%q: %+v", conflicts, r)
		}
	}
	w.run("branch", "apply", "other-way", "--yes", "--conflicts", "original")
	w.has(filepath.Join(w.project, "moved/x"), "x\n")
	// In the branch, the directory is a link now.
	if err := os.RemoveAll(filepath.Join(b.Workspace, "dir")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..", filepath.Join(b.Workspace, "dir")); err != nil {
		t.Fatal(err)
	}
	if r := w.try("branch", "apply", "other-way", "--yes"); r.Code == 0 || !strings.Contains(r.Err, "both changed it, and it is not text") {
		t.Errorf("a link in the branch: %+v", r)
	}
}

// Git in a worktree that a branch has in it does nothing to the original's.
func TestWorktreesInABranchAreNotThoseOfTheOriginal(t *testing.T) {
	w := newWorld(t, "")
	w.git("worktree", "add", "-q", ".claude/worktrees/one")
	w.run("timeline", "fs-snapshot", "add")
	b := w.branch("other-way", "")
	inside := filepath.Join(b.Workspace, ".claude/worktrees/one")
	w.has(filepath.Join(inside, "cart.js"), "one\ntwo\nthree\nfour\nfive\n")
	if r := w.try("branch", "run", "other-way", "--", "sh", "-c", "cd .claude/worktrees/one && git commit --allow-empty -qm lost"); r.Code != 128 || !strings.Contains(r.Err, "not a git repository") {
		t.Errorf("%+v", r)
	}
	put(t, filepath.Join(inside, "cart.js"), "changed\n")
	var plan branches.Applied
	w.json(&plan, "branch", "apply", "other-way")
	if len(plan.Steps) != 1 || plan.Steps[0].Path != ".claude/worktrees/one/cart.js" {
		t.Errorf("the plan is %+v", plan)
	}
	if got := w.git("-C", ".claude/worktrees/one", "log", "-1", "--format=%s"); got != "first" {
		t.Errorf("the worktree is at %q", got)
	}
}

// What is committed where a branch without a commit is checked out has no parent. Where that was checked out only later, its parent is
// what was checked out before.
func TestACommitWhereNoCommitIsCheckedOut(t *testing.T) {
	w := newWorld(t, "")
	first := w.git("rev-parse", "HEAD")
	b := w.branch("before", "")
	put(t, filepath.Join(b.Workspace, "cart.js"), "changed\n")
	w.git("checkout", "-q", "--orphan", "fresh")
	b = w.branch("after", "")
	put(t, filepath.Join(b.Workspace, "cart.js"), "changed\n")
	var c branches.Committed
	w.json(&c, "branch", "commit", "before")
	if c.Parent != first || c.Note != "" || c.Files != 1 {
		t.Errorf("a branch from before: %+v", c)
	}
	c = branches.Committed{}
	w.json(&c, "branch", "commit", "after")
	if c.Parent != "" || !strings.Contains(c.Note, "has no parent, because the branch that is checked out, fresh, has no commit yet") {
		t.Errorf("a branch from then: %+v", c)
	}
	var again branches.Committed
	w.json(&again, "branch", "commit", "after")
	if again != c {
		t.Errorf("a commit that is repeated is %+v, and was %+v", again, c)
	}
	if text := w.run("branch", "commit", "after"); !strings.Contains(text, "`git reset --soft after` begins") {
		t.Errorf("the answer is %s", text)
	}
	w.git("reset", "--soft", "after")
	w.has(filepath.Join(w.project, "cart.js"), "one\ntwo\nthree\nfour\nfive\n")
	if got := w.git("log", "--format=%H", "fresh"); got != c.Commit {
		t.Errorf("the branch has the commits %s", got)
	}
	w.run("branch", "rm", "before")
	if text := w.run("branch", "rm", "before"); !strings.Contains(text, "before was removed before, at ") || !strings.Contains(text, "brings it back") {
		t.Errorf("a removal that is repeated says %s", text)
	}
}

// A commit of a branch is undone, and answered again, in the directory that the project was moved to.
func TestACommitIsUndoneAfterAMove(t *testing.T) {
	w := newWorldIn(t, filepath.Join(t.TempDir(), "old place"), "")
	b := w.branch("other-way", "")
	put(t, filepath.Join(b.Workspace, "cart.js"), "changed\n")
	var c, again branches.Committed
	w.json(&c, "branch", "commit", "other-way")
	w.run("stop")
	old := w.project
	w.project = filepath.Join(filepath.Dir(old), "new place é")
	if err := os.Rename(old, w.project); err != nil {
		t.Fatal(err)
	}
	w.run("project", "allow", "--moved-from", old, w.project)
	w.json(&again, "branch", "commit", "other-way")
	if again != c {
		t.Errorf("the commit is %+v, and was %+v", again, c)
	}
	w.run("timeline", "undo", c.Operation, "--yes")
	if got := w.git("branch", "--format=%(refname:short)"); got != "main" {
		t.Errorf("the branches are %q", got)
	}
}

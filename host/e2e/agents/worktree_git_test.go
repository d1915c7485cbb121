package agents

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/branches"
)

// worktree runs the hook by which Claude Code asks for a worktree, which must be a branch, and returns its directory.
func (w *world) worktree(name string) string {
	w.Helper()
	out := w.hook(map[string]any{"hook_event_name": "WorktreeCreate", "session_id": "x", "cwd": w.project, "name": name})
	dir, rest, _ := strings.Cut(out, "\n")
	if rest != "" || !filepath.IsAbs(dir) || strings.Contains(dir, ".claude") {
		w.Fatalf("the hook prints %q", out)
	}
	return dir
}

// A project of so many files that its branches are mounted, where the system can do that: they are worktrees of Git all the same.
func TestAWorktreeOfALargeProjectIsABranch(t *testing.T) {
	w := newWorld(t)
	w.repository()
	for i := range 2500 {
		if err := os.WriteFile(filepath.Join(w.project, "node_modules", fmt.Sprint(i)), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.tidemark("project", "allow", "--grant", "worktrees", w.project)
	dir := w.worktree("t1")
	for name, want := range map[string]string{".env": "WORD=unnamed-plain-word\n", "node_modules/2499": "x", "a.js": "let a = 3\n"} {
		if got := w.content(dir, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := w.git(dir, "status", "--porcelain"); got != "M a.js" {
		t.Errorf("Git has the changes %q", got)
	}
	w.git(dir, "commit", "-qam", "second")
	if got := w.git(w.project, "log", "-1", "--format=%s", "worktree-t1"); got != "second" {
		t.Errorf("the branch is at %q", got)
	}
	if again := w.worktree("t1"); again != dir {
		t.Errorf("the same name is at %s, then at %s", dir, again)
	}
	w.removed(dir)
	if text := w.git(w.project, "worktree", "list"); strings.Contains(text, dir) {
		t.Errorf("the worktrees are %s", text)
	}
}

// Names that Claude Code keeps apart are worktrees that differ, and a name that is the ID of another branch is a worktree, too.
func TestWorktreesOfNamesThatDiffer(t *testing.T) {
	w := newWorld(t)
	w.repository()
	w.tidemark("project", "allow", "--grant", "worktrees", w.project)
	of := map[string]string{}
	add := func(name string) {
		dir := w.worktree(name)
		if other, ok := of[dir]; ok {
			t.Errorf("%q and %q are at %s", name, other, dir)
		}
		of[dir] = name
	}
	for _, name := range []string{"v1.2", "v1-2", "Foo", "foo", "release/2", "release-2"} {
		add(name)
	}
	var list branches.List
	if err := json.Unmarshal([]byte(w.tidemark("branch", "list", "--json")), &list); err != nil || len(list.Branches) != len(of) {
		t.Fatal(err, list.Branches)
	}
	for _, b := range list.Branches {
		if b.Name == "foo" {
			add(b.ID)
		}
	}
}

// A worktree whose directory was removed by hand is made again, once, and the hook of its removal has Git and Tidemark forget it.
func TestAWorktreeThatWasRemovedByHand(t *testing.T) {
	w := newWorld(t)
	w.repository()
	w.tidemark("project", "allow", "--grant", "worktrees", w.project)
	known := func(dir string, want int) {
		t.Helper()
		if text := w.git(w.project, "worktree", "list"); strings.Count(text, dir+" ") != want {
			t.Errorf("the worktrees are %s, want %d at %s", text, want, dir)
		}
	}
	listed := func(want int) {
		t.Helper()
		var list branches.List
		if err := json.Unmarshal([]byte(w.tidemark("branch", "list", "--json")), &list); err != nil || len(list.Branches) != want {
			t.Errorf("the branches are %+v, %v", list.Branches, err)
		}
	}
	gone := func(dir string) {
		t.Helper()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	dir := w.worktree("w6")
	gone(dir)
	if again := w.worktree("w6"); again != dir {
		t.Errorf("it is at %s, then at %s", dir, again)
	}
	known(dir, 1)
	listed(1)
	w.git(w.project, "worktree", "prune")
	w.git(dir, "status")
	gone(dir)
	w.removed(dir)
	known(dir, 0)
	listed(0)
	w.tidemark("stop")
	create := func() string {
		out := w.hook(map[string]any{"hook_event_name": "WorktreeCreate", "session_id": "x", "cwd": w.project, "name": "w7"})
		path, _, _ := strings.Cut(out, "\n")
		return path
	}
	dir = create()
	gone(dir)
	if again := create(); again != dir || !exists(dir) {
		t.Errorf("it is at %q, then at %q", dir, again)
	}
	known(dir, 1)
	gone(dir)
	w.removed(dir)
	known(dir, 0)
	if got := w.git(w.project, "branch"); got != "* main" {
		t.Errorf("the branches of Git are %q", got)
	}
}

package agents

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/gitrepo"
	"tidemark.dev/tidemark/host/testing/modelserver"
)

// git runs Git in a directory.
func (w *world) git(dir string, args ...string) string {
	w.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(w.Context()), "git", append([]string{"-c", "user.name=Test", "-c", "user.email=test@example.com"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository makes the project a repository whose .env and node_modules are ignored, with a change that is not committed.
func (w *world) repository() {
	w.Helper()
	resolved, err := filepath.EvalSymlinks(w.project)
	if err != nil {
		w.Fatal(err)
	}
	w.project = resolved
	w.write(".gitignore", ".env\nnode_modules\n")
	w.git(w.project, "init", "-q", "-b", "main")
	w.git(w.project, "add", ".")
	w.git(w.project, "commit", "-q", "-m", "first")
	if err := os.MkdirAll(filepath.Join(w.project, "node_modules", "lib"), 0o700); err != nil {
		w.Fatal(err)
	}
	w.write("node_modules/lib/index.js", "lib\n")
	w.write("a.js", "let a = 3\n")
}

var worktreeEvents = append([]string{"WorktreeCreate", "WorktreeRemove"}, claudeEvents...)

// inWorktree runs Claude Code in a worktree of its own, and returns what its model was asked.
func (w *world) inWorktree(name string, turns ...modelserver.Turn) string {
	w.Helper()
	server := modelserver.Start(w.T, turns...)
	config := filepath.Join(w.home, "claude")
	if err := os.MkdirAll(config, 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "settings.json"), []byte(w.settings(worktreeEvents...)), 0o600); err != nil {
		w.Fatal(err)
	}
	args := []string{"-p", "Work", "--permission-mode", "acceptEdits", "--allowedTools", "Bash,Edit,Write,Read,Agent"}
	if name != "" {
		args = append(args, "--worktree", name)
	}
	w.run(claudeEnv(config, server), program(w.T, "claude"), args...)
	if server.Served() != len(turns) {
		w.Fatalf("Claude Code asked for %d of %d turns", server.Served(), len(turns))
	}
	return strings.Join(server.Asked(), "\n")
}

const look = "pwd > pwd.txt; cat .env node_modules/lib/index.js a.js > seen.txt; git status --porcelain > status.txt; git branch --show-current > branch.txt; true"

func (w *world) content(path ...string) string {
	data, _ := os.ReadFile(filepath.Join(path...))
	return string(data)
}

// A worktree of the real Claude Code is a branch: it has the files of the moment, those that Git ignores, too.
func TestAWorktreeOfClaudeCodeIsABranch(t *testing.T) {
	w := newWorld(t)
	w.repository()
	w.tidemark("project", "allow", "--grant", "worktrees", w.project)
	w.inWorktree("Feature.X",
		modelserver.Turn{Calls: []modelserver.Call{call("toolu_1", "Bash", map[string]any{"command": look, "description": "look"})}},
		modelserver.Turn{Text: "Done."},
	)
	var list branches.List
	if err := json.Unmarshal([]byte(w.tidemark("branch", "list", "--json")), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Branches) != 1 || list.Branches[0].Name != gitrepo.Slug("Feature.X") {
		t.Fatalf("the branches are %+v", list.Branches)
	}
	dir := list.Branches[0].Workspace
	for name, want := range map[string]string{
		"pwd.txt": dir + "\n", "seen.txt": "WORD=unnamed-plain-word\nlib\nlet a = 3\n", "branch.txt": "worktree-" + gitrepo.Slug("Feature.X") + "\n",
		"status.txt": " M a.js\n?? pwd.txt\n?? seen.txt\n?? status.txt\n",
	} {
		if got := w.content(dir, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if text := w.git(w.project, "worktree", "list"); !strings.Contains(text, dir+" ") || !strings.Contains(text, "[worktree-"+gitrepo.Slug("Feature.X")+"]") || strings.Contains(text, "prunable") {
		t.Errorf("the worktrees are %s", text)
	}
	if got := w.git(w.project, "status", "--porcelain"); got != "M a.js" {
		t.Errorf("the original has changed: %q", got)
	}
	var c branches.Comparison
	if err := json.Unmarshal([]byte(w.tidemark("branch", "compare", gitrepo.Slug("Feature.X"), "--json")), &c); err != nil {
		t.Fatal(err)
	}
	if len(c.A.Files) != 4 || c.A.Calls != 1 {
		t.Errorf("the comparison is %+v", c.A)
	}

	// A session of a worktree has a line about it, which its copy must not have: with it, Claude Code would go there.
	original := w.project
	w.project = dir
	moment := w.momentOf("toolu_1")
	server := modelserver.Start(t, modelserver.Turn{Calls: []modelserver.Call{call("toolu_b", "Bash", map[string]any{"command": "pwd > where.txt", "description": "look"})}}, modelserver.Turn{Text: "Done."})
	b := w.branch(claudeEnv(filepath.Join(w.home, "claude"), server), "--moment", moment, "--name", "way", "--message", "Do it differently")
	if b.Agent.Method != "transcript" || w.content(b.Workspace, "where.txt") != b.Workspace+"\n" {
		t.Errorf("the agent is %+v, in %q", b.Agent, w.content(b.Workspace, "where.txt"))
	}
	w.tidemark("branch", "rm", "way", "--force")
	w.project = original

	// Claude Code continues in a worktree that it knows.
	w.inWorktree("Feature.X", modelserver.Turn{Calls: []modelserver.Call{call("toolu_2", "Bash", map[string]any{"command": "echo again > again.txt", "description": "again"})}}, modelserver.Turn{Text: "Done."})
	if got := w.content(dir, "again.txt"); got != "again\n" {
		t.Errorf("again.txt is %q", got)
	}
	w.removed(dir)
	if text := w.git(w.project, "worktree", "list"); strings.Contains(text, dir) {
		t.Errorf("the worktrees are %s", text)
	}
	if got := w.git(w.project, "branch"); got != "* main" {
		t.Errorf("the branches of Git are %q", got)
	}
}

// removed runs the hook by which Claude Code removes a worktree.
func (w *world) removed(dir string) {
	w.Helper()
	if out := w.hook(map[string]any{"hook_event_name": "WorktreeRemove", "session_id": "x", "cwd": w.project, "worktree_path": dir}); out != "" {
		w.Errorf("the hook prints %s", out)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		w.Errorf("%s is still there: %v", dir, err)
	}
}

// hook runs `tidemark hook` with an input, and returns what it prints.
func (w *world) hook(input map[string]any) string {
	w.Helper()
	data, _ := json.Marshal(input)
	cmd := w.Command("hook")
	cmd.Dir, cmd.Stdin = w.project, strings.NewReader(string(data))
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("the hook exits with %v: %s", err, out)
	}
	return string(out)
}

// A subagent whose worktree has no change at its end leaves nothing behind.
func TestASubagentOfClaudeCodeWorksInABranch(t *testing.T) {
	w := newWorld(t)
	w.repository()
	w.tidemark("project", "allow", "--grant", "worktrees", w.project)
	w.inWorktree("",
		modelserver.Turn{Calls: []modelserver.Call{call("toolu_1", "Agent", map[string]any{"description": "look", "prompt": "look", "subagent_type": "general-purpose", "isolation": "worktree", "run_in_background": false})}},
		modelserver.Turn{Calls: []modelserver.Call{call("toolu_2", "Bash", map[string]any{"command": "pwd > " + filepath.Join(w.home, "pwd.txt") + "; cat .env > " + filepath.Join(w.home, "seen.txt"), "description": "look"})}},
		modelserver.Turn{Text: "Looked."},
		modelserver.Turn{Text: "Done."},
	)
	if got := w.content(w.home, "seen.txt"); got != "WORD=unnamed-plain-word\n" {
		t.Errorf("the subagent saw %q", got)
	}
	dir := strings.TrimSpace(w.content(w.home, "pwd.txt"))
	if dir == w.project || dir == "" {
		t.Errorf("the subagent worked in %q", dir)
	}
	hooks := w.content(w.hooks)
	t.Logf("WorktreeRemove was called: %t; the directory is there: %v", strings.Contains(hooks, `"WorktreeRemove"`), exists(dir))
	t.Log(w.git(w.project, "worktree", "list"))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Without a daemon, Claude Code gets a worktree of Git alone, and the user reads what is missing.
func TestAWorktreeWithoutADaemon(t *testing.T) {
	w := newWorld(t)
	w.repository()
	w.write(".worktreeinclude", ".env\n")
	w.tidemark("project", "allow", "--grant", "worktrees", w.project)
	w.tidemark("stop")
	w.inWorktree("feature",
		modelserver.Turn{Calls: []modelserver.Call{call("toolu_1", "Bash", map[string]any{"command": look, "description": "look"})}},
		modelserver.Turn{Text: "Done."},
	)
	dir := filepath.Join(w.project, ".claude", "worktrees", "feature")
	for name, want := range map[string]string{"pwd.txt": dir + "\n", "seen.txt": "WORD=unnamed-plain-word\nlet a = 1\nlet b = 2\n", "branch.txt": "worktree-feature\n"} {
		if got := w.content(dir, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	out := w.hook(map[string]any{"hook_event_name": "WorktreeCreate", "session_id": "x", "cwd": w.project, "name": "other"})
	if want := filepath.Join(w.project, ".claude", "worktrees", "other") + "\n"; !strings.HasPrefix(out, want) || !strings.Contains(out, "no daemon is running") {
		t.Errorf("the hook prints %q", out)
	}
	if out := w.hook(map[string]any{"hook_event_name": "WorktreeRemove", "session_id": "x", "cwd": w.project, "worktree_path": dir}); !strings.Contains(out, "was not removed") || !exists(dir) {
		t.Errorf("a worktree with changes: %q", out)
	}
	w.removed(filepath.Join(w.project, ".claude", "worktrees", "other"))
}

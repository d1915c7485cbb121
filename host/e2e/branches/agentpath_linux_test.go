package branches

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/subprocess"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// seen is what the scripted agent does in a branch: it looks, writes, and reports an edit as Claude Code does.
func (w *world) seen() string {
	hook := `{"hook_event_name":"PostToolUse","session_id":"22222222-2222-4222-8222-222222222222","cwd":"'$PWD'","tool_name":"Edit","tool_use_id":"toolu_b","tool_input":{"file_path":"'$PWD'/cart.js"},"transcript_path":"'$CLAUDE_CONFIG_DIR'/projects/x/22222222-2222-4222-8222-222222222222.jsonl"}`
	return fmt.Sprintf(`run: pwd > where.txt; echo changed > $PWD/cart.js; echo '%s' | %q hook --debug --timeout 20s 2> hook.txt; %q timeline list --json > list.json; %q serve 2> serve.txt; echo $? >> serve.txt; cd .. && cd "$OLDPWD"; touch done.txt; `, hook, w.Binary, w.Binary, w.Binary)
}

// likeOriginal checks what the agent of a branch saw at the path of the original.
func (w *world) likeOriginal(dir, id string) {
	w.Helper()
	if err := testbed.Eventually(w.Context(), func() (bool, error) {
		_, err := os.Stat(filepath.Join(dir, "done.txt"))
		return err == nil, ignoreMissing(err)
	}); err != nil {
		w.Fatal("the agent does not finish: ", err)
	}
	w.has(filepath.Join(dir, "where.txt"), w.project+"\n")
	w.has(filepath.Join(dir, "cart.js"), "changed\n")
	hook, _ := os.ReadFile(filepath.Join(dir, "hook.txt"))
	if !strings.Contains(string(hook), " of "+id+" was recorded") && !strings.Contains(string(hook), "is still being recorded") {
		w.Errorf("the hook says %s, want a moment of %s", hook, id)
	}
	var list struct {
		ID        string `json:"sessionId"`
		Workspace string `json:"workspace"`
	}
	if data, err := os.ReadFile(filepath.Join(dir, "list.json")); err != nil || json.Unmarshal(data, &list) != nil || list.ID != id || list.Workspace != dir {
		w.Errorf("the timeline of the agent is %+v, want that of %s; %v", list, id, err)
	}
	if serve, _ := os.ReadFile(filepath.Join(dir, "serve.txt")); !strings.Contains(string(serve), "Start it in another terminal.\n1\n") {
		w.Errorf("a daemon in the branch: %s", serve)
	}
}

// An agent sees its branch at the path of the original, where the user wants that. What it does is that of the branch.
func TestAnAgentSeesItsBranchAtThePathOfTheOriginal(t *testing.T) {
	t.Setenv("CLAUDE_CONFIG_DIR", t.TempDir())
	w := newWorld(t, `agent_path = "original"`)
	w.edited("toolu_1")
	before := treetest.Read(t, w.project)
	b := w.branch("other-way", w.seen()+"sleep 600 & sleep 600")
	t.Cleanup(func() { w.try("branch", "rm", "other-way", "--force") })
	if b.Agent == nil || b.Agent.Problem != "" || b.Agent.Path != w.project || b.Agent.PathWhy != "" {
		t.Fatalf("the agent is %+v", b.Agent)
	}
	w.likeOriginal(b.Workspace, b.ID)
	if after := treetest.Read(t, w.project); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the original has changed: %q, before %q", after, before)
	}
	arguments, _ := os.ReadFile(filepath.Join(b.Workspace, "arguments.txt"))
	if !strings.Contains(string(arguments), "At "+w.project+", you and what you start see a copy of it, which others have at "+b.Workspace) {
		t.Errorf("the arguments are %s", arguments)
	}
	running := w.list()[0].Running
	if len(running) < 4 || !slices.ContainsFunc(running, func(p subprocess.Process) bool { return p.Name == "sleep" }) || !slices.ContainsFunc(running, func(p subprocess.Process) bool { return p.PID == b.Agent.PID }) {
		t.Errorf("in the branch runs %+v", running)
	}
	if r := w.try("branch", "rm", "other-way"); r.Code == 0 || !strings.Contains(r.Err, "sleep (process") {
		t.Errorf("it is removed while its agent runs: %+v", r)
	}
	if r := w.try("branch", "open", "other-way"); r.Code == 0 || !strings.Contains(r.Err, "already runs") {
		t.Errorf("open: %+v", r)
	}
	w.run("branch", "rm", "other-way", "--force")
	w.gone(b.Agent.PID)
	w.run("timeline", "undo", "--yes")
	var command branches.Command
	w.json(&command, "branch", "open", "other-way")
	if len(command.Line) < 5 || command.Line[1] != branches.InBranch {
		t.Fatalf("open runs %q", command.Line)
	}
	w.try("branch", "open", "other-way")
	w.has(filepath.Join(b.Workspace, "arguments.txt"), "--continue\n")
	if after := treetest.Read(t, w.project); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the original has changed: %q, before %q", after, before)
	}
}

// The flag decides for one branch.
func TestTheAgentOfOneBranchSeesItWhereTheUserSays(t *testing.T) {
	t.Setenv("CLAUDE_CONFIG_DIR", t.TempDir())
	w := newWorld(t, "")
	w.edited("toolu_1")
	args := func(name, path string) []string {
		return []string{"timeline", "session-branch", "--moment", "now", "--name", name, "--message", "run: pwd", "--agent-path", path}
	}
	for name, want := range map[string]string{"original": w.project, "branch": ""} {
		text := w.run(args(name, name)...)
		w.ended()
		one := w.list()[0]
		if want == "" {
			want = one.Workspace
		}
		w.has(one.Agent.Log, want+"\n")
		if one.Agent.Path != want || !strings.Contains(text, "sees the branch at "+want) {
			t.Errorf("%s: %+v\n%s", name, one.Agent, text)
		}
	}
	if r := w.try(args("odd", "elsewhere")...); r.Code == 0 || !strings.Contains(r.Err, `path is "elsewhere"; it must be original or branch`) {
		t.Errorf("another path: %+v", r)
	}
}

// In a part of a repository, Git would work on the original's repository. So its agents see their branch at its own path.
func TestAnAgentInAPartOfARepositorySeesTheBranchesOwnPath(t *testing.T) {
	t.Setenv("CLAUDE_CONFIG_DIR", t.TempDir())
	top := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", top).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w := newWorldIn(t, filepath.Join(top, "part"), `agent_path = "original"`)
	if err := os.RemoveAll(filepath.Join(w.project, ".git")); err != nil {
		t.Fatal(err)
	}
	w.edited("toolu_1")
	b := w.branch("other-way", "run: pwd")
	w.ended()
	w.has(b.Agent.Log, b.Workspace+"\n")
	if b.Agent.Path != b.Workspace || !strings.Contains(b.Agent.PathWhy, "in the Git repository "+top) {
		t.Errorf("the agent is %+v", b.Agent)
	}
}

func TestAnAgentInTmuxSeesItsBranchAtThePathOfTheOriginal(t *testing.T) {
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("tmux is not installed")
	}
	t.Setenv("CLAUDE_CONFIG_DIR", t.TempDir())
	t.Setenv("TMUX_TMPDIR", t.TempDir())
	t.Setenv("TMUX", "")
	t.Cleanup(func() { _ = exec.Command(tmux, "kill-server").Run() }) //nolint:noctx // the test has ended
	w := newWorld(t, "terminal = \"tmux\"\nagent_path = \"original\"")
	w.edited("toolu_1")
	before := treetest.Read(t, w.project)
	b := w.branch("other-way", w.seen()+"sleep 600")
	w.likeOriginal(b.Workspace, b.ID)
	if r := w.try("branch", "rm", "other-way"); r.Code == 0 || !strings.Contains(r.Err, "programs run in it") {
		t.Errorf("it is removed while its agent runs: %+v", r)
	}
	w.run("branch", "rm", "other-way", "--force")
	w.gone(b.Agent.PID)
	if after := treetest.Read(t, w.project); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the original has changed: %q, before %q", after, before)
	}
}

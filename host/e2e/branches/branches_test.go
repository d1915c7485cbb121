package branches

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark.dev/tidemark/host/internal/branches"
	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/testing/e2etest"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// world has a project, and an agent that is a shell script.
type world struct {
	*testing.T
	*e2etest.World
	project string
}

// scripted is an agent: its message is its last argument, and it runs what follows "run:" there.
const scripted = `#!/bin/sh
for last; do :; done
printf '%s\n' "$@" > arguments.txt
env | grep -E '^TIDEMARK_(BRANCH|PORT)' | sort > env.txt
eval "${last##*run:}"
`

func newWorld(t *testing.T, settings string) *world {
	t.Helper()
	return newWorldIn(t, t.TempDir(), settings)
}

// newWorldIn is newWorld with a directory for the project, which need not exist.
func newWorldIn(t *testing.T, project, settings string) *world {
	t.Helper()
	if err := os.MkdirAll(project, 0o700); err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, World: e2etest.EmptyWorld(t), project: project}
	if resolved, err := filepath.EvalSymlinks(w.project); err == nil {
		w.project = resolved
	}
	agent := filepath.Join(t.TempDir(), "agent.sh")
	if err := os.WriteFile(agent, []byte(scripted), 0o700); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("[branches]\n%s\n[branches.commands]\nclaude = [%q]\n", settings, agent)
	if err := os.WriteFile(filepath.Join(w.Home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	w.write("cart.js", "one\ntwo\nthree\nfour\nfive\n")
	w.write("old.js", "old\n")
	w.write(".env", "KEY=1\n")
	w.git("init", "-q", "-b", "main")
	w.write(".gitignore", ".env\narguments.txt\nenv.txt\n")
	w.git("add", ".")
	w.git("commit", "-q", "-m", "first")
	w.run("project", "allow", w.project)
	w.run("session", "start")
	return w
}

func (w *world) git(args ...string) string {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), "git", args...)
	cmd.Dir = w.project
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (w *world) write(name, text string) { w.Helper(); put(w.T, filepath.Join(w.project, name), text) }

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (w *world) has(path, want string) {
	w.Helper()
	if got, _ := os.ReadFile(path); string(got) != want {
		w.Errorf("%s is %q, want %q", path, got, want)
	}
}

func (w *world) run(args ...string) string {
	w.Helper()
	r := w.try(args...)
	if r.Code != 0 {
		w.Fatalf("%q exits with %d: %s", args, r.Code, r.Err)
	}
	return r.Out
}

// try runs `tidemark` as a user with an identity for Git.
func (w *world) try(args ...string) testbed.Ran {
	return w.RunIn(w.project, args...)
}

func (w *world) json(a any, args ...string) {
	w.Helper()
	if err := json.Unmarshal([]byte(w.run(append(args, "--json")...)), a); err != nil {
		w.Fatal(err)
	}
}

// edited reports an edit as a hook of Claude Code does.
func (w *world) edited(call string) {
	w.Helper()
	input, _ := json.Marshal(map[string]any{
		"hook_event_name": "PostToolUse", "session_id": "11111111-1111-4111-8111-111111111111", "cwd": w.project, "tool_name": "Edit", "tool_use_id": call,
		"tool_input": map[string]any{"file_path": filepath.Join(w.project, "cart.js")}, "transcript_path": filepath.Join(w.Home, "projects", "x", "11111111-1111-4111-8111-111111111111.jsonl"),
	})
	cmd := w.Command("hook", "--debug", "--timeout", "20s", "--patience", "8s")
	cmd.Dir, cmd.Stdin = w.project, strings.NewReader(string(input))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "was recorded") && !strings.Contains(string(out), "is still being recorded") {
		w.Fatalf("the hook: %v: %s", err, out)
	}
	if err := testbed.Eventually(w.Context(), func() (bool, error) { // a hook waits for no moment for long
		return strings.Contains(w.run("timeline", "list", "--json"), `"`+call+`"`), nil
	}); err != nil {
		w.Fatal("no moment of the edit: ", err)
	}
}

// branch starts a branch from now.
func (w *world) branch(name, message string) *answers.Branched {
	w.Helper()
	args := []string{"timeline", "session-branch", "--moment", "now", "--name", name}
	if message != "" {
		args = append(args, "--message", message)
	}
	var b answers.Branched
	r, want := w.try(append(args, "--json")...), 0
	err := json.Unmarshal([]byte(r.Out), &b)
	if b.Agent != nil && b.Agent.Problem != "" {
		want = 5 // its agent was not started
	}
	if err != nil || r.Code != want {
		w.Fatalf("%q exits with %d, want %d: %s", args, r.Code, want, r.Err)
	}
	return &b
}

func (w *world) list() []branches.Branch {
	w.Helper()
	var a branches.List
	w.json(&a, "branch", "list")
	return a.Branches
}

// ended waits until nothing runs in any branch.
func (w *world) ended() {
	w.Helper()
	if err := testbed.Eventually(w.Context(), func() (bool, error) {
		for _, b := range w.list() {
			if len(b.Running) > 0 {
				return false, nil
			}
		}
		return true, nil
	}); err != nil {
		w.Fatalf("%v: %+v", err, w.list())
	}
}

// pid returns the process of the daemon, which is started if there is none.
func (w *world) pid() int {
	w.Helper()
	var status struct {
		PID int `json:"pid"`
	}
	w.json(&status, "status")
	return status.PID
}

// gone waits until a process has ended.
func (w *world) gone(pid int) {
	w.Helper()
	if err := testbed.Eventually(w.Context(), func() (bool, error) {
		_, err := os.Stat(fmt.Sprintf("/proc/%d/cwd", pid))
		return err != nil, nil
	}); err != nil {
		w.Fatalf("process %d still runs: %v", pid, err)
	}
}

// An agent that did not start gets its message when the user opens the branch, and only the first time.
func TestAnAgentThatIsOpenedGetsItsMessageOnce(t *testing.T) {
	w := newWorld(t, "")
	w.edited("toolu_1")
	r := w.try("timeline", "session-branch", "--moment", "now", "--name", "other-way", "--agent", "codex", "--message", "do it", "--json")
	if r.Code != 5 || !strings.Contains(r.Out, "codex is not installed") {
		t.Skipf("codex is installed: %+v", r)
	}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "codex"), []byte("#!/bin/sh\necho \"$@\"; exit 7\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, c := range []struct {
		said string
		has  bool
	}{{"do it", true}, {"do it", false}, {"resume --last", true}} {
		if r := w.try("branch", "open", "other-way"); r.Code != 7 || strings.Contains(r.Out, c.said) != c.has {
			t.Errorf("%q is said: %t; %+v", c.said, !c.has, r)
		}
	}
	if text := w.run("branch", "list"); !strings.Contains(text, "codex has ended") {
		t.Errorf("the list is %s", text)
	}
}

func TestTheAgentOfAMomentStartsInItsBranch(t *testing.T) {
	w := newWorld(t, "")
	w.edited("toolu_1")
	before := treetest.Read(t, w.project)
	b := w.branch("other-way", "do it; run: echo changed > cart.js; pwd")
	if b.Agent == nil || b.Agent.Problem != "" || b.Agent.Method != "fresh" || b.Agent.Why == "" || b.Agent.Ports != 100 {
		t.Fatalf("the agent is %+v %s", b.Agent, b.Problem)
	}
	w.ended()
	w.has(filepath.Join(b.Workspace, "cart.js"), "changed\n")
	w.has(filepath.Join(b.Workspace, ".env"), "KEY=1\n")
	w.has(filepath.Join(b.Workspace, "env.txt"), "TIDEMARK_BRANCH=other-way\nTIDEMARK_PORT_OFFSET=100\n")
	w.has(b.Agent.Log, b.Workspace+"\n")
	arguments, _ := os.ReadFile(filepath.Join(b.Workspace, "arguments.txt"))
	for _, want := range []string{"--print\n", "without the conversation before it", "You work in " + b.Workspace, "do it"} {
		if !strings.Contains(string(arguments), want) {
			t.Errorf("the arguments lack %q: %s", want, arguments)
		}
	}
	if after := treetest.Read(t, w.project); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the original has changed: %q, before %q", after, before)
	}
	if second := w.branch("second", "run: true"); second.Agent.Ports != 200 {
		t.Errorf("the ports of the second branch are +%d", second.Agent.Ports)
	}
	text := w.run("branch", "list")
	if !strings.Contains(text, "other-way") || !strings.Contains(text, "claude has ended") {
		t.Errorf("the list is %s", text)
	}
	if r := w.try("branch", "attach", "other-way"); r.Code != 0 || r.Out != b.Workspace+"\n" || !strings.Contains(r.Err, "claude ended at ") || !strings.Contains(r.Err, ": exit status 0.") {
		t.Errorf("attach: %+v", r)
	}
	if r := w.try("timeline", "session-branch", "--moment", "now", "--name", "other-way"); r.Code == 0 || !strings.Contains(r.Err, "already has a branch") {
		t.Errorf("a name that is taken: %+v", r)
	}
	if r := w.try("timeline", "session-branch", "--moment", "now", "--name", "none", "--message", "x", "--agent", "ghost"); r.Code == 0 || !strings.Contains(r.Err, "claude, codex") {
		t.Errorf("an agent that is not known: %+v", r)
	}
}

// TestWhatBecameOfAnAgentIsSaid: when and how it ended, where its output and its conversation are, and how to continue it. After a
// restart of the daemon, too; an end that the daemon did not see is not known.
func TestWhatBecameOfAnAgentIsSaid(t *testing.T) {
	w := newWorld(t, "")
	w.edited("toolu_1")
	watched := w.branch("watched", "run: while test ! -e end; do sleep 0.01; done; exit 4")
	attached := make(chan testbed.Ran)
	go func() { attached <- w.try("branch", "attach", "watched") }()
	failed, killed := w.branch("failed", "run: echo out; exit 3"), w.branch("killed", "run: kill -9 $$")
	put(t, filepath.Join(watched.Workspace, "end"), "")
	if r := <-attached; r.Code != 0 || !strings.Contains(r.Err, ": exit status 4.") {
		t.Errorf("who watches its end reads %+v", r)
	}
	unseen := w.branch("unseen", "run: while test ! -e end; do sleep 0.01; done")
	w.gone(failed.Agent.PID)
	w.gone(killed.Agent.PID)
	says := func(name string, wants ...string) {
		t.Helper()
		var r testbed.Ran
		if err := testbed.Eventually(t.Context(), func() (bool, error) { // the daemon notes an end after the process is gone
			r = w.try("branch", "attach", name)
			return strings.Contains(r.Err, wants[0]), nil
		}); err != nil || r.Code != 0 {
			t.Fatalf("%s: %v: %+v", name, err, r)
		}
		for _, want := range append(wants, "`tidemark branch open "+name+"`") {
			if !strings.Contains(r.Err, want) {
				t.Errorf("%s lacks %q: %+v", name, want, r)
			}
		}
	}
	for range 2 {
		says("failed", ": exit status 3.", "Its output is in "+failed.Agent.Log, "claude ended at "+time.Now().Format("2006-"))
		says("killed", ": signal: killed.")
		if text := w.run("branch", "list"); !strings.Contains(text, "claude has ended (exit status 3)") || !strings.Contains(text, "claude runs") {
			t.Errorf("the list is %s", text)
		}
		w.run("stop")
	}
	put(t, filepath.Join(unseen.Workspace, "end"), "")
	w.gone(unseen.Agent.PID)
	says("unseen", "When and how is not known; the last moment of the branch is of ")
	var removed branches.Removed
	w.json(&removed, "branch", "rm", "failed")
	w.run("timeline", "undo", removed.Operation, "--yes")
	says("failed", ": exit status 3.", "Its output was removed.")
}

// A branch stays when its agent cannot be started.
func TestABranchStaysWithoutItsAgent(t *testing.T) {
	w := newWorld(t, "")
	put(t, filepath.Join(w.Home, "config.toml"), "[branches.commands]\nclaude = [\"/no/such/agent\"]\n")
	w.run("stop")
	w.run("session", "start")
	w.edited("toolu_1")
	b := w.branch("other-way", "do it")
	if b.Agent == nil || !strings.Contains(b.Agent.Problem, "/no/such/agent") || b.Agent.PID != 0 {
		t.Fatalf("the agent is %+v", b.Agent)
	}
	w.has(filepath.Join(b.Workspace, "old.js"), "old\n")
	if r := w.try("timeline", "session-branch", "--moment", "now", "--name", "another", "--message", "do it"); r.Code != 5 || r.Err != "" || !strings.Contains(r.Out, "the agent was not started: ") || !strings.Contains(r.Out, "another") {
		t.Errorf("as text: %+v", r)
	}
	if r := w.try("timeline", "session-branch", "--moment", "m01", "--name", "zero"); r.Code == 0 || !strings.Contains(r.Err, `"m01" is not a moment`) {
		t.Errorf("a moment with a zero before its number: %+v", r)
	}
	if text := w.run("branch", "list"); !strings.Contains(text, "claude was not started") {
		t.Errorf("the list is %s", text)
	}
}

func TestABranchIsRemovedWhenNothingRunsInIt(t *testing.T) {
	w := newWorld(t, "")
	w.edited("toolu_1")
	b := w.branch("busy", "run: sleep 600")
	r := w.try("branch", "rm", "busy")
	if r.Code == 0 || !strings.Contains(r.Err, "programs run in it") {
		t.Fatalf("%+v", r)
	}
	if r := w.try("timeline", "undo", b.Operation, "--yes"); r.Code == 0 || !strings.Contains(r.Err, "programs run in it") {
		t.Errorf("undo: %+v", r)
	}
	w.run("branch", "rm", "busy", "--force")
	for _, path := range []string{b.Workspace, b.Agent.Log} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
	w.gone(b.Agent.PID)
	if list := w.list(); len(list) != 0 {
		t.Errorf("the branches are %+v", list)
	}
	if log := w.run("timeline", "op", "log"); !strings.Contains(log, "undo "+b.Operation+", branch busy") {
		t.Errorf("the log is %s", log)
	}
}

func TestTheChangesOfABranchAreMergedIntoTheOriginal(t *testing.T) {
	w := newWorld(t, "")
	b := w.branch("other-way", "")
	put(t, filepath.Join(b.Workspace, "cart.js"), "ONE\ntwo\nthree\nfour\nfive\n")
	put(t, filepath.Join(b.Workspace, "new.js"), "new\n")
	if err := os.Remove(filepath.Join(b.Workspace, "old.js")); err != nil {
		t.Fatal(err)
	}
	w.write("cart.js", "one\ntwo\nthree\nfour\nFIVE\n")
	before := fmt.Sprint(treetest.States(t, w.project)) // files whose contents the undo changes have new times
	var plan branches.Applied
	w.json(&plan, "branch", "apply", "other-way")
	if len(plan.Conflicts) != 0 || plan.Done || fmt.Sprint(plan.Steps) != "[{cart.js merge} {new.js create} {old.js delete}]" {
		t.Errorf("the plan is %+v", plan)
	}
	var done branches.Applied
	w.json(&done, "branch", "apply", "other-way", "--yes")
	w.has(filepath.Join(w.project, "cart.js"), "ONE\ntwo\nthree\nfour\nFIVE\n")
	w.has(filepath.Join(w.project, "new.js"), "new\n")
	if _, err := os.Stat(filepath.Join(w.project, "old.js")); !os.IsNotExist(err) {
		t.Errorf("old.js is still there: %v", err)
	}
	if out := w.run("branch", "apply", "other-way", "--yes"); !strings.Contains(out, "Nothing to apply") && !strings.Contains(out, "merge") {
		t.Errorf("once more: %s", out)
	}
	w.run("timeline", "undo", done.Operation, "--yes")
	if after := fmt.Sprint(treetest.States(t, w.project)); after != before {
		t.Errorf("after the undo: %s\nbefore: %s", after, before)
	}
}

func TestConflictsOfABranchAreShown(t *testing.T) {
	w := newWorld(t, "")
	b := w.branch("other-way", "")
	put(t, filepath.Join(b.Workspace, "cart.js"), "branch\ntwo\nthree\nfour\nfive\n")
	put(t, filepath.Join(b.Workspace, "old.js"), "newer\n")
	w.write("cart.js", "original\ntwo\nthree\nfour\nfive\n")
	if err := os.Remove(filepath.Join(w.project, "old.js")); err != nil {
		t.Fatal(err)
	}
	before := fmt.Sprint(treetest.Read(t, w.project))
	shown := w.try("branch", "apply", "other-way")
	if shown.Code == 0 || !strings.Contains(shown.Err, "nothing was applied") {
		t.Errorf("a plan with conflicts: %+v", shown)
	}
	text := shown.Out
	for _, want := range []string{"both changed the same lines", "the original deleted it, the branch changed it"} {
		if !strings.Contains(text, want) {
			t.Errorf("the plan lacks %q: %s", want, text)
		}
	}
	for _, how := range []string{"", "mark"} {
		if r := w.try("branch", "apply", "other-way", "--yes", "--conflicts", how); r.Code == 0 || !strings.Contains(r.Err, "nothing was applied") {
			t.Errorf("%q: %+v", how, r)
		}
	}
	if after := fmt.Sprint(treetest.Read(t, w.project)); after != before {
		t.Errorf("the original has changed: %s", after)
	}
	w.write("old.js", "old\n")
	w.run("branch", "apply", "other-way", "--yes", "--conflicts", "mark")
	w.has(filepath.Join(w.project, "cart.js"), "<<<<<<< original\noriginal\n=======\nbranch\n>>>>>>> branch\ntwo\nthree\nfour\nfive\n")
	w.has(filepath.Join(w.project, "old.js"), "newer\n")
	w.run("timeline", "undo", "--yes")
	w.run("branch", "apply", "other-way", "--yes", "--conflicts", "branch")
	w.has(filepath.Join(w.project, "cart.js"), "branch\ntwo\nthree\nfour\nfive\n")
	var c branches.Comparison
	w.json(&c, "branch", "compare", "other-way")
	if fmt.Sprint(c.A.Files) != "[cart.js old.js]" || fmt.Sprint(c.B.Files) != "[cart.js old.js]" || len(c.Different) != 0 {
		t.Errorf("the comparison is %+v", c)
	}
	if text := w.run("branch", "compare", "other-way", "original"); !strings.Contains(text, "files changed") {
		t.Errorf("the comparison is %s", text)
	}
}

// TestASideIsTakenOnlyWhereBothChanged: what one side changed alone is merged, whichever side is chosen for the conflicts.
func TestASideIsTakenOnlyWhereBothChanged(t *testing.T) {
	for side, want := range map[string][3]string{
		"original": {"ORIGINAL\ntwo\nthree\nfour\nFIVE\n", "ours\n", ""},
		"branch":   {"BRANCH\ntwo\nthree\nfour\nFIVE\n", "theirs\n", "newer\n"},
	} {
		t.Run(side, func(t *testing.T) {
			w := newWorld(t, "")
			w.write("title.md", "title\n\ntext\n")
			w.write("both.bin", "\x00\n")
			b := w.branch("other-way", "")
			in := func(name string) string { return filepath.Join(b.Workspace, name) }
			put(t, in("cart.js"), "BRANCH\ntwo\nthree\nfour\nFIVE\n")
			put(t, in("title.md"), "title\n\ntext\nlast\n")
			put(t, in("both.bin"), "\x00theirs\n")
			put(t, in("old.js"), "newer\n")
			w.write("cart.js", "ORIGINAL\ntwo\nthree\nfour\nfive\n")
			w.write("title.md", "new title\n\ntext\n")
			w.write("both.bin", "\x00ours\n")
			if err := os.Remove(filepath.Join(w.project, "old.js")); err != nil {
				t.Fatal(err)
			}
			out := w.run("branch", "apply", "other-way", "--yes", "--conflicts", side)
			if strings.Contains(out, "title.md") {
				t.Errorf("what is merged without a conflict is listed as one: %s", out)
			}
			for _, text := range []string{"cart.js", "the lines of the " + side + " are taken", "both.bin", "old.js", "that of the " + side + " is taken"} {
				if !strings.Contains(out, text) {
					t.Errorf("the answer lacks %q: %s", text, out)
				}
			}
			w.has(filepath.Join(w.project, "cart.js"), want[0])
			w.has(filepath.Join(w.project, "title.md"), "new title\n\ntext\nlast\n")
			w.has(filepath.Join(w.project, "both.bin"), "\x00"+want[1])
			w.has(filepath.Join(w.project, "old.js"), want[2])
		})
	}
}

// TestARemovalIsUndoneAsTheLastOperation, and each undo says what it undid.
func TestARemovalIsUndoneAsTheLastOperation(t *testing.T) {
	w := newWorld(t, "")
	w.git("config", "user.name", "Test")
	w.git("config", "user.email", "test@example.com")
	kept, held := w.branch("kept", ""), w.branch("held", "")
	put(t, filepath.Join(kept.Workspace, "new.js"), "new\n")
	put(t, filepath.Join(held.Workspace, "new.js"), "held\n")
	w.run("branch", "commit", "kept", "-m", "New")
	removed := w.run("branch", "rm", "held")
	if !strings.Contains(removed, "`tidemark timeline undo op4 --session "+held.BranchOf.Session+"` brings it back") {
		t.Errorf("the removal says %s", removed)
	}
	if out := w.run("timeline", "undo", "--yes"); out != "Undid op4, remove branch held.\n" {
		t.Errorf("the undo says %q", out)
	}
	w.has(filepath.Join(held.Workspace, "new.js"), "held\n")
	w.git("rev-parse", "--verify", "kept")
	if out := w.run("timeline", "undo", "--yes"); !strings.HasPrefix(out, "Undid op3, commit branch kept") {
		t.Errorf("the next undo says %q", out)
	}
	if log := w.run("timeline", "op", "log"); !strings.Contains(log, "remove branch held") || strings.Contains(log, "undo op2") {
		t.Errorf("the log is %s", log)
	}
}

// TestATakenNameStartsNoneOfSeveral: neither a branch nor its agent.
func TestATakenNameStartsNoneOfSeveral(t *testing.T) {
	w := newWorld(t, "")
	w.branch("way-2", "")
	r := w.try("timeline", "session-branch", "--moment", "now", "--name", "way", "--try", "a", "--try", "b")
	if r.Code != 2 || !strings.Contains(r.Err, `already has a branch "way-2"`) {
		t.Errorf("%+v", r)
	}
	if list := w.list(); len(list) != 1 {
		t.Errorf("the branches are %+v", list)
	}
}

// TestTheUndoOfANestedRemovalIsNamed: it is in the log of the branch that it was made in, where the project has another op2.
func TestTheUndoOfANestedRemovalIsNamed(t *testing.T) {
	w := newWorld(t, "")
	outer, other := w.branch("outer", ""), w.branch("other", "")
	w.run("timeline", "session-branch", outer.ID, "--moment", "now", "--name", "inner")
	removed := w.run("branch", "rm", "inner")
	_, command, _ := strings.Cut(removed, "`tidemark ")
	command, _, _ = strings.Cut(command, "`")
	if out := w.run(append(strings.Fields(command), "--yes")...); out != "Undid op2, remove branch inner.\n" {
		t.Errorf("%q says %q", command, out)
	}
	w.has(filepath.Join(other.Workspace, "cart.js"), "one\ntwo\nthree\nfour\nfive\n")
	if list := w.run("branch", "list"); !strings.Contains(list, "inner") || !strings.Contains(list, "other") {
		t.Errorf("the branches are %s", list)
	}
}

func TestABranchIsCommittedToGit(t *testing.T) {
	w := newWorld(t, "")
	w.git("config", "user.name", "Test")
	w.git("config", "user.email", "test@example.com")
	first := w.git("rev-parse", "HEAD")
	b := w.branch("other-way", "")
	put(t, filepath.Join(b.Workspace, "new file é.js"), "new\n")
	w.write("later.js", "later\n")
	status := w.git("status", "--porcelain=v2", "--branch")
	var c branches.Committed
	w.json(&c, "branch", "commit", "other-way", "-m", "The other way")
	if c.Branch != "other-way" || c.Parent != first || c.Files != 1 || c.Commit != w.git("rev-parse", "other-way") {
		t.Errorf("the commit is %+v", c)
	}
	if got := w.git("-c", "core.quotePath=false", "ls-tree", "-r", "--name-only", "other-way"); got != ".gitignore\ncart.js\nnew file é.js\nold.js" {
		t.Errorf("the files are %q", got)
	}
	if now := w.git("status", "--porcelain=v2", "--branch"); now != status {
		t.Errorf("the state of the repository is %s, before %s", now, status)
	}
	if r := w.try("branch", "commit", "other-way"); r.Code == 0 || !strings.Contains(r.Err, "already has a branch") {
		t.Errorf("a name that is taken: %+v", r)
	}
	if r := w.try("branch", "commit", "other-way", "--as", "../x"); r.Code == 0 || !strings.Contains(r.Err, "cannot be the name") {
		t.Errorf("an odd name: %+v", r)
	}
}

func TestAnAgentStartsInAWindowOfTmux(t *testing.T) {
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("tmux is not installed")
	}
	t.Setenv("TMUX_TMPDIR", t.TempDir())
	t.Setenv("TMUX", "")
	t.Cleanup(func() { _ = exec.Command(tmux, "kill-server").Run() }) //nolint:noctx // the test has ended
	w := newWorld(t, `terminal = "tmux"`)
	w.edited("toolu_1")
	b := w.branch("other-way", "run: test -t 0 && echo yes > terminal.txt; sleep 600")
	if b.Agent == nil || b.Agent.Problem != "" || !strings.HasPrefix(b.Agent.Terminal, "tidemark-other-way:") {
		t.Fatalf("the agent is %+v", b.Agent)
	}
	if err := testbed.Eventually(t.Context(), func() (bool, error) {
		got, err := os.ReadFile(filepath.Join(b.Workspace, "terminal.txt"))
		return string(got) == "yes\n", ignoreMissing(err)
	}); err != nil {
		t.Fatal(err)
	}
	w.has(filepath.Join(b.Workspace, "env.txt"), "TIDEMARK_BRANCH=other-way\nTIDEMARK_PORT_OFFSET=100\n")
	ended := w.branch("ended", "run: true")
	w.gone(ended.Agent.PID)
	if r := w.try("branch", "attach", "ended"); r.Code == 0 || !strings.Contains(r.Err, "claude has ended. When and how is not known; the last moment of the branch is of ") || !strings.Contains(r.Err, "`tidemark branch open ended`") {
		t.Errorf("attach: %+v", r)
	}
	// The window of one that fails stays, with what it said.
	failed := w.branch("failed", "run: echo no such model; exit 7")
	w.gone(failed.Agent.PID)
	if r := w.try("branch", "attach", "failed"); r.Code != 0 || !strings.Contains(r.Out, "no such model\n") || !strings.Contains(r.Err, "claude has ended: exit status 7.") {
		t.Errorf("attach: %+v", r)
	}
	if text := w.run("branch", "list"); !strings.Contains(text, "claude has ended (exit status 7)") {
		t.Errorf("the list is %s", text)
	}
	w.run("branch", "rm", "other-way", "--force")
	w.run("branch", "rm", "failed")
	if out, _ := exec.CommandContext(t.Context(), tmux, "list-windows", "-a").CombinedOutput(); strings.Contains(string(out), "[") {
		t.Errorf("tmux has windows of removed branches: %s", out)
	}
}

func ignoreMissing(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

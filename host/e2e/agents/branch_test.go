package agents

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/timeline/answers"
	"tidemark.dev/tidemark/host/testing/modelserver"
	"tidemark.dev/tidemark/host/testing/testbed"
	"tidemark.dev/tidemark/host/testing/treetest"
)

// asUser runs `tidemark` with the environment of a user who has the agents installed.
func (w *world) asUser(env []string, args ...string) string {
	w.Helper()
	cmd := w.Command(args...)
	cmd.Dir = w.project
	bin := filepath.Dir(program(w.T, "claude"))
	cmd.Env = append(append(clean(cmd.Env), "HOME="+w.home, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH")), env...)
	var errOut strings.Builder
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		w.Fatalf("%q: %v: %s", args, err, errOut.String())
	}
	return string(out)
}

// momentOf returns the ID of the moment after a call.
func (w *world) momentOf(call string) string {
	w.Helper()
	id := ""
	if err := testbed.Eventually(w.Context(), func() (bool, error) {
		var list answers.List
		if err := json.Unmarshal([]byte(w.tidemark("timeline", "list", "--json")), &list); err != nil {
			return false, err
		}
		for _, m := range list.Moments {
			if m.Anchor != nil && m.Anchor.Message == call {
				id = m.ID
				return m.FsSnapshot != false, nil
			}
		}
		return false, nil
	}); err != nil {
		w.Fatalf("no moment after %s: %v", call, err)
	}
	return id
}

// branch starts a branch, and waits until its agent has ended.
func (w *world) branch(env []string, args ...string) *answers.Branched {
	w.Helper()
	var b answers.Branched
	if err := json.Unmarshal([]byte(w.asUser(env, append([]string{"timeline", "session-branch", "--json"}, args...)...)), &b); err != nil {
		w.Fatal(err)
	}
	if b.Agent == nil || b.Agent.Problem != "" {
		w.Fatalf("no agent was started: %+v, %s", b.Agent, b.Problem)
	}
	var err error
	for range 6 { // an agent takes longer than a page
		if err = testbed.Eventually(w.Context(), func() (bool, error) {
			_, err := os.Stat(fmt.Sprintf("/proc/%d", b.Agent.PID))
			return os.IsNotExist(err), nil
		}); err == nil {
			break
		}
	}
	if err != nil {
		log, _ := os.ReadFile(b.Agent.Log)
		w.Fatalf("the agent does not end: %v: %s", err, log)
	}
	return &b
}

// whole returns what is in directories, to compare it later.
func whole(t *testing.T, dirs ...string) string {
	t.Helper()
	var all strings.Builder
	for _, dir := range dirs {
		fmt.Fprintln(&all, treetest.Read(t, dir))
	}
	return all.String()
}

func TestABranchContinuesTheConversationOfClaudeCode(t *testing.T) {
	w := newWorld(t)
	write := func(id, text string) modelserver.Call {
		return call(id, "Write", map[string]any{"file_path": filepath.Join(w.project, "page.js"), "content": text})
	}
	w.claude(claudeEvents, "Write a page",
		modelserver.Turn{Text: "First.", Calls: []modelserver.Call{write("toolu_1", "let cart = 1\n")}},
		modelserver.Turn{Text: "Then I break it.", Calls: []modelserver.Call{write("toolu_2", "let cart = null\n")}},
		modelserver.Turn{Text: "All done."},
	)
	moment := w.momentOf("toolu_1")
	before := whole(t, w.project)
	found, err := filepath.Glob(filepath.Join(w.home, "claude", "projects", "*", "*.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the transcripts are %q", found)
	}
	transcript, _ := os.ReadFile(found[0])

	server := modelserver.Start(t,
		modelserver.Turn{Text: "Differently.", Calls: []modelserver.Call{call("toolu_b1", "Bash", map[string]any{"command": "echo 'let cart = 2' > page.js; env | grep -E '^TIDEMARK_(BRANCH|PORT)' | sort > env.txt", "description": "write"})}},
		modelserver.Turn{Text: "Done differently."},
	)
	settings := filepath.Join(w.home, "claude", "settings.json")
	if err := os.WriteFile(settings, []byte(strings.Replace(w.settings(claudeEvents...), "{", `{"permissions":{"allow":["Bash","Write","Edit"]},`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	b := w.branch(claudeEnv(filepath.Join(w.home, "claude"), server), "--moment", moment, "--name", "other-way", "--message", "Do it differently")
	log, _ := os.ReadFile(b.Agent.Log)
	if b.Agent.Method != "transcript" || b.Agent.Name != "claude" || b.Agent.Ports == 0 {
		t.Errorf("the agent is %+v", b.Agent)
	}
	asked := server.Asked()
	if len(asked) != 2 || server.Served() != 2 {
		t.Fatalf("the model was asked %d times: %s", len(asked), log)
	}
	for text, want := range map[string]bool{
		"Write a page": true, "let cart = 1": true, "toolu_1": true, "let cart = null": false, "toolu_2": false, "Then I break it": false,
		"Do it differently": true, "are as of " + moment: true, b.Workspace: true,
	} {
		if got := strings.Contains(asked[0], text); got != want {
			t.Errorf("the first request has %q: %t", text, got)
		}
	}
	if !strings.Contains(string(log), "Done differently.") {
		t.Errorf("the log is %s", log)
	}
	continued, err := filepath.Glob(filepath.Join(w.home, "claude", "projects", "*", b.Agent.Conversation+".jsonl"))
	if r := w.RunIn(w.project, "branch", "attach", "other-way"); err != nil || len(continued) != 1 || r.Code != 0 || !strings.Contains(r.Err, "Its conversation is in "+continued[0]) || !strings.Contains(r.Err, ": exit status 0.") {
		t.Errorf("attach says %+v; the conversation is %q, %v", r, continued, err)
	}
	for name, want := range map[string]string{"page.js": "let cart = 2\n", "env.txt": fmt.Sprintf("TIDEMARK_BRANCH=other-way\nTIDEMARK_PORT_OFFSET=%d\n", b.Agent.Ports), ".env": "WORD=unnamed-plain-word\n"} {
		if got, _ := os.ReadFile(filepath.Join(b.Workspace, name)); string(got) != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if after := whole(t, w.project); after != before {
		t.Errorf("the original workspace has changed:\n%s\nbefore:\n%s", after, before)
	}
	if now, _ := os.ReadFile(found[0]); string(now) != string(transcript) {
		t.Error("the original transcript has changed")
	}
}

// A transcript of a version that is not known is not copied: the message quotes what was recorded.
func TestABranchQuotesAConversationThatItCannotCopy(t *testing.T) {
	w := newWorld(t)
	w.claude(claudeEvents, "Write a page, with "+secret,
		modelserver.Turn{Text: "First.", Calls: []modelserver.Call{call("toolu_1", "Write", map[string]any{"file_path": filepath.Join(w.project, "page.js"), "content": "let cart = 1\n"})}},
		modelserver.Turn{Text: "All done."},
	)
	moment := w.momentOf("toolu_1")
	found, _ := filepath.Glob(filepath.Join(w.home, "claude", "projects", "*", "*.jsonl"))
	data, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(found[0], []byte(strings.ReplaceAll(string(data), `"version":"2.1.`, `"version":"3.0.`)), 0o600); err != nil {
		t.Fatal(err)
	}
	server := modelserver.Start(t, modelserver.Turn{Text: "I see."})
	b := w.branch(claudeEnv(filepath.Join(w.home, "claude"), server), "--moment", moment, "--name", "other-way", "--message", "Do it differently")
	if b.Agent.Method != "context" || !strings.Contains(b.Agent.Why, "3.0.332") {
		t.Errorf("the agent is %+v", b.Agent)
	}
	asked := server.Asked()
	if len(asked) != 1 || !strings.Contains(asked[0], "Write a page, with [masked]") || !strings.Contains(asked[0], "Write page.js ok") || strings.Contains(asked[0], secret) {
		t.Errorf("the model was asked %q", asked)
	}
	if copies, _ := filepath.Glob(filepath.Join(w.home, "claude", "projects", "*", "*.jsonl")); len(copies) != 2 {
		t.Errorf("the transcripts are %q", copies) // the original, and the one of the branch that Claude Code began itself
	}
}

func TestABranchContinuesTheConversationOfCodex(t *testing.T) {
	w := newWorld(t)
	w.codex(w.settings(codexEvents...), []string{"Change a to 2"},
		modelserver.Turn{Text: "I edit.", Calls: []modelserver.Call{call("call_1", "apply_patch", "*** Begin Patch\n*** Update File: a.js\n@@\n-let a = 1\n+let a = 2\n let b = 2\n*** End Patch\n")}},
		modelserver.Turn{Text: "The first is done."},
	)
	w.codex(w.settings(codexEvents...), []string{"resume", "--last", "Break it"},
		modelserver.Turn{Text: "I break it.", Calls: []modelserver.Call{call("call_2", "apply_patch", "*** Begin Patch\n*** Update File: a.js\n@@\n-let a = 2\n+let a = null\n let b = 2\n*** End Patch\n")}},
		modelserver.Turn{Text: "The second is done."},
	)
	moment := w.momentOf("call_2") // all are there
	var list answers.List
	if err := json.Unmarshal([]byte(w.tidemark("timeline", "list", "--kind", "stop", "--json")), &list); err != nil || len(list.Moments) < 2 {
		t.Fatalf("the stops are %+v, %v", list.Moments, err)
	}
	before := whole(t, w.project)
	found, err := filepath.Glob(filepath.Join(w.home, "codex", "sessions", "*", "*", "*", "*.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the transcripts are %q", found)
	}
	transcript, _ := os.ReadFile(found[0])
	for i, test := range []struct {
		moment, file string
		why          bool
	}{{list.Moments[0].ID, "let a = 2\nlet b = 2\n", false}, {moment, "let a = null\nlet b = 2\n", true}} {
		server := modelserver.Start(t, modelserver.Turn{Text: "Differently.", Calls: []modelserver.Call{call("call_b1", "exec_command", map[string]any{"cmd": "cat a.js > copy.txt"})}}, modelserver.Turn{Text: "Done differently."})
		b := w.branch(append(w.codexEnv(server, ""), "PATH="+filepath.Dir(program(t, "codex"))+":"+os.Getenv("PATH")), "--moment", test.moment, "--name", fmt.Sprintf("way-%d", i), "--message", "Do it differently")
		log, _ := os.ReadFile(b.Agent.Log)
		if b.Agent.Method != "thread/fork" || b.Agent.Conversation == "" || (b.Agent.Why != "") != test.why {
			t.Errorf("the agent is %+v", b.Agent)
		}
		asked := server.Asked()
		if len(asked) == 0 {
			t.Fatalf("the model was not asked: %s", log)
		}
		for text, want := range map[string]bool{
			"Change a to 2": true, "The first is done.": true, "Break it": false, "call_2": false, "Do it differently": true, b.Workspace: true,
			"Workspace and conversation are as of": !test.why, "the conversation ends before the turn that was under way": test.why,
		} {
			if got := strings.Contains(asked[0], text); got != want {
				t.Errorf("at %s the first request has %q: %t", test.moment, text, got)
			}
		}
		if got, _ := os.ReadFile(filepath.Join(b.Workspace, "a.js")); string(got) != test.file {
			t.Errorf("a.js is %q", got)
		}
	}
	if after := whole(t, w.project); after != before {
		t.Errorf("the original workspace has changed:\n%s\nbefore:\n%s", after, before)
	}
	if now, _ := os.ReadFile(found[0]); string(now) != string(transcript) {
		t.Error("the original transcript has changed")
	}
}

package agents

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/internal/sessiontree"
	"tidemark.dev/tidemark/host/testing/modelserver"
)

// A session that is forked right after its original has its own prompts, calls and files alone.
func TestASessionOfClaudeCodeAndItsFork(t *testing.T) {
	w := newWorld(t)
	turns := func(first, second, file, other string) []modelserver.Turn {
		return []modelserver.Turn{{Calls: []modelserver.Call{
			call(first, "Write", map[string]any{"file_path": filepath.Join(w.project, file), "content": "x\n"}), bash(second, "echo x > "+other, false),
		}}, {Text: "done"}}
	}
	w.claude(claudeEvents, "one", turns("toolu_01", "toolu_02", "o.js", "p.txt")...)
	server := modelserver.Start(t, turns("toolu_03", "toolu_04", "f.js", "q.txt")...)
	w.run(claudeEnv(filepath.Join(w.home, "claude"), server), program(t, "claude"), "-p", "two", "--resume", w.recording().Session, "--fork-session",
		"--permission-mode", "acceptEdits", "--allowedTools", "Bash,Edit,Write,Read,Agent")
	w.forked("o.js", "toolu_01", "p.txt", "toolu_02", "f.js", "toolu_03", "q.txt", "toolu_04")
}

func TestASessionOfCodexAndItsFork(t *testing.T) {
	w := newWorld(t)
	turns := func(first, second, file, other string) []modelserver.Turn {
		return []modelserver.Turn{{Calls: []modelserver.Call{
			call(first, "apply_patch", "*** Begin Patch\n*** Add File: "+file+"\n+x\n*** End Patch\n"), call(second, "exec_command", map[string]any{"cmd": "echo x > " + other}),
		}}, {Text: "done"}}
	}
	w.codex(w.settings(codexEvents...), []string{"one"}, turns("call_01", "call_02", "o.js", "p.txt")...)
	w.codex("", []string{"fork", w.recording().Session, "two"}, turns("call_03", "call_04", "f.js", "q.txt")...)
	w.forked("o.js", "call_01", "p.txt", "call_02", "f.js", "call_03", "q.txt", "call_04")
}

// forked checks an original and its fork, each with a prompt, two calls and their files, in pairs.
func (w *world) forked(made ...string) {
	w.Helper()
	w.equalMade(w.joined(len(made)/2), made...)
	var list conversation.Listed
	if err := json.Unmarshal([]byte(w.tidemark("recordings", "list", "--json")), &list); err != nil {
		w.Fatal(err)
	}
	if len(list.Recordings) != 2 || slices.ContainsFunc(list.Recordings, func(i conversation.Info) bool { return i.Prompts != 1 || i.Calls != 2 }) {
		w.Errorf("the recordings are %+v", list.Recordings)
	}
	var a sessiontree.Tree
	if err := json.Unmarshal([]byte(w.tidemark("timeline", "show", "--json")), &a); err != nil {
		w.Fatal(err)
	}
	for i, t := range a.Turns {
		if want := []string{"one", "two"}[min(i, 1)]; len(a.Turns) != 2 || t.Prompt != want || t.Moment == "" || len(t.Calls) != 2 {
			w.Errorf("turn %d is %+v", i, t)
		}
	}
}

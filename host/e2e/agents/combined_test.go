package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark.dev/tidemark/host/internal/conversation"
	"tidemark.dev/tidemark/host/testing/modelserver"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// batches returns turns of parallel calls, each of which writes a file of its own, and the maker of each file. write and run
// return a call that writes a file, by the agent's editor and by its shell.
func batches(name string, turns, each int, made map[string]string, write, run func(id, file string) modelserver.Call) (all []modelserver.Turn) {
	for i := range turns {
		var t modelserver.Turn
		for j := range each {
			id, file, make := fmt.Sprintf("%s_%02d_%02d", name, i, j), fmt.Sprintf("%s%02d%02d.txt", name, i, j), run
			if j == 0 {
				make = write
			}
			t.Calls = append(t.Calls, make(id, file))
			made[file] = id
		}
		all = append(all, t)
	}
	return all
}

func claudeWrite(w *world) func(id, file string) modelserver.Call {
	return func(id, file string) modelserver.Call {
		return call(id, "Write", map[string]any{"file_path": filepath.Join(w.project, file), "content": id + "\n"})
	}
}

func claudeRun(id, file string) modelserver.Call {
	return call(id, "Bash", map[string]any{"command": "echo " + id + " > " + file, "description": "write"})
}

// One session has all of it: parallel calls, a subagent, a compaction, edits that no hook reports, a line that is
// cut off, and a transcript that is deleted.
func TestASessionOfClaudeCodeWithEverythingIsRecordedWhole(t *testing.T) {
	w := newWorld(t)
	claude, made := program(t, "claude"), map[string]string{}
	write, run := claudeWrite(w), claudeRun
	half := rounds(t) / 2
	turns := batches("a", half-2, 4, made, write, run)
	turns = append(turns, modelserver.Turn{Calls: []modelserver.Call{call("agent", "Agent", map[string]any{"description": "write", "prompt": "write files", "subagent_type": "general-purpose", "run_in_background": false})}})
	turns = append(turns, batches("s", 2, 4, made, write, run)...)
	turns = append(turns, modelserver.Turn{Text: "They are written."}, modelserver.Turn{Text: "The first half is done."})
	first := len(turns)
	turns = append(turns, modelserver.Turn{Text: "<summary>Files were written.</summary>"})
	turns = append(turns, batches("b", half-1, 4, made, write, run)...)
	turns = append(turns, modelserver.Turn{Calls: []modelserver.Call{run("b_99_00", "b9900.txt"), run("b_99_01", "b9901.txt"), run("b_99_02", "b9902.txt")}}, modelserver.Turn{Text: "All done."})
	for _, c := range turns[len(turns)-2].Calls {
		made[strings.ReplaceAll(c.ID, "_", "")+".txt"] = c.ID
	}
	server := modelserver.Start(t, turns...)
	config := filepath.Join(w.home, "claude")
	if err := os.MkdirAll(config, 0o700); err != nil {
		t.Fatal(err)
	}
	hooks := strings.Replace(w.settings(claudeEvents...), `"PostToolUse":[{`, `"PostToolUse":[{"matcher":"Bash|Agent",`, 1) // edits are missed
	if err := os.WriteFile(filepath.Join(config, "settings.json"), []byte(hooks), 0o600); err != nil {
		t.Fatal(err)
	}
	say := func(prompt string, more ...string) {
		t.Helper()
		w.run(claudeEnv(config, server), claude, append([]string{"-p", prompt, "--permission-mode", "acceptEdits", "--allowedTools", "Bash,Edit,Write,Read,Agent"}, more...)...)
	}
	say("write the first half")
	if server.Served() != first {
		t.Fatalf("Claude Code asked for %d of %d turns", server.Served(), first)
	}
	w.cutLine(filepath.Join(config, "projects", "*", "*.jsonl"), `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"toolu_cut","na`)
	say("/compact", "--continue")
	say("write the second half", "--continue")
	if server.Served() != len(turns) {
		t.Fatalf("Claude Code asked for %d of %d turns", server.Served(), len(turns))
	}
	w.everything("claude", []string{"write the first half", "write the second half"}, filepath.Join(config, "projects"), made, "agent")
}

// The same of Codex, whose hooks of patches are missed. Its subagents are a feature that is off by default in 0.169.
func TestASessionOfCodexWithEverythingIsRecordedWhole(t *testing.T) {
	w := newWorld(t)
	codex, made := program(t, "codex"), map[string]string{}
	write := func(id, file string) modelserver.Call {
		return call(id, "apply_patch", fmt.Sprintf("*** Begin Patch\n*** Add File: %s\n+%s\n*** End Patch\n", file, id))
	}
	run := func(id, file string) modelserver.Call {
		return call(id, "exec_command", map[string]any{"cmd": "echo " + id + " > " + file})
	}
	const sub, root = `"recipient":"/root/files"`, `"call_spawn"` // what only requests of one of the two have
	turns := []modelserver.Turn{{Calls: []modelserver.Call{call("call_spawn", "collaboration/spawn_agent", map[string]any{"message": "write files", "task_name": "files", "fork_turns": "none"})}}}
	for _, turn := range append(batches("s", 2, 4, made, write, run), modelserver.Turn{Text: "They are written."}) {
		turn.For = sub
		turns = append(turns, turn)
	}
	turns = append(turns, modelserver.Turn{For: root, Calls: []modelserver.Call{call("call_wait", "collaboration/wait_agent", map[string]any{"timeout_ms": 60000})}})
	turns = append(append(turns, batches("a", rounds(t)/2-2, 4, made, write, run)...), modelserver.Turn{Text: "The first half is done."})
	first := len(turns)
	turns = append(append(turns, batches("b", rounds(t)/2, 4, made, write, run)...), modelserver.Turn{Text: "All done."})
	server := modelserver.Start(t, turns...)
	hooks := strings.Replace(w.settings(codexEvents...), `"PostToolUse":[{`, `"PostToolUse":[{"matcher":"Bash",`, 1)
	env := w.codexEnv(server, hooks)
	exec := []string{"-c", "features.multi_agent_v2=true", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"}
	w.run(env, codex, append(append([]string{"exec"}, exec...), "write the first half")...)
	if server.Served() != first {
		t.Fatalf("Codex asked for %d of %d turns", server.Served(), first)
	}
	sessions := filepath.Join(w.home, "codex", "sessions")
	w.cutLine(filepath.Join(sessions, "*", "*", "*", "*"+w.recording().Session+".jsonl"), `{"timestamp":"2026-11-25T12:00:00.000Z","type":"response_item","payload":{"type":"function_ca`)
	w.run(env, codex, append(append([]string{"exec", "resume", "--last"}, exec...), "-c", "model_auto_compact_token_limit=1", "write the second half")...)
	if server.Served() != len(turns) {
		t.Fatalf("Codex asked for %d of %d turns", server.Served(), len(turns))
	}
	w.everything("codex", []string{"write the first half", "write the second half"}, sessions, made, "call_spawn", "call_wait")
}

// cutLine appends a line that is cut off to the only file of a pattern.
func (w *world) cutLine(pattern, line string) {
	w.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		w.Fatalf("there are transcripts %v, %v", found, err)
	}
	f, err := os.OpenFile(found[0], os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(line + "\n")
		_ = f.Close()
	}
	if err != nil {
		w.Fatal(err)
	}
}

// everything checks that a session is recorded whole after its transcripts were deleted: prompts, calls with their sources, the
// calls of a subagent below the one that started it, other calls, a compaction, the cut line, and each file below its maker.
func (w *world) everything(agent string, prompts []string, transcripts string, made map[string]string, others ...string) {
	w.Helper()
	want := make([]string, 0, len(made))
	for file, id := range made {
		line := id
		if strings.HasPrefix(file, "s") {
			line = "> " + line
		}
		want = append(want, line)
	}
	want = append(want, others...)
	slices.Sort(want)
	ids := func(o *conversation.Outline) (got []string) {
		for _, c := range calls(o) {
			id, _, _ := strings.Cut(c, "|")
			got = append(got, id)
		}
		return sorted(got)
	}
	// Transcripts are read when a hook of the end comes. Then the agent deletes them.
	if err := testbed.Eventually(w.Context(), func() (bool, error) { return len(ids(w.recording())) >= len(want), nil }); err != nil {
		w.Errorf("%v: %d of %d calls are recorded", err, len(ids(w.recording())), len(want))
	}
	if err := os.RemoveAll(transcripts); err != nil {
		w.Fatal(err)
	}
	w.tidemark("stop")
	o := w.recording()
	equal(w.T, "the calls", ids(o), want)
	var said []string
	compacted := 0
	for _, t := range o.Turns {
		if compacted += t.Compacted; !strings.HasPrefix(t.Prompt, "/") {
			said = append(said, t.Prompt)
		}
	}
	equal(w.T, "the prompts", said, prompts)
	if c := o.Coverage; compacted == 0 || agent == "claude" && compacted != 1 || c.Damaged != 1 || c.OnlyHook != 0 || c.OnlyTranscript == 0 || c.Unknown != 0 {
		w.Errorf("%d compactions, the coverage is %+v", compacted, c)
	}
	tree := w.wholeTree(len(made))
	seen := map[string]bool{}
	walkCalls(tree, func(id, file string, oneOf []string) {
		if len(oneOf) == 0 {
			oneOf = []string{id}
		}
		if !seen[file] && !slices.Contains(oneOf, made[file]) {
			w.Errorf("%s of %s is below %s, one of %q", file, made[file], id, oneOf)
		}
		seen[file] = true
	})
	if len(tree.Files) != 0 || o.Agent != agent {
		w.Errorf("changes by no call: %+v", tree.Files)
	}
	w.Logf("%d calls, %d files, %d compactions, coverage %+v", len(want), len(seen), compacted, o.Coverage)
}

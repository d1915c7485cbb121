package agents

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tidemark.dev/tidemark/host/internal/sessiontree"
	"tidemark.dev/tidemark/host/testing/modelserver"
	"tidemark.dev/tidemark/host/testing/testbed"
)

// joined waits until the tree has so many files, and returns their paths with the calls that made them.
func (w *world) joined(files int) map[string]string {
	w.Helper()
	made := map[string]string{}
	if err := testbed.Eventually(w.Context(), func() (bool, error) {
		var a sessiontree.Tree
		if err := json.Unmarshal([]byte(w.tidemark("timeline", "show", "--json")), &a); err != nil {
			return false, err
		}
		clear(made)
		walkCalls(&a, func(id, path string, oneOf []string) {
			if len(oneOf) > 0 {
				id = "one of " + strings.Join(oneOf, " ")
			}
			made[path] = id
		})
		for _, f := range a.Files {
			made[f.Path] = "no call"
		}
		return len(made) >= files, nil
	}); err != nil {
		w.Errorf("%v: %v", err, made)
	}
	w.Log("\n" + w.tidemark("timeline", "show"))
	return made
}

// equalMade checks that files have calls, in pairs.
func (w *world) equalMade(got map[string]string, want ...string) {
	w.Helper()
	for pair := range slices.Chunk(want, 2) {
		if got[pair[0]] != pair[1] {
			w.Errorf("%s was made by %q, want %q", pair[0], got[pair[0]], pair[1])
		}
	}
}

func bash(id, command string, background bool) modelserver.Call {
	return call(id, "Bash", map[string]any{"command": command, "description": "x", "run_in_background": background})
}

func TestCommandsOfClaudeCodeOneAfterAnotherAndInTheBackground(t *testing.T) {
	w := newWorld(t)
	w.claude(claudeEvents, "go",
		modelserver.Turn{Calls: []modelserver.Call{bash("toolu_01", "sleep 1; echo 1 > s1.txt", false), bash("toolu_02", "sleep 1; echo 2 > s2.txt", false), bash("toolu_03", "sleep 1; echo 3 > s3.txt", false)}},
		modelserver.Turn{Calls: []modelserver.Call{bash("toolu_04", "sleep 2; echo late > late.txt", true)}},
		modelserver.Turn{Calls: []modelserver.Call{bash("toolu_05", "sleep 4", false)}},
		modelserver.Turn{Calls: []modelserver.Call{bash("toolu_06", "sleep 1; echo x > after.txt", false)}},
		modelserver.Turn{Text: "done"})
	w.equalMade(w.joined(5), "s1.txt", "toolu_01", "s2.txt", "toolu_02", "s3.txt", "toolu_03", "late.txt", "toolu_04", "after.txt", "toolu_06")
}

func TestACommandOfCodexInTheBackgroundAndPatchesThatFail(t *testing.T) {
	w := newWorld(t)
	run := func(id, command string, yield int) modelserver.Call {
		return call(id, "exec_command", map[string]any{"cmd": command, "yield_time_ms": yield})
	}
	w.codex(w.settings(codexEvents...), []string{"go"},
		modelserver.Turn{Calls: []modelserver.Call{run("call_01", "sleep 3; echo late > late.txt", 500)}},
		modelserver.Turn{Calls: []modelserver.Call{run("call_02", "sleep 4", 10000)}},
		modelserver.Turn{Calls: []modelserver.Call{call("call_03", "apply_patch", "*** Begin Patch\n*** Update File: missing.js\n@@\n-a\n+b\n*** End Patch\n")}},
		modelserver.Turn{Calls: []modelserver.Call{run("call_04", "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: c1.ts\n+c\n*** End Patch\nEOF\n", 1000)}},
		modelserver.Turn{Text: "done"})
	w.equalMade(w.joined(2), "late.txt", "call_01", "c1.ts", "call_04")
	equal(t, "the calls", calls(w.recording()), []string{
		"call_01|$ sleep 3; echo late > late.txt|ok|transcript", "call_02|$ sleep 4|ok|both", "call_03|apply_patch missing.js|failed|transcript", "call_04|apply_patch c1.ts|ok|transcript",
	})
}

// Two sessions at once write files and run commands: a file that a call names has that call alone.
func TestSessionsAtOnceAreNotBlamedForEachOther(t *testing.T) {
	w := newWorld(t)
	const sessions, rounds = 2, 8
	program := program(t, "claude")
	var all sync.WaitGroup
	want := []string{}
	for s := range sessions {
		var turns []modelserver.Turn
		for n := range rounds {
			file, other := fmt.Sprintf("w%d-%d.ts", s, n), fmt.Sprintf("b%d-%d.ts", s, n)
			id := fmt.Sprintf("toolu_%d%d", s, n)
			want = append(want, file, id)
			turns = append(turns, modelserver.Turn{Calls: []modelserver.Call{
				call(id, "Write", map[string]any{"file_path": filepath.Join(w.project, file), "content": "x\n"}), bash(id+"b", "echo 0 > "+other, false),
			}})
		}
		server := modelserver.Start(t, append(turns, modelserver.Turn{Text: "done"})...)
		config := filepath.Join(w.home, fmt.Sprintf("claude%d", s))
		if err := os.MkdirAll(config, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(config, "settings.json"), []byte(w.settings(claudeEvents...)), 0o600); err != nil {
			t.Fatal(err)
		}
		env := claudeEnv(config, server)
		all.Go(func() {
			w.run(env, program, "-p", fmt.Sprintf("session %d", s), "--permission-mode", "acceptEdits", "--allowedTools", "Bash,Edit,Write,Read,Agent")
		})
	}
	all.Wait()
	made := w.joined(2 * sessions * rounds)
	w.equalMade(made, want...)
	for path, by := range made {
		if by == "no call" {
			t.Errorf("%s was changed by no known call", path)
		}
	}
}

// A command that writes a file by a here-document has a moment, as an edit has.
func TestHereDocumentsHaveMoments(t *testing.T) {
	const command = "mkdir -p src; cat > src/%s <<'EOF'\nlet x = 1\nEOF\n"
	w := newWorld(t)
	w.claude(claudeEvents, "go", modelserver.Turn{Calls: []modelserver.Call{bash("toolu_01", fmt.Sprintf(command, "x.js"), false)}}, modelserver.Turn{Text: "done"})
	w.codex(w.settings(codexEvents...), []string{"go"},
		modelserver.Turn{Calls: []modelserver.Call{call("call_01", "exec_command", map[string]any{"cmd": fmt.Sprintf(command, "y.js")})}}, modelserver.Turn{Text: "done"})
	w.equalMade(w.joined(2), "src/x.js", "toolu_01", "src/y.js", "call_01")
	for _, c := range allCalls(w.wholeTree(2)) {
		if c.Moment == "" || len(c.Files) != 1 {
			t.Errorf("%s has moment %q and %d files", c.Title, c.Moment, len(c.Files))
		}
	}
}
